"""Configurations lack attributes that later releases have.

Symptom   ``AttributeError: 'LlamaConfig' object has no attribute 'rope_parameters'``, the same of ``dtype``,
          ``get_text_config``, ``image_token_id``, ``num_experts`` and others, from remote code and scripts for later
          releases.
Cause     4.45.0 brought `get_text_config`; 4.56.0 renamed ``torch_dtype``; 5.0.0 put the rotary settings into
          ``rope_parameters``; some models got a second name for an attribute.
Releases  before 5.0.0
Upstream  the attributes are new
Here      Code that would crash without them can read them, but not the library itself: ``dtype`` is ``torch_dtype``,
          and ``rope_parameters`` the dictionary that 5.0.0 makes from ``rope_theta``, ``rope_scaling`` and
          ``partial_rotary_factor``. It is for reading: a change of it would have no effect, and raises TypeError. Code
          that also sets an attribute of the same name gets none of these. Language models of the library have the
          dictionary, except those with one base per type of layer. Nothing is saved with the configuration, and an
          attribute of that name that a program sets takes precedence. There is no ``dtype`` before 4.50.0, which does
          not always write the one of a loaded model into its configuration; nor after the process has given another
          ``dtype`` for a configuration, which the release ignores, since a copy does not show which it was.
"""

from __future__ import annotations

import copy
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


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        "this release computes with config.rope_theta and config.rope_scaling; change these, not rope_parameters"
    )


class Factors(list[Any]):
    """A list in the rotary settings of a configuration, read only."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = extend = insert = _refuse
    clear = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        """Copy and pickle it as a plain list."""
        return list, (list(self),)


class Rotary(dict[str, Any]):
    """The rotary settings of a configuration, which has them in other attributes: this dictionary is read only."""

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
    return lacking.attribute(self, name, CONFIG, _later, f"{CONFIG}.{name}", FIX.id, to_read=True)


_ignored: set[str] = set()
"""The names of the ``dtype`` that this process gave for configurations, and that the release ignored."""


@FIX.accompanies(f"{CONFIG}.from_dict")
def notes_the_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember an argument that the release ignores."""

    def from_dict(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, *args, **kwargs)
        dtype = kwargs.get("dtype")
        if dtype is not None:
            config = made[0] if isinstance(made, tuple) else made
            name = _name(dtype) or "another"
            if name != "auto" and "dtype" not in getattr(config, "__dict__", {"dtype": dtype}):
                _ignored.add(name)
        return made

    return from_dict


def _name(dtype: Any) -> str:
    """The name of a dtype of torch, or nothing."""
    if type(dtype) is str:
        return dtype
    return str(dtype).rpartition(".")[2] if type(dtype).__module__ == "torch" else ""


def _is_written() -> bool:
    """Whether the release writes the dtype that it loads a model with into the configuration of the model."""
    import transformers

    return tuple(map(int, transformers.__version__.split(".")[:2])) >= (4, 50)


def _later(config: Any, name: str) -> list[Any]:
    """The value of an attribute that a configuration would have in a later release, or nothing."""
    own = vars(config)
    if name == "dtype":
        is_known = _is_written() and "torch_dtype" in own and _ignored <= {_name(own["torch_dtype"])}
        return [own["torch_dtype"]] if is_known else []
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
    read_only = {
        key: Factors(value) if isinstance(value, list) else copy.deepcopy(value) for key, value in scaling.items()
    }
    made = {**read_only, "rope_theta": own["rope_theta"], "rope_type": kind}
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
