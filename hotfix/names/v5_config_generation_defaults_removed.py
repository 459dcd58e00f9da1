"""Configurations have lost the defaults that every configuration had.

Symptom   ``AttributeError: 'Florence2LanguageConfig' object has no attribute 'forced_bos_token_id'`` while a
          configuration of remote code is built; ``AttributeError: 'Config' object has no attribute 'pad_token_id'`` and
          the same of ``max_length``, ``num_beams``, ``is_decoder``, ``add_cross_attention`` and some thirty more in
          models; ``AttributeError: 'ChatGLMConfig' object has no attribute 'use_cache'`` where the file has it;
          ``AttributeError: 'Qwen2Config' object has no attribute 'rope_theta'``. An inner model, such as the language
          model of Florence-2, silently generates other tokens.
Cause     Generation parameters moved to `GenerationConfig`, and are dropped from files; the others moved to those
          configurations of the library that use them, and the rotary ones into ``rope_parameters``.
Releases  5.0.0 and later
Upstream  ComfyUI-Florence2#187, ComfyUI-Florence2#199, ComfyUI#12277 and three more (not put back)
Here      Code that would crash without them has them, but not the library itself: the value from a file or an
          argument, or else the default of 4.57.6, for classes of the library its own. ``rope_theta`` and the like are
          read from ``rope_parameters``, and attributes of Qwen2-VL's text model from ``text_config``. Nothing is saved
          with the configuration. A class outside of transformers has ``use_cache`` if it was given, and neither
          ``pruned_heads`` nor ``tie_word_embeddings``. As an opt-in, given values reach the `GenerationConfig` of such
          a model, as in 4.57.6, and ``generate()`` uses them; 5.x does this only for the outermost model.
"""

from __future__ import annotations

import copy
from typing import Any, Callable

from hotfix._support import memo
from hotfix.fix import Fix
from hotfix.patching import lacking, scope

# Attributes that are entries of `rope_parameters`: the type of layer, where each has its own, and the key.
ROTARY = {
    "rope_theta": ("full_attention", "rope_theta"),
    "partial_rotary_factor": ("full_attention", "partial_rotary_factor"),
    "rope_local_base_freq": ("sliding_attention", "rope_theta"),
    "local_rope_theta": ("sliding_attention", "rope_theta"),
    "global_rope_theta": ("full_attention", "rope_theta"),
    "rotary_emb_base": ("full_attention", "rope_theta"),
    "rotary_pct": ("full_attention", "partial_rotary_factor"),
}
# Those that only some classes had.
ROTARY_OF_CLASSES = {
    "rope_local_base_freq": ("Gemma3TextConfig", "Gemma3nTextConfig"),
    "local_rope_theta": ("ModernBertConfig", "ModernBertDecoderConfig"),
    "global_rope_theta": ("ModernBertConfig", "ModernBertDecoderConfig"),
    "rotary_emb_base": ("GPTNeoXConfig", "GPTNeoXJapaneseConfig"),
    "rotary_pct": ("GPTNeoXConfig", "GPTNeoXJapaneseConfig"),
}
# Those whose text model answered for the whole.
BY_TEXT_CONFIG = ("Qwen2VLConfig", "Qwen2_5_VLConfig")

