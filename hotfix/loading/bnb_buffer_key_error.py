"""A checkpoint with a buffer in it cannot be loaded in 4 or 8 bits.

Symptom   ``KeyError: 'inv_freq'`` (or another name of a buffer) from ``from_pretrained`` with ``load_in_4bit`` or
          ``load_in_8bit``: ESM, ChatGLM, CogVLM, Deformable DETR and others.
Cause     Each tensor of the checkpoint is looked up among the parameters of its module, where buffers are not.
Releases  4.38.0 to 4.38.2
Upstream  transformers#29329 (fixed in 4.39.0)
Here      A tensor that is not a parameter is not quantized, as in 4.39.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="KeyError: 'inv_freq' when a model is loaded in 4 or 8 bits",
    kind="crash",
    upstream=("transformers#29329", "transformers#29201", "bitsandbytes#1117", "LlamaFactory#2554"),
    fixed_in="4.39.0",
    errors=("KeyError: 'inv_freq'", "KeyError: 'running_mean'"),
    on_error=("KeyError: '…'",),
)

FIX.edits(
    *(
        (f"transformers.quantizers.quantizer_bnb_{bits}:{name}.check_quantized_param", ">=4.38.0,<=4.38.2")
        for bits, name in (("4bit", "Bnb4BitHfQuantizer"), ("8bit", "Bnb8BitHfQuantizer"))
    ),
    old="isinstance(module._parameters[tensor_name], __KIND)",
    new="isinstance(module._parameters.get(tensor_name), __KIND)",
    # Those that make the quantized tensors look theirs up as well: they get no buffers.
    unless="old_value = getattr(module, tensor_name)",
)
