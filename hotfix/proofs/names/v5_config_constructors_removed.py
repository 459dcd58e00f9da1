"""The proof: a configuration is made of its parts, by position and by name, and compared part by part."""

import json
from importlib import import_module
from typing import Any

import torch

from hotfix.names.v5_config_constructors_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

SIZES = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
PARTS: dict[str, tuple[str, ...]] = {
    "PreTrainedConfig.from_text_vision_configs": (
        "Siglip Text Vision",
        "Blip Text Vision",
        "AltCLIP Text Vision",
        "OwlViT Text Vision",
        "Owlv2 Text Vision",
    ),
    "PreTrainedConfig.from_text_audio_configs": ("Clap Text Audio",),
    "BarkConfig": ("Bark Semantic Coarse Fine Encodec",),
    "Blip2Config": ("Blip2 Vision QFormer OPT", "Blip2 Vision QFormer"),
    "ClvpConfig": ("Clvp Encoder Encoder Decoder",),
    "DFineConfig": ("DFine ResNet",),
    "DetrConfig": ("Detr ResNet",),
    "FlavaConfig": ("Flava Image Text Multimodal ImageCodebook",),
    "InstructBlipConfig": ("InstructBlip Vision QFormer OPT",),
    "InstructBlipVideoConfig": ("InstructBlipVideo Vision QFormer OPT",),
    "Mask2FormerConfig": ("Mask2Former Swin",),
    "MaskFormerConfig": ("MaskFormer Swin Detr",),
    "MusicgenConfig": ("Musicgen T5 Encodec Decoder",),
    "MusicgenMelodyConfig": ("MusicgenMelody T5 Encodec Decoder",),
    "RTDetrConfig": ("RTDetr ResNet",),
    "RTDetrV2Config": ("RTDetrV2 ResNet",),
    "TvpConfig": ("Tvp ResNet",),
}


@FIX.case(raises="AttributeError: type object '.*' has no attribute 'from_")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the parts have in the configuration, next to what they had before."""
    owner, _, name = target.qualname.partition(".")
    results = {}
    for line in PARTS.get(target.qualname, PARTS.get(owner, ())):
        family, *kinds = line.split()
        parts = [_part(family, kind) for kind in kinds]
        given = [part.to_dict() for part in parts] if family.startswith("Owl") else parts
        make = getattr(getattr(import_module("transformers"), f"{family}Config"), name)
        made = make(*given[:-1], given[-1], mine=3.0)
        lines = [type(made).__name__, repr(getattr(made, "mine", None))]
        before = [json.dumps(_sizes(part.to_dict())) for part in parts]
        present = [json.dumps(_sizes(value)) for _, value in sorted(made.to_dict().items()) if isinstance(value, dict)]
        lines += [str(all(part in present for part in before)), *sorted(before)]
        results[line] = words(*lines)
        try:
            make()
        except TypeError:
            results[f"{line} alone"] = words("TypeError")
    return results


def _part(family: str, kind: str) -> Any:
    transformers = import_module("transformers")
    config = getattr(transformers, f"{family}{kind}Config", None) or getattr(transformers, f"{kind}Config")
    takes = config()
    return config(**{name: size for name, size in SIZES.items() if hasattr(takes, name) and kind != "Swin"})


def _sizes(part: dict[str, Any]) -> dict[str, Any]:
    """What a release does not add by itself."""
    return {name: part[name] for name in ("model_type", *SIZES) if name in part}