FIX = Fix(
    title="AttributeError: 'Florence2LanguageConfig' object has no attribute 'forced_bos_token_id'",
    kind="removed-api",
    upstream=("ComfyUI-Florence2#187", "ComfyUI-Florence2#199", "ComfyUI#12277"),
    group="removed-names",
    everyone="it writes down what a configuration was given and this release drops",
    errors=(
        "AttributeError: '…Config' object has no attribute 'forced_bos_token_id'",
        "AttributeError: '…Config' object has no attribute 'pad_token_id'",
        "AttributeError: '…Config' object has no attribute 'max_length'",
        "AttributeError: '…Config' object has no attribute 'num_beams'",
        "AttributeError: '…Config' object has no attribute 'is_decoder'",
        "AttributeError: '…Config' object has no attribute 'add_cross_attention'",
        "AttributeError: '…Config' object has no attribute 'use_cache'",
        "AttributeError: '…Config' object has no attribute 'min_length'",
        "AttributeError: '…Config' object has no attribute 'do_sample'",
        "AttributeError: '…Config' object has no attribute 'early_stopping'",
        "AttributeError: '…Config' object has no attribute 'num_beam_groups'",
        "AttributeError: '…Config' object has no attribute 'diversity_penalty'",
        "AttributeError: '…Config' object has no attribute 'temperature'",
        "AttributeError: '…Config' object has no attribute 'top_k'",
        "AttributeError: '…Config' object has no attribute 'top_p'",
        "AttributeError: '…Config' object has no attribute 'typical_p'",
        "AttributeError: '…Config' object has no attribute 'repetition_penalty'",
        "AttributeError: '…Config' object has no attribute 'length_penalty'",
        "AttributeError: '…Config' object has no attribute 'no_repeat_ngram_size'",
        "AttributeError: '…Config' object has no attribute 'encoder_no_repeat_ngram_size'",
        "AttributeError: '…Config' object has no attribute 'bad_words_ids'",
        "AttributeError: '…Config' object has no attribute 'num_return_sequences'",
        "AttributeError: '…Config' object has no attribute 'output_scores'",
        "AttributeError: '…Config' object has no attribute 'return_dict_in_generate'",
        "AttributeError: '…Config' object has no attribute 'forced_eos_token_id'",
        "AttributeError: '…Config' object has no attribute 'remove_invalid_values'",
        "AttributeError: '…Config' object has no attribute 'exponential_decay_length_penalty'",
        "AttributeError: '…Config' object has no attribute 'suppress_tokens'",
        "AttributeError: '…Config' object has no attribute 'begin_suppress_tokens'",
        "AttributeError: '…Config' object has no attribute 'bos_token_id'",
        "AttributeError: '…Config' object has no attribute 'cross_attention_hidden_size'",
        "AttributeError: '…Config' object has no attribute 'decoder_start_token_id'",
        "AttributeError: '…Config' object has no attribute 'eos_token_id'",
        "AttributeError: '…Config' object has no attribute 'finetuning_task'",
        "AttributeError: '…Config' object has no attribute 'prefix'",
        "AttributeError: '…Config' object has no attribute 'sep_token_id'",
        "AttributeError: '…Config' object has no attribute 'task_specific_params'",
        "AttributeError: '…Config' object has no attribute 'tf_legacy_loss'",
        "AttributeError: '…Config' object has no attribute 'tie_encoder_decoder'",
        "AttributeError: '…Config' object has no attribute 'tokenizer_class'",
        "AttributeError: '…Config' object has no attribute 'torchscript'",
        "AttributeError: '…Config' object has no attribute 'use_bfloat16'",
        "AttributeError: '…Config' object has no attribute 'tie_word_embeddings'",
        "AttributeError: '…Config' object has no attribute 'pruned_heads'",
        *(f"AttributeError: '…Config' object has no attribute '{name}'" for name in ROTARY),
    ),
)

CONFIG = "transformers.configuration_utils:PreTrainedConfig"

