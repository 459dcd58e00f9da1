"""``CLIPFeatureExtractor`` and other feature extractors for images are gone.

Symptom   ``AttributeError: module transformers has no attribute CLIPFeatureExtractor`` from diffusers, where
          ``model_index.json`` of a Stable Diffusion names it; ``ImportError: cannot import name 'CLIPFeatureExtractor'
          from 'transformers'`` from sd-scripts, ComfyUI-FluxTrainer and others; the same of ``ViTFeatureExtractor``.
Cause     They were deprecated names of the image processors, in modules of their own, and 5.0.0 removed them.
Releases  5.0.0 and later
Upstream  transformers#41174 (not put back)
Here      The ten most used, and their modules. Each is the image processor based on pillow, as before: the class of
          that name computes with torchvision since 5.4.0, with slightly different pixels. Building one warns, as
          before. Those of BEiT and Donut are left out, since their results have changed in 5.4.0.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.modules import given_back

FIX = Fix(
    title="ImportError: cannot import name 'CLIPFeatureExtractor' from 'transformers'",
    kind="removed-api",
    upstream=("transformers#41174",),
    group="removed-names",
)

NAMES = {
    "clip": "CLIP",
    "deit": "DeiT",
    "detr": "Detr",
    "dpt": "DPT",
    "layoutlmv3": "LayoutLMv3",
    "owlvit": "OwlViT",
    "segformer": "Segformer",
    "videomae": "VideoMAE",
    "vit": "ViT",
    "yolos": "Yolos",
}
"""The first part of the name of a class, by the folder of its model."""

V5 = ">=5.0.0"


@FIX.adds_modules(*[(f"transformers.models.{model}:feature_extraction_{model}", V5) for model in NAMES])
def module_of(package: Any) -> ModuleType:
    """The module with the class; it imports nothing before first use."""
    model = package.__name__.rpartition(".")[2]
    name = f"{package.__name__}.feature_extraction_{model}"
    processor = f"{NAMES[model]}ImageProcessor"

    def make(extractor: str) -> type:
        transformers: Any = import_module("transformers")
        base: Any = getattr(transformers, f"{processor}Pil", None) or getattr(transformers, processor)

        def made(self: Any, *args: Any, **kwargs: Any) -> None:
            import warnings

            warnings.warn(f"{extractor} is an old name of {processor}.", FutureWarning, stacklevel=2)
            base.__init__(self, *args, **kwargs)

        kind: type = type(base)(extractor, (base,), {"__init__": made, "__module__": name, "__doc__": base.__doc__})
        return kind

    return given_back(name, [f"{NAMES[model]}FeatureExtractor"], f"transformers ({processor})", make)


for _model, _name in NAMES.items():
    FIX.exports(
        (f"transformers:{_name}FeatureExtractor", V5),
        leaf=f"transformers.models.{_model}.feature_extraction_{_model}",
    )
