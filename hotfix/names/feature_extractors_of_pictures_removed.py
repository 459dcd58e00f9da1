"""``CLIPFeatureExtractor`` and other feature extractors for images are gone.

Symptom   ``AttributeError: module transformers has no attribute CLIPFeatureExtractor`` from diffusers, where
          ``model_index.json`` of a Stable Diffusion names it; ``ImportError: cannot import name 'CLIPFeatureExtractor'
          from 'transformers'`` from sd-scripts, ComfyUI-FluxTrainer and others; the same of ``ViTFeatureExtractor``.
Cause     They were deprecated names of the image processors, in modules of their own, and 5.0.0 removed them.
Releases  5.0.0 and later
Upstream  transformers#41174 (not put back)
Here      23 of them, and their modules. Each is the image processor based on pillow, as before: the class of that
          name computes with torchvision since 5.4.0, with slightly different pixels. Building one warns, as before.
          Those of BEiT, Chinese-CLIP, ConvNeXT, Donut and MobileViT are left out, since their results have changed in
          5.0.0 or 5.4.0.
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
    "conditional_detr": "ConditionalDetr",
    "deformable_detr": "DeformableDetr",
    "deit": "DeiT",
    "detr": "Detr",
    "dpt": "DPT",
    "flava": "Flava",
    "glpn": "GLPN",
    "imagegpt": "ImageGPT",
    "layoutlmv2": "LayoutLMv2",
    "layoutlmv3": "LayoutLMv3",
    "levit": "Levit",
    "maskformer": "MaskFormer",
    "mobilenet_v1": "MobileNetV1",
    "mobilenet_v2": "MobileNetV2",
    "owlvit": "OwlViT",
    "perceiver": "Perceiver",
    "poolformer": "PoolFormer",
    "segformer": "Segformer",
    "videomae": "VideoMAE",
    "vilt": "Vilt",
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
