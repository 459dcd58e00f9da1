"""The last hidden state of vision towers is the normed output, so models built on it get the wrong features.

Symptom   Silent. ``hidden_states[-1]`` of SigLIP, ViT, BLIP and others equals ``last_hidden_state``; it should be the
          output of the last layer, before the final norm (in SAM before the neck, with another shape). Wrong are
          LLaVA-OneVision by its own configuration, all models with ``vision_feature_layer=-1`` over SigLIP, custom
          projectors, and gradients through ``hidden_states[-1]``.
Cause     ``check_model_inputs`` collects the outputs of the layers, and puts ``last_hidden_state`` in place of the last
          one. In language models that is the convention; in these it never was.
Releases  4.54.0 to 4.57.1; the table below, by class
Upstream  transformers#40964, transformers#40994 (fixed in 4.57.2)
Here      The decorator's wrapper around these classes leaves the collected states as they are, if the last of them is
          what the layers give. Where a module of the program's own replaces or encloses the last layer or the encoder,
          or a hook changes its output, the release collects another state, and its replacement stays. Bitwise equal to
          4.57.2; in 4.54 and 4.55 the last bits of SAM differ. All other classes keep the convention. Upstream also
          changed DINOv2, DPT, MetaCLIP 2 and ViTPose, in which the decorator collects no hidden states and nothing was
          wrong, and Janus, which returns none at all in 4.57. AST, an audio model, was repaired in 5.9.0 only, and CLIP
          did not have the decorator.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.models import _hooks
from hotfix.patching import scope

FIX = Fix(
    title="hidden_states[-1] of SigLIP, ViT, BLIP and others equals last_hidden_state",
    kind="silent",
    upstream=("transformers#40964", "transformers#40994"),
    fixed_in="4.57.2",
    everyone="only if the last collected state is what the layers give: the new code tests it",
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

FIX.edits(
    *_TARGETS,
    decorator="transformers.utils.generic:check_model_inputs",
    old="""
    if key == "hidden_states":
        *__REMOVED
        if hasattr(outputs, "vision_hidden_states"):
            *__REPLACED
        else:
            *__REPLACED_TOO
        outputs[key] = collected_outputs[key]
    else:
        *__OTHERS
    """,
    new=f"""
    if key == "hidden_states":
        from {__name__} import are_whole
        if not are_whole(self, capture_flags[key]):
            *__REMOVED
            if hasattr(outputs, "vision_hidden_states"):
                *__REPLACED
            else:
                *__REPLACED_TOO
        outputs[key] = collected_outputs[key]
    else:
        *__OTHERS
    """,
)


@FIX.recognises
def is_broken(forward: ast.FunctionDef, decorator: ast.FunctionDef) -> bool:
    """The class has the decorator without arguments, and it replaces the last hidden state."""
    bare = any(ast.unparse(used) == decorator.name for used in forward.decorator_list)
    return bare and bool(FIX.targets[0].implementation.occurs_in(decorator))


def are_whole(tower: Any, recorded: Any) -> bool:
    """Whether the last state that the release has collected is what the layers of a tower give in the end.

    It is, if the last layer is of the recorded class, and everything around it, up to the tower, is the library's own
    or a wrapper that passes its output through.

    Args:
        tower: the model.
        recorded: the class of its layers, or the release's description of where the states are collected.
    """
    layer = getattr(recorded, "target_class", recorded)
    if not isinstance(layer, type):
        return scope.leave_alone(FIX.id, "its hidden states are not collected from the layers")
    names = [name for name, module in tower.named_modules() if isinstance(module, layer)]
    if not names:
        return False
    module = tower
    for name in names[-1].split("."):
        if type(module).__module__.startswith("torch.") and name != list(module._modules)[-1]:
            return scope.leave_alone(FIX.id, f"{type(module._modules[list(module._modules)[-1]]).__name__} is your own")
        module = module._modules[name]
        if not _hooks.leave_output(module, FIX.id):
            return False
        if isinstance(module, layer):
            break
        if not scope.is_own(FIX.id, module, "forward"):
            return False
    return True
