"""The cases at the widths of real models.

Each takes a `hotfix.proofs.testbed.Testbed` and what the plan gives:

    dtype     "bfloat16" or "float16": of weights and inputs
    attn      "flash_attention_2", or "eager" for a reference
    exact     with "eager": the same weights and inputs, rounded to `dtype`, and all arithmetic in float32
    **sizes   as `tools.studies.parity.plan` has them, for a GPU and for a CPU

and returns tensors that the same case, run elsewhere, returns under the same names.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed


def vision(testbed: Testbed, given: Any) -> dict[str, torch.Tensor]:
    """Forward and backward of a vision encoder whose buffers are cast along: windowed and full attention blocks."""
    import torch

    module = import_module(given.module)
    omni = given.module.endswith("omni")
    cls = module.Qwen2_5OmniVisionEncoder if omni else module.Qwen2_5_VisionTransformerPretrainedModel
    name = "Qwen2_5OmniVisionEncoderConfig" if omni else "Qwen2_5_VLVisionConfig"
    config = getattr(import_module(given.module.replace("modeling", "configuration")), name)
    model = _built(testbed, cls, config(**given.config), given, buffers=True).train()
    patches = sum(frames * height * width for frames, height, width in given.grid)
    pixels = _rounded(testbed.randn(patches, 3 * 2 * 14 * 14), given)
    output = model(pixels, grid_thw=torch.tensor(given.grid, device=testbed.device))
    output = getattr(output, "pooler_output", output)  # 5.0 and later wrap it
    _backward(testbed, output)
    if given.attn == "flash_attention_2":
        testbed.assert_flash("flash_attn_varlen_func")
    return {"output": output, **_gradients(model, "qkv.weight", ".q.weight", ".k.weight", "patch_embed.proj.weight")}


def decoder(testbed: Testbed, given: Any) -> dict[str, torch.Tensor]:
    """Forward and backward of decoder layers on a right-padded batch; the reference runs one sample at a time."""
    import torch
    from transformers import Qwen2Config, Qwen2Model

    model = _built(testbed, Qwen2Model, Qwen2Config(**given.config), given).train()
    batch, longest = given.batch
    lengths = [longest - number * longest // (2 * batch) for number in range(batch)]
    ids = testbed.randint(3, given.config["vocab_size"], batch, longest, seed=1)
    mask = (torch.arange(longest) < torch.tensor(lengths)[:, None]).long().to(testbed.device)
    if given.attn == "flash_attention_2":
        output = model(input_ids=ids, attention_mask=mask, use_cache=given.use_cache).last_hidden_state[mask.bool()]
        _backward(testbed, output)
        testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    else:
        weights = _weights(testbed, sum(lengths), given.config["hidden_size"]).split(lengths)
        outputs = []
        for row, length, weight in zip(ids, lengths, weights):
            states = model(input_ids=row[None, :length], use_cache=False).last_hidden_state[0]
            (states.float() * weight).sum().backward()
            outputs.append(states.detach())
        output = torch.cat(outputs)
    return {"output": output, **_gradients(model, "q_proj.weight", "k_proj.weight", "v_proj.weight", "tokens.weight")}


def var(testbed: Testbed, given: Any) -> dict[str, torch.Tensor]:
    """Training and cached inference of VAR's attention block, in one of the states of its file, under autocast."""
    import torch

    from tools.studies.parity import var_module

    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        basic_var = var_module.load(Path(folder), "wide_fork", var_module.text(given.state))
    fused, through_flash = given.attn != "eager", given.qualname == "flash_attn_func"
    if fused and getattr(basic_var, given.qualname) is None:
        raise ImportError(f"{given.qualname} cannot be imported here")
    attention = testbed.fill(basic_var.SelfAttention(given.width, given.heads, fused=fused)).to(testbed.device)
    attention.using_flash, attention.using_xformers = fused and through_flash, fused and not through_flash
    levels = tuple(side * side for side in given.sides)
    x = testbed.randn(given.batch, sum(levels), given.width).requires_grad_()
    # Flash attention takes no bias: there, training is compared without one.
    block_causal_bias = _module_of("var-attention-dtype").block_causal_bias
    bias = None if through_flash else block_causal_bias(levels).to(testbed.device)
    autocast = torch.autocast(testbed.device, dtype=getattr(torch, given.dtype), enabled=not given.exact)
    with autocast:
        output = attention(x, bias)
    _backward(testbed, output)
    with torch.no_grad(), autocast:
        attention.eval().start_caching()
        steps = [attention(level) for level in x.split(levels, dim=1)]
    if fused and through_flash:
        testbed.assert_flash("flash_attn_func")
    return {
        "output": output,
        "cached": torch.cat(steps, dim=1),
        "gradient of x": x.grad,
        **_gradients(attention, "qkv.weight", "proj.weight"),
    }


def padding_unchecked(testbed: Testbed, target: Any) -> dict[str, torch.Tensor]:
    """The result of `fa2-right-padding-check` in the same release where the check is not reached: no cache."""
    padding = _module_of("fa2-right-padding-check")
    model = padding.build(testbed, target)
    results = padding.run(testbed, target, model, padding.LENGTHS, use_cache=False)
    return {**results, **padding.gradients(model)}


# ---------------------------------------------------------------------------------------------------------------------


def _module_of(fix: str) -> Any:
    """The module with the proof of a fix."""
    from hotfix import proofs, session

    entry = session.current().catalogue.entry(fix)
    case: Any = proofs.load(entry.module, entry.load())
    return import_module(case.__module__)


def _built(testbed: Testbed, cls: Any, config: Any, given: Any, buffers: bool = False) -> Any:
    """The model in `dtype`, or its exact twin: the same rounded numbers, held in float32."""
    import torch

    dtype = getattr(torch, given.dtype)
    if not given.exact:
        model = testbed.model(cls, config, attn=given.attn, dtype=dtype)
        return model.to(dtype) if buffers else model
    model = testbed.model(cls, config, attn=given.attn, dtype=torch.float32)
    with torch.no_grad():
        for tensor in [*model.parameters(), *(model.buffers() if buffers else ())]:
            if tensor.is_floating_point():
                tensor.copy_(tensor.to(dtype))
    return model


def _rounded(values: torch.Tensor, given: Any) -> torch.Tensor:
    import torch

    rounded = values.to(getattr(torch, given.dtype))
    return rounded.float() if given.exact else rounded


def _weights(testbed: Testbed, *shape: int) -> torch.Tensor:
    """Of the sum that is differentiated: such that gradients are near 1, where float16 is at its best."""
    return testbed.randn(*shape, seed=9) / shape[0] ** 0.5


def _backward(testbed: Testbed, output: torch.Tensor) -> None:
    (output.float() * _weights(testbed, *output.shape)).sum().backward()


def _gradients(model: Any, *endings: str) -> dict[str, torch.Tensor]:
    held = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {f"gradient of {name}": grad for name, grad in held.items() if name.endswith(endings)}
