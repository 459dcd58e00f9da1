"""The towers of CLIP and its relatives have no model inside of them any more.

Symptom   ``AttributeError: 'CLIPTextModel' object has no attribute 'text_model'`` from diffusers (single files, and
          ``clip_skip``), SD.Next and ComfyUI nodes; ``'CLIPVisionModel' object has no attribute 'vision_model'``.
Cause     What the inner model had (embeddings, encoder, norms) and did stands in the outer one since 5.6.0.
Releases  5.6.0 to 5.23.0, fifteen classes of nine models
Upstream  transformers#46285, diffusers#13833 (not put back; diffusers asks for both)
Here      The attribute is the outer model: it has the same parts under the same names, is called with the same
          arguments and returns the same. A tower that somebody puts in its place is that one.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    id="clip-tower-attributes-removed",
    title="AttributeError: 'CLIPTextModel' object has no attribute 'text_model'",
    kind="removed-api",
    upstream=("transformers#46285", "diffusers#13833"),
    optin=True,
    group="removed-names",
)

LACKING = ">=5.6.0"
TEXT = (
    "clip.modeling_clip:CLIPTextModel",
    "clipseg.modeling_clipseg:CLIPSegTextModel",
    "metaclip_2.modeling_metaclip_2:MetaClip2TextModel",
    "siglip.modeling_siglip:SiglipTextModel",
    "siglip2.modeling_siglip2:Siglip2TextModel",
    "x_clip.modeling_x_clip:XCLIPTextModel",
)
VISION = (
    "altclip.modeling_altclip:AltCLIPVisionModel",
    "chinese_clip.modeling_chinese_clip:ChineseCLIPVisionModel",
    "clip.modeling_clip:CLIPVisionModel",
    "clipseg.modeling_clipseg:CLIPSegVisionModel",
    "metaclip_2.modeling_metaclip_2:MetaClip2VisionModel",
    "mlcd.modeling_mlcd:MLCDVisionModel",
    "siglip.modeling_siglip:SiglipVisionModel",
    "siglip2.modeling_siglip2:Siglip2VisionModel",
    "x_clip.modeling_x_clip:XCLIPVisionModel",
)


@FIX.adds_made(*((f"transformers.models.{one}.text_model", LACKING) for one in TEXT))
def text_model(module: Any) -> property:
    """The tower itself, or what somebody has put in its place."""
    return property(lambda tower: tower._modules.get("text_model", tower))


@FIX.adds_made(*((f"transformers.models.{one}.vision_model", LACKING) for one in VISION))
def vision_model(module: Any) -> property:
    """The tower itself, or what somebody has put in its place."""
    return property(lambda tower: tower._modules.get("vision_model", tower))
