"""Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and GLM-4V cannot see, nor hear, under FlashAttention.

Symptom   ``AttributeError: 'Qwen2_5_VLVisionAttention' object has no attribute 'is_causal'`` and the like, in the first
          forward with an image; ``IndexError: index 15 is out of bounds …`` in the audio encoder of Qwen2.5-Omni.
Cause     The attention of these encoders does not speak the language of FlashAttention: it has no ``is_causal``, makes
          a mask of rows and columns, and calls the lengths of the images, of the windows in them, and of the pieces of
          sound by other names; GLM-4V does not hand them on at all.
Releases  4.53.0
Upstream  transformers#39095, transformers#39121, transformers#39231 (fixed in 4.53.1)
Here      Under FlashAttention no mask is made, and the lengths go by the right names, with position ids: without these
          the release does not look at them (fa2-varlen-kwargs-ignored). Bitwise equal to 4.53.1. Nothing changes under
          another attention.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="qwenvl-vision-fa2-crash",
    title="The vision and audio encoders of Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and GLM-4V crash under FlashAttention",
    kind="crash",
    upstream=("transformers#39095", "transformers#39121", "transformers#39231"),
    fixed_in="4.53.1",
    prefilter="attention_mask[..., cu_seqlens[i - 1] : cu_seqlens[i]",
)

QWEN2_VL = "transformers.models.qwen2_vl.modeling_qwen2_vl"
QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
QWEN2_5_OMNI = "transformers.models.qwen2_5_omni.modeling_qwen2_5_omni"
GLM4V = "transformers.models.glm4v.modeling_glm4v"

_IS_FLASH = "'flash' in self.config._attn_implementation"
_LONGEST = "max_seqlen = (cu_seqlens[1:] - cu_seqlens[:-1]).max().item()\n"
# Position ids are not read where there are lengths, and have to be there for the lengths to be.
_ADD_LENGTHS = """\
self.is_causal = False
kwargs.update(cu_seq_lens_q=cu_seqlens, cu_seq_lens_k=cu_seqlens, max_length_q=max_seqlen, max_length_k=max_seqlen)
kwargs.update(position_ids=cu_seqlens)
"""


@FIX.edits(
    (f"{QWEN2_VL}:VisionAttention.forward", "==4.53.0"),
    (f"{QWEN2_5_VL}:Qwen2_5_VLVisionAttention.forward", "==4.53.0"),
    (f"{QWEN2_5_OMNI}:Qwen2_5OmniVisionAttention.forward", "==4.53.0"),
    (f"{QWEN2_5_OMNI}:Qwen2_5OmniAudioAttention.forward", "==4.53.0"),
    count=3,
)
def lengths_instead_of_a_mask(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Under FlashAttention, make no mask, do not fill it, and add to what the interface is called with."""
    return _for_flash(node, _ADD_LENGTHS)


@FIX.edits((f"{GLM4V}:Glm4vVisionAttention.forward", "==4.53.0"), count=3)
def lengths_of_their_own(node: ast.AST) -> Optional[list[ast.stmt]]:
    """The same, where the longest is not known yet."""
    return _for_flash(node, _LONGEST + _ADD_LENGTHS)


def _for_flash(node: ast.AST, before_the_call: str) -> Optional[list[ast.stmt]]:
    if not isinstance(node, (ast.Assign, ast.For)):
        return None
    kind = _kind(node)
    if kind == "made":
        return _if(_IS_FLASH, code.statements("attention_mask = None", at=node), [node], at=node)
    if kind == "filled":
        return _if("attention_mask is not None", [node], [], at=node)
    if kind == "called":
        return [*_if(_IS_FLASH, code.statements(before_the_call, at=node), [], at=node), node]
    return None


def _if(test: str, body: list[ast.stmt], orelse: list[ast.stmt], at: ast.stmt) -> list[ast.stmt]:
    [choice] = code.statements(f"if {test}: pass", at=at)
    assert isinstance(choice, ast.If)
    return [ast.If(test=choice.test, body=body, orelse=orelse)]


def _kind(node: ast.stmt) -> str:
    """What becomes of the mask in a statement: it is made, or filled, or the interface is called with it."""
    if isinstance(node, ast.For):
        fills = ast.unparse(node.body[0]).startswith("attention_mask[..., cu_seqlens[i - 1]:cu_seqlens[i]")
        return "filled" if fills and len(node.body) == 1 and not node.orelse else ""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return ""
    target, function = ast.unparse(node.targets[0]), ast.unparse(node.value.func)
    if target == "attention_mask" and function in ("torch.full", "torch.zeros"):
        return "made"
    arguments = [ast.unparse(one) for one in node.value.args]
    return "called" if function == "attention_interface" and arguments[-1:] == ["attention_mask"] else ""


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """A mask is made and filled here, and handed to the interface whatever that is."""
    kinds = [_kind(node) for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.For))]
    return {"made", "filled", "called"} <= set(kinds)


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """An encoder takes two images of different sizes, or two sounds of different lengths; forward and backward."""
    encoder, inputs = encoder_and_inputs(testbed, target)
    output = encoder.train()(**inputs)
    output = getattr(output, "last_hidden_state", output)
    loss = output.float().square().mean()
    loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    gradients = {f"gradient of {name}": one.grad for name, one in encoder.named_parameters() if one.grad is not None}
    return {"output": output, "loss": loss, **gradients}


def encoder_and_inputs(testbed: Testbed, target: Target, **options: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """The encoder that a target is the attention of, and two samples for it.

    Args:
        testbed: where it runs.
        target: one of this fix.
        **options: for `Testbed.model`.
    """
    import torch

    name, configuration = ENCODERS[target.qualname]
    encoder = getattr(import_module(target.module), name)
    model = testbed.model(encoder, encoder.config_class(**configuration), **options)
    if "d_model" in configuration:
        frames = torch.tensor([14, 7], device=testbed.device)  # one of two pieces, one of one
        sounds = testbed.randn(configuration["num_mel_bins"], int(frames.sum()), dtype=model.dtype)
        return model, {"input_features": sounds, "feature_lens": frames, "aftercnn_lens": (frames - 1) // 2 + 1}
    grid = torch.tensor([[1, 4, 8], [1, 4, 4]], device=testbed.device)  # frames, rows and columns of patches
    patches = int(grid.prod(dim=1).sum())
    pixels = testbed.randn(patches, 3 * configuration["temporal_patch_size"] * 14 * 14, dtype=model.dtype)
    return model, {"hidden_states": pixels, "grid_thw": grid}


_VISION = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64}
_WINDOWS = {**_VISION, "temporal_patch_size": 2, "window_size": 56, "fullatt_block_indexes": [1]}
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "VisionAttention.forward": (
        "Qwen2VisionTransformerPretrainedModel",
        {"depth": 2, "embed_dim": 64, "hidden_size": 64, "mlp_ratio": 2, "num_heads": 4, "temporal_patch_size": 2},
    ),
    "Qwen2_5_VLVisionAttention.forward": ("Qwen2_5_VisionTransformerPretrainedModel", _WINDOWS),
    "Qwen2_5OmniVisionAttention.forward": ("Qwen2_5OmniVisionEncoder", _WINDOWS),
    "Qwen2_5OmniAudioAttention.forward": (
        "Qwen2_5OmniAudioEncoder",
        {
            "num_mel_bins": 8,
            "d_model": 64,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "max_source_positions": 16,
            "n_window": 4,
            "output_dim": 64,
        },
    ),
    "Glm4vVisionAttention.forward": ("Glm4vVisionModel", {**_VISION, "temporal_patch_size": 2, "image_size": 112}),
}
