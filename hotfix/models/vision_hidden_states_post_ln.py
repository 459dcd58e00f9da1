"""The last hidden state of vision towers is the normed output, and what is built on it sees the wrong features.

Symptom   Silent. ``hidden_states[-1]`` of SigLIP, ViT, BLIP and others equals ``last_hidden_state``; it should be what
          the last layer gives, before the norm behind it (in SAM before the neck, with another shape). Wrong are
          LLaVA-OneVision by its own configuration, all models with ``vision_feature_layer=-1`` over SigLIP, projectors
          of one's own, and gradients through ``hidden_states[-1]``.
Cause     ``check_model_inputs`` collects what the layers give, and puts ``last_hidden_state`` in place of the last of
          them. In language models that is the convention; in these it never was.
Releases  4.54.0 to 4.57.1; the table below, by class
Upstream  transformers#40964, transformers#40994 (fixed in 4.57.2)
Here      What the decorator has put around these classes leaves the collected states as they are. Bitwise equal to
          4.57.2; in 4.54 and 4.55 SAM's own last bits are others. All other classes keep the convention.
          Upstream has told the decorator the same for DINOv2, DPT, MetaCLIP 2 and ViTPose, in which it collects no
          hidden states and nothing was wrong, and for Janus, which gives none at all in 4.57. AST, a model for sound,
          was repaired in 5.9.0 only, and CLIP did not have the decorator.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._towers import build, inputs

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="vision-hidden-states-post-ln",
    title="hidden_states[-1] of vision towers is the normed output, not what the last layer gives",
    kind="silent",
    upstream=("transformers#40964", "transformers#40994"),
    fixed_in="4.57.2",
    prefilter="check_model_inputs",
)

# Model, class, and the releases in which its last hidden state is replaced.
TABLE = (
    ("aimv2", "Aimv2TextModel", "==4.57.1"),
    ("aimv2", "Aimv2VisionModel", "==4.57.1"),
    ("blip", "BlipVisionModel", "==4.57.1"),
    ("blip_2", "Blip2VisionModel", "==4.57.1"),
    ("deit", "DeiTModel", ">=4.56.0,<=4.57.1"),
    ("dinov3_vit", "DINOv3ViTModel", ">=4.56.0,<=4.57.1"),
    ("got_ocr2", "GotOcr2VisionEncoder", ">=4.54.0,<=4.57.1"),
    ("idefics2", "Idefics2VisionTransformer", "==4.57.1"),
    ("idefics3", "Idefics3VisionTransformer", "==4.57.1"),
    ("ijepa", "IJepaModel", ">=4.56.0,<=4.57.1"),
    ("instructblip", "InstructBlipVisionModel", "==4.57.1"),
    ("instructblipvideo", "InstructBlipVideoVisionModel", "==4.57.1"),
    ("phi4_multimodal", "Phi4MultimodalVisionModel", "==4.57.1"),
    ("sam", "SamVisionEncoder", ">=4.54.0,<=4.57.1"),
    ("sam_hq", "SamHQVisionEncoder", ">=4.54.0,<=4.57.1"),
    ("siglip", "SiglipTextModel", "==4.57.1"),
    ("siglip", "SiglipVisionModel", "==4.57.1"),
    ("siglip2", "Siglip2TextModel", "==4.57.1"),
    ("siglip2", "Siglip2VisionModel", "==4.57.1"),
    ("smolvlm", "SmolVLMVisionTransformer", "==4.57.1"),
    ("videomae", "VideoMAEModel", ">=4.56.0,<=4.57.1"),
    ("vit", "ViTModel", ">=4.56.0,<=4.57.1"),
    ("vit_mae", "ViTMAEModel", ">=4.56.0,<=4.57.1"),
    ("vit_msn", "ViTMSNModel", ">=4.56.0,<=4.57.1"),
    ("vivit", "VivitModel", ">=4.56.0,<=4.57.1"),
    ("yolos", "YolosModel", ">=4.56.0,<=4.57.1"),
)
_TARGETS = tuple(
    (f"transformers.models.{model}.modeling_{model}:{name}.forward", releases) for model, name, releases in TABLE
)


@FIX.edits(*_TARGETS, decorator="transformers.utils.generic:check_model_inputs")
def states_as_collected(node: ast.AST) -> Optional[ast.If]:
    """Of what is done with the hidden states, only handing them out is left; the last one is not replaced."""
    if not isinstance(node, ast.If) or ast.unparse(node.test) != "key == 'hidden_states'":
        return None
    *replacing, handed_out = node.body
    if "last_hidden_state" not in ast.unparse(ast.Module(replacing, [])):
        return None
    return ast.If(node.test, [handed_out], node.orelse)


@FIX.recognises
def is_broken(forward: ast.FunctionDef, decorator: ast.FunctionDef) -> bool:
    """The decorator replaces the last hidden state, and the class does not tell it otherwise."""
    bare = any(ast.unparse(one) == decorator.name for one in forward.decorator_list)
    return bare and any(states_as_collected(node) for node in ast.walk(decorator))


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states of a tiny model of the class, and the gradient of its first layer through the last of them."""
    module, name = import_module(target.module), target.qualname.partition(".")[0]
    model = build(testbed, module, name)
    output = model(**inputs(testbed, name), output_hidden_states=True)
    states = output.hidden_states
    states[-1].square().mean().backward()
    told = {f"hidden_states.{number}": state for number, state in enumerate(states)}
    gradient = next(one.grad for one in model.parameters() if one.grad is not None)
    return {**told, "last_hidden_state": output.last_hidden_state, "gradient": gradient}
