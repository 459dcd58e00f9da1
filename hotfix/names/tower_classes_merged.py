"""``CLIPTextTransformer``, ``SiglipVisionTransformer`` and thirteen other classes of towers are gone.

Symptom   ``ImportError: cannot import name 'CLIPTextTransformer' from 'transformers.models.clip.modeling_clip'`` from
          code around Stable Diffusion and from optimum; the same of ``SiglipVisionTransformer`` from
          vision-language models.
Cause     5.6.0 merged each of them into the model that contained it and nothing else, such as ``CLIPTextModel``.
Releases  5.6.0 and later
Upstream  transformers#46285 (not put back)
Here      The name is the class it was merged into. It has the same parts, names of weights, arguments and results, and
          a method that a program puts there is the one that is called.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'CLIPTextTransformer' from 'transformers.models.clip.modeling_clip'",
    kind="removed-api",
    upstream=("transformers#46285",),
    group="removed-names",
)

TOWERS = {
    "altclip": ("AltCLIPVision",),
    "chinese_clip": ("ChineseCLIPVision",),
    "clip": ("CLIPText", "CLIPVision"),
    "clipseg": ("CLIPSegText", "CLIPSegVision"),
    "metaclip_2": ("MetaClip2Text", "MetaClip2Vision"),
    "mlcd": ("MLCDVision",),
    "siglip": ("SiglipText", "SiglipVision"),
    "siglip2": ("Siglip2Text", "Siglip2Vision"),
    "x_clip": ("XCLIPText", "XCLIPVision"),
}
"""The first part of the names of the classes, by the folder of their model."""


def _merged(model: str, tower: str) -> None:
    @FIX.adds_made((f"transformers.models.{model}.modeling_{model}:{tower}Transformer", ">=5.6.0"))
    def the_model(modeling: Any) -> type:
        """The class that it was merged into."""
        present: type = getattr(modeling, f"{tower}Model")
        return present


for _model, _towers in TOWERS.items():
    for _tower in _towers:
        _merged(_model, _tower)
