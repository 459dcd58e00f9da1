"""Configurations of several parts no longer have the methods that make one of its parts.

Symptom   ``AttributeError: type object 'SiglipConfig' has no attribute 'from_text_vision_configs'``, also of CLIP, BLIP
          and all others with a text and a vision part; the same of ``from_text_audio_configs``,
          ``from_vision_qformer_text_configs``, ``from_sub_model_configs``, ``from_sub_models_config``,
          ``from_backbone_config``, ``from_backbone_configs``, ``from_backbone_and_decoder_configs`` and
          ``from_configs``.
Cause     The constructor takes the parts.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      The call of the constructor that 4.57.6 made, with the parts as dictionaries or, for backbones, as they are.
          Those of OWL-ViT and OWLv2 are dictionaries to begin with.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, Callable, NamedTuple

from hotfix.fix import Fix

LACKING = ">=5.0.0"
_OF_TEXT = ("from_text_vision_configs", "from_text_audio_configs")
_OF_OTHERS = (
    "from_vision_qformer_text_configs",
    "from_sub_model_configs",
    "from_sub_models_config",
    "from_backbone_config",
    "from_backbone_configs",
    "from_backbone_and_decoder_configs",
    "from_configs",
)

FIX = Fix(
    title="AttributeError: type object 'SiglipConfig' has no attribute 'from_text_vision_configs'",
    kind="removed-api",
    group="removed-names",
    errors=tuple(f"AttributeError: type object '…Config' has no attribute '{name}'" for name in _OF_TEXT + _OF_OTHERS),
)


class Way(NamedTuple):
    """How a method makes a configuration.

    Attributes:
        parts: the names of the arguments; one with ``?`` may be left out; behind a colon, that of the constructor.
        as_dicts: whether the constructor gets dictionaries.
    """

    parts: str
    as_dicts: bool = True


_QFORMER = Way("vision_config qformer_config text_config")
_BACKBONE = Way("backbone_config", as_dicts=False)
_ENCODERS = Way("text_encoder_config:text_encoder audio_encoder_config:audio_encoder decoder_config:decoder")
_OF_DICTS = ("OwlViTConfig", "Owlv2Config")
WAYS: dict[str, Way] = {
    "configuration_utils:PreTrainedConfig.from_text_vision_configs": Way("text_config vision_config"),
    "configuration_utils:PreTrainedConfig.from_text_audio_configs": Way("text_config audio_config"),
    "models.bark.configuration_bark:BarkConfig.from_sub_model_configs": Way(
        "semantic_config coarse_acoustics_config fine_acoustics_config codec_config"
    ),
    "models.blip_2.configuration_blip_2:Blip2Config.from_vision_qformer_text_configs": Way(
        "vision_config qformer_config text_config?"
    ),
    "models.clvp.configuration_clvp:ClvpConfig.from_sub_model_configs": Way("text_config speech_config decoder_config"),
    "models.d_fine.configuration_d_fine:DFineConfig.from_backbone_configs": _BACKBONE,
    "models.flava.configuration_flava:FlavaConfig.from_configs": Way(
        "image_config text_config multimodal_config image_codebook_config"
    ),
    "models.instructblip.configuration_instructblip:InstructBlipConfig.from_vision_qformer_text_configs": _QFORMER,
    "models.instructblipvideo.configuration_instructblipvideo:"
    "InstructBlipVideoConfig.from_vision_qformer_text_configs": _QFORMER,
    "models.maskformer.configuration_maskformer:MaskFormerConfig.from_backbone_and_decoder_configs": Way(
        "backbone_config decoder_config", as_dicts=False
    ),
    "models.detr.configuration_detr:DetrConfig.from_backbone_config": _BACKBONE,
    "models.mask2former.configuration_mask2former:Mask2FormerConfig.from_backbone_config": _BACKBONE,
    "models.musicgen.configuration_musicgen:MusicgenConfig.from_sub_models_config": _ENCODERS,
    "models.musicgen_melody.configuration_musicgen_melody:MusicgenMelodyConfig.from_sub_models_config": _ENCODERS,
    "models.rt_detr.configuration_rt_detr:RTDetrConfig.from_backbone_configs": _BACKBONE,
    "models.rt_detr_v2.configuration_rt_detr_v2:RTDetrV2Config.from_backbone_configs": _BACKBONE,
    "models.tvp.configuration_tvp:TvpConfig.from_backbone_config": _BACKBONE,
}


def _constructor(name: str, way: Way) -> Callable[[Any], Any]:
    """A function that makes the method; the module that it is added to is not needed."""
    names = dict(part.rstrip("?").partition(":")[::2] for part in way.parts.split())
    arguments = [
        Parameter(
            part.rstrip("?").partition(":")[0],
            Parameter.POSITIONAL_OR_KEYWORD,
            default=None if "?" in part else Parameter.empty,
        )
        for part in way.parts.split()
    ]
    signature = Signature([*arguments, Parameter("kwargs", Parameter.VAR_KEYWORD)])

    def made(module: Any) -> Any:
        def construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = {name or part: bound.arguments[part] for part, name in names.items()}
            if any(kind.__name__ in _OF_DICTS for kind in cls.__mro__):
                return cls.from_dict(given, **bound.arguments["kwargs"])
            if way.as_dicts:
                given = {part: None if value is None else value.to_dict() for part, value in given.items()}
            return cls(**given, **bound.arguments["kwargs"])

        construct.__name__ = construct.__qualname__ = name
        construct.__doc__ = "Make a configuration of its parts."
        return classmethod(construct)

    return made


for _place, _way in WAYS.items():
    FIX.adds_made((f"transformers.{_place}", LACKING))(_constructor(_place.rpartition(".")[2], _way))
