"""The last hidden state of vision towers is the normed output, so models built on it get the wrong features.

Symptom   Silent. ``hidden_states[-1]`` of SigLIP, ViT, BLIP and others equals ``last_hidden_state``; it should be the
          output of the last layer, before the final norm (in SAM before the neck, with another shape). Wrong are
          LLaVA-OneVision by its own configuration, all models with ``vision_feature_layer=-1`` over SigLIP, custom
          projectors, and gradients through ``hidden_states[-1]``.
Cause     ``check_model_inputs`` collects the outputs of the layers, and puts ``last_hidden_state`` in place of the last
          one. In language models that is the convention; in these it never was.
Releases  4.54.0 to 4.57.1; the table below, by class
Upstream  transformers#40964, transformers#40994 (fixed in 4.57.2)
Here      The decorator's wrapper around these classes leaves the collected states as they are. Bitwise equal to 4.57.2;
          in 4.54 and 4.55 the last bits of SAM differ. All other classes keep the convention. Upstream also changed
          DINOv2, DPT, MetaCLIP 2 and ViTPose, in which the decorator collects no hidden states and nothing was wrong,
          and Janus, which returns none at all in 4.57. AST, an audio model, was repaired in 5.9.0 only, and CLIP did
          not have the decorator.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix

FIX = Fix(
    title="hidden_states[-1] of SigLIP, ViT, BLIP and others equals last_hidden_state",
    kind="silent",
    upstream=("transformers#40964", "transformers#40994"),
    fixed_in="4.57.2",
    everyone="which state is the last is decided by the class alone; a class of the user's own keeps its decorator",
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
    new="""
    if key == "hidden_states":
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