# These are dropped even if they are given.
OF_GENERATION: dict[str, Any] = {
    "max_length": 20,
    "min_length": 0,
    "do_sample": False,
    "early_stopping": False,
    "num_beams": 1,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "bad_words_ids": None,
    "num_return_sequences": 1,
    "output_scores": False,
    "return_dict_in_generate": False,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "remove_invalid_values": False,
    "exponential_decay_length_penalty": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
}
DEFAULTS: dict[str, Any] = {
    **OF_GENERATION,
    "add_cross_attention": False,
    "bos_token_id": None,
    "cross_attention_hidden_size": None,
    "decoder_start_token_id": None,
    "eos_token_id": None,
    "finetuning_task": None,
    "is_decoder": False,
    "pad_token_id": None,
    "prefix": None,
    "sep_token_id": None,
    "task_specific_params": None,
    "tf_legacy_loss": False,
    "tie_encoder_decoder": False,
    "tokenizer_class": None,
    "torchscript": False,
    "use_bfloat16": False,
}
OF_THE_LIBRARY: dict[str, Any] = {**DEFAULTS, "pruned_heads": {}, "tie_word_embeddings": True}
# Other defaults of 4.57.6, by class.
OF_CLASSES: dict[str, dict[str, Any]] = {
    **{
        f"{name}Config": {"forced_eos_token_id": 2}
        for name in ("Bart", "Blenderbot", "BlenderbotSmall", "FSMT", "MBart", "Mvp")
    },
    **{
        f"{name}Config": {"tie_word_embeddings": False}
        for name in (
            *("CsmDepthDecoder", "Emu3Text", "Glm4vText", "Glm4vMoeText", "Qwen2_5OmniText", "Qwen2_5_VLText"),
            *("Qwen2VLText", "Qwen3OmniMoeText", "Qwen3VLText", "Qwen3VLMoeText"),
        )
    },
    "BlenderbotConfig": {"forced_eos_token_id": 2, "encoder_no_repeat_ngram_size": 3},
    "DiaConfig": {"bos_token_id": 1026, "eos_token_id": 1024, "pad_token_id": 1025},
    "FSMTConfig": {"forced_eos_token_id": 2, "max_length": 200, "num_beams": 5},
    "FuyuConfig": {"bos_token_id": 1, "eos_token_id": 2},
    "Idefics3Config": {"pad_token_id": 128002},
    "MT5Config": {"tokenizer_class": "T5Tokenizer"},
    "MarianConfig": {"forced_eos_token_id": 0},
    "PegasusXConfig": {"forced_eos_token_id": 1},
    "SmolVLMConfig": {"pad_token_id": 128002},
    "UMT5Config": {"tokenizer_class": "T5Tokenizer"},
    "WhisperConfig": {"begin_suppress_tokens": [220, 50256]},
}
_GIVEN = "_given_for_generation"

FIX.edits(
    (f"{CONFIG}.__init__", ">=5.0.0,<5.4.0"),
    (f"{CONFIG}.__post_init__", ">=5.4.0"),
    old="""
        for parameter_name in GenerationConfig._get_default_generation_params().keys():
            kwargs.pop(parameter_name, None)
    """,
    new=f"""
        from {__name__} import keep
        keep(self, kwargs)
        for parameter_name in GenerationConfig._get_default_generation_params().keys():
            kwargs.pop(parameter_name, None)
    """,
)


def keep(config: Any, kwargs: dict[str, Any]) -> None:
    """Keep the arguments that the release drops.

    Args:
        config: the configuration.
        kwargs: its arguments.
    """
    defaults = _defaults(type(config))
    names = (*OF_GENERATION, *(("use_cache",) if _is_of_others(type(config)) else ()))
    given = {name: kwargs[name] for name in names if name in kwargs}
    given = {name: value for name, value in given.items() if _differ(defaults.get(name, _GIVEN), value)}
    if given:
        vars(config)[_GIVEN] = given  # so that copies have them, too


def _differ(default: Any, value: Any) -> bool:
    try:
        return bool(default != value)
    except Exception:  # arrays, for instance
        return True


@FIX.accompanies(f"{CONFIG}._remove_keys_not_serialized")
def not_saved(original: Callable[..., None]) -> Callable[..., None]:
    """Leave them out of files."""

    def remove(self: Any, d: dict[str, Any]) -> None:
        d.pop(_GIVEN, None)
        original(self, d)

    return remove


@FIX.accompanies(f"{CONFIG}.__eq__")
def equal(original: Callable[..., Any]) -> Callable[..., Any]:
    """Two configurations are equal without it, as in the release."""

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807 - its name
        if _GIVEN in vars(self) or _GIVEN in getattr(other, "__dict__", ()):
            self, other = (_without_given(config) for config in (self, other))
        return original(self, other)

    return __eq__


