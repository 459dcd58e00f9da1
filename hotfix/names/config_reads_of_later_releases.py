"""Configurations lack attributes that later releases have.

Symptom   ``AttributeError: 'LlamaConfig' object has no attribute 'rope_parameters'``, the same of ``dtype``,
          ``get_text_config``, ``image_token_id``, ``num_experts`` and others, from remote code and scripts for later
          releases.
Cause     4.45.0 brought `get_text_config`; 4.56.0 renamed ``torch_dtype``; 5.0.0 put the rotary settings into
          ``rope_parameters``; some models got a second name for an attribute.
Releases  before 5.0.0
Upstream  the attributes are new
Here      Code that would end without them can read them, but not the library itself: ``dtype`` is ``torch_dtype``,
          and ``rope_parameters`` the dictionary that 5.0.0 makes from ``rope_theta``, ``rope_scaling`` and
          ``partial_rotary_factor``. It is for reading: a change of it would have no effect, and raises TypeError.
          Language models of the library have it, except those with one base per type of layer. Nothing is saved with
          the configuration, and an attribute of that name that a program sets takes precedence. A configuration
          that was read with another ``dtype``, which the release ignores, has none.
"""

from __future__ import annotations

import copy
import weakref
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import lacking

# The attribute of the release, by the name that later releases have as well.
TOKENS = {
    "audio_token_id": "audio_token_index",
    "image_token_id": "image_token_index",
    "video_token_id": "video_token_index",
}
# The same for some classes.
OF_CLASSES = {
    "num_experts": ("num_local_experts", ("MiniMaxConfig", "MixtralConfig")),
    "num_local_experts": ("num_experts", ("JambaConfig", "OlmoeConfig")),
}
SCALINGS = ("default", "dynamic", "linear", "llama3", "longrope", "yarn")
# Those whose dictionary has the length of the positions that the model was trained with.
WITH_LENGTH = ("llama3", "longrope", "yarn")
LENGTH = "original_max_position_embeddings"
# The dictionaries of these classes are others in later releases: one for each type of layer, or none.
OTHERS = (
    *("Gemma3TextConfig", "Gemma3nTextConfig", "ModernBertConfig", "ModernBertDecoderConfig", "Olmo3Config"),
    *("Qwen2VLConfig", "Qwen2_5_VLConfig"),
)

FIX = Fix(
    title="AttributeError: 'LlamaConfig' object has no attribute 'rope_parameters'",
    kind="removed-api",
    fixed_in="5.0.0",
    group="removed-names",
    errors=tuple(
        f"AttributeError: '…Config' object has no attribute '{name}'"
        for name in ("dtype", "get_text_config", "rope_parameters", *TOKENS, *OF_CLASSES)
    ),
)

CONFIG = "transformers.configuration_utils:PretrainedConfig"


class Rotary(dict[str, Any]):
    """The rotary settings of a configuration, which has them in other attributes: this dictionary is read only."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "this release computes with config.rope_theta and config.rope_scaling; change these, not rope_parameters"
        )

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        """Copy and pickle it as a plain dictionary."""
        return dict, (dict(self),)


@FIX.adds((f"{CONFIG}.__getattr__", "<5.0.0"))
def of_later(self: Any, name: str) -> Any:
    """The value of an attribute that a configuration lacks.

    Args:
        self: the configuration.
        name: the name of the attribute.

    Raises:
        AttributeError: it is another name, or the library or code that works without it reads it.
    """
    from transformers import configuration_utils  # its module

    library = configuration_utils.PretrainedConfig
    return lacking.attribute(self, name, library, _later, f"{CONFIG}.{name}", FIX.id)


_given: dict[int, tuple[Any, Any]] = {}
"""The ``dtype`` that a configuration was read with, and a reference to the configuration, by its identity."""


@FIX.accompanies(f"{CONFIG}.from_dict")
def notes_the_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember an argument that the release ignores."""

    def from_dict(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, *args, **kwargs)
        dtype = kwargs.get("dtype")
        config = made[0] if isinstance(made, tuple) else made
        if dtype not in (None, "auto") and "dtype" not in getattr(config, "__dict__", {"dtype": dtype}):
            key = id(config)
            _given[key] = dtype, weakref.ref(config, lambda _: _given.pop(key, None))
        return made

    return from_dict


def _is_other(config: Any, dtype: Any) -> bool:
    """Whether a configuration was read with another ``dtype`` than it has."""
    given, reference = _given.get(id(config), (None, None))
    return (
        reference is not None
        and reference() is config
        and str(given).rpartition(".")[2] != str(dtype).rpartition(".")[2]
    )


def _later(config: Any, name: str) -> list[Any]:
    """The value of an attribute that a configuration would have in a later release, or nothing."""
    own = vars(config)
    if name == "dtype":
        return [own["torch_dtype"]] if "torch_dtype" in own and not _is_other(config, own["torch_dtype"]) else []
    if name == "get_text_config":
        return [] if hasattr(type(config), name) else [lambda decoder=False: _text_config(config, decoder)]
    kinds = {base.__name__ for base in type(config).__mro__ if base.__module__.startswith("transformers.models.")}
    if name == "rope_parameters":
        return _rotary(own) if kinds and kinds.isdisjoint(OTHERS) and "vocab_size" in own else []
    original = TOKENS.get(name, "") if kinds else ""
    if name in OF_CLASSES and not kinds.isdisjoint(OF_CLASSES[name][1]):
        original = OF_CLASSES[name][0]
    return [own[original]] if original in own else []


def _rotary(own: dict[str, Any]) -> list[Rotary]:
    """The rotary settings in one dictionary, or nothing.

    Args:
        own: the attributes of the configuration.
    """
    scaling = own.get("rope_scaling") or {}
    if "rope_theta" not in own or not isinstance(scaling, dict):
        return []
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in SCALINGS or "mrope_section" in scaling:
        return []
    made = {**copy.deepcopy(scaling), "rope_theta": own["rope_theta"], "rope_type": kind}
    if own.get("partial_rotary_factor") is not None:
        made["partial_rotary_factor"] = own["partial_rotary_factor"]
    if kind in WITH_LENGTH and LENGTH in own:  # Phi-3 has it, and it takes precedence
        made[LENGTH] = own[LENGTH]
    elif kind in WITH_LENGTH:
        made.setdefault(LENGTH, own.get("max_position_embeddings"))
    return [Rotary(made)]


def _text_config(config: Any, decoder: bool) -> Any:
    """The part of a configuration that is about text, or the whole one.

    Args:
        config: the configuration.
        decoder: leave the encoder of text out.
    """
    names = (
        ("decoder", "generator", "text_config") if decoder else ("text_encoder", "decoder", "generator", "text_config")
    )
    parts = [name for name in names if getattr(config, name, None) is not None]
    if len(parts) > 1:
        raise ValueError(f"The configuration has several parts about text: {parts}. Use the one that you mean.")
    return getattr(config, parts[0]) if parts else config