@FIX.accompanies(f"{CONFIG}.__iter__")
def iterated(original: Callable[..., Any]) -> Callable[..., Any]:
    """A loop over a configuration skips it."""

    def __iter__(self: Any) -> Any:  # noqa: N807 - its name
        return (name for name in original(self) if name != _GIVEN)

    return __iter__


def _without_given(config: Any) -> Any:
    """A stand-in for a configuration, of the same class and with the same attributes but this one."""
    if _GIVEN not in getattr(config, "__dict__", ()):
        return config
    stand_in = object.__new__(type(config))
    vars(stand_in).update(vars(config))
    del vars(stand_in)[_GIVEN]
    return stand_in


@FIX.accompanies(
    "transformers.generation.configuration_utils:GenerationConfig.from_model_config",
    optin="it changes by what a running program generates",
)
def gone_by(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generation uses the arguments given to the configuration, or else those given to its decoder's."""

    def from_model_config(cls: Any, model_config: Any) -> Any:
        made = original(cls, model_config)
        if isinstance(model_config, dict):
            return made
        given = {**_given(model_config.get_text_config(decoder=True)), **_given(model_config)}
        given = {name: value for name, value in given.items() if hasattr(made, name)}
        if given:
            vars(made).update(given)
            made._original_object_hash = hash(made)  # otherwise it counts as changed by hand
        return made

    return from_model_config


def _given(config: Any) -> dict[str, Any]:
    """The given arguments that differ from the defaults of 4.57.6."""
    given = vars(config).get(_GIVEN, {}).items() if _is_of_others(type(config)) else ()
    return {
        name: value for name, value in given if value is not None and _differ(OF_GENERATION.get(name, value), value)
    }


@FIX.adds((f"{CONFIG}.__getattr__", ">=5.0.0"))
def of_old(self: Any, name: str) -> Any:
    """The value of an attribute that a configuration lacks.

    Args:
        self: the configuration.
        name: the name of the attribute.

    Raises:
        AttributeError: it is another name, or the library or code that works without it reads it.
    """
    return lacking.attribute(self, name, CONFIG, _lost, f"{CONFIG}.{name}", FIX.id, to_read=name in ROTARY)


_OF_GENERATION = "_get_non_default_generation_parameters"
"""The method that copies of the library's ``generate`` call: a configuration of 5.x has no such parameters."""


def _lost(config: Any, name: str) -> list[Any]:
    """The value of an attribute that a configuration would have in 4.57.6, or nothing."""
    kind, own = type(config), vars(config)
    given = own.get(_GIVEN, {})
    if name in given:
        return [given[name]]
    if name == _OF_GENERATION:
        return [dict]
    defaults = _defaults(kind)
    if name in defaults:
        return [copy.copy(defaults[name])]
    if name in ROTARY and isinstance(own.get("rope_parameters"), dict):
        of_layers, key = ROTARY[name]
        if name in ROTARY_OF_CLASSES and not _is_one_of(kind, ROTARY_OF_CLASSES[name]):
            return []
        parameters = own["rope_parameters"]
        parameters = parameters.get(of_layers, parameters)
        return [parameters[key]] if key in parameters else []
    if _is_one_of(kind, BY_TEXT_CONFIG) and not name.startswith("_") and "text_config" in own:
        inner = own["text_config"]
        return [getattr(inner, name)] if name in vars(inner) else _lost(inner, name)
    return []


@memo.weakly
def _defaults(kind: type) -> dict[str, Any]:
    """The defaults of 4.57.6 for a class of configurations."""
    defaults = {**(DEFAULTS if _is_of_others(kind) else OF_THE_LIBRARY)}
    for base in reversed(kind.__mro__):
        if not _is_of_others(base):
            defaults.update({n: value for n, value in OF_CLASSES.get(base.__name__, {}).items() if n in defaults})
    return defaults


def _is_one_of(kind: type, names: tuple[str, ...]) -> bool:
    return any(base.__name__ in names for base in kind.__mro__ if not _is_of_others(base))


def _is_of_others(kind: type) -> bool:
    return not scope.was_written_in("transformers", kind)
