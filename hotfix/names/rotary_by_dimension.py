"""Rotary embeddings are no longer made from a dimension.

Symptom   ``TypeError: LlamaRotaryEmbedding.__init__() got an unexpected keyword argument 'dim'``, or ``'base'``, or
          ``AttributeError: 'int' object has no attribute 'max_position_embeddings'``, from attention layers that are
          built as in 4.36: ``LlamaRotaryEmbedding(head_dim, max_position_embeddings=2048, base=10000)``.
Cause     They are made from the configuration of a model. Since 5.19.0 they get no device either.
Releases  4.48.0 and later; 5.0.0 and later for Chameleon and DBRX
Upstream  transformers#35621 (not put back)
Here      After the error, the frequencies are made from the dimension and the base, as in 4.47.1, and ``dim``, ``base``
          and ``max_position_embeddings`` are attributes. Scaled embeddings, which had further arguments, are refused as
          before, and so are subclasses that scale in ``_set_cos_sin_cache``. A device is where the frequencies are put.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="TypeError: LlamaRotaryEmbedding.__init__() got an unexpected keyword argument 'dim'",
    kind="removed-api",
    upstream=("transformers#35621",),
    group="removed-names",
    exempt={
        "transformers.models.*:*": "they have never been made from a dimension, or do not rotate by the position alone"
    },
    errors=(
        "TypeError: …RotaryEmbedding.__init__() got an unexpected keyword argument 'dim'",
        "TypeError: …RotaryEmbedding.__init__() got an unexpected keyword argument 'base'",
        "TypeError: …RotaryEmbedding.__init__() got an unexpected keyword argument 'max_position_embeddings'",
        "AttributeError: 'int' object has no attribute 'max_position_embeddings'",
    ),
)

CLASSES = """
    cohere:Cohere falcon:Falcon gemma:Gemma gemma2:Gemma2 glm:Glm gpt_neox:GPTNeoX jetmoe:JetMoe llama:Llama
    mimi:Mimi mistral:Mistral mixtral:Mixtral moshi:Moshi olmo:Olmo olmo2:Olmo2 olmoe:Olmoe persimmon:Persimmon
    phi:Phi phi3:Phi3 qwen2:Qwen2 qwen2_moe:Qwen2Moe stablelm:StableLm starcoder2:Starcoder2
"""
TARGETS = [(_class, ">=4.48.0") for _class in CLASSES.split()] + [
    ("chameleon:Chameleon", ">=5.0.0"),
    ("dbrx:Dbrx", ">=5.0.0"),
]
_DEFAULTS = {"dim": None, "max_position_embeddings": 2048, "base": 10000}
_ARGUMENTS = (*_DEFAULTS, "device")


@FIX.wraps(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}RotaryEmbedding.__init__", releases)
        for (folder, _, name), releases in ((_class.partition(":"), releases) for _class, releases in TARGETS)
    ),
    on_error=(
        *(
            f"TypeError: …__init__() got an unexpected keyword argument '{_name}'"
            for _name in (*_ARGUMENTS, "scaling_factor", "rope_type")
        ),
        "TypeError: …__init__() takes from 2 to 3 positional arguments but …",
        "TypeError: …__init__() takes 2 positional arguments but …",
        "AttributeError: 'int' object has no attribute 'max_position_embeddings'",
    ),
)
def from_a_dimension(original: Callable[..., None]) -> Callable[..., None]:
    """Make the frequencies from a dimension and a base."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        given = None if makes_its_table(self) else _as_in_4(args, kwargs)
        if given is None:
            return original(self, *args, **kwargs)
        if "config" in given:
            original(self, given["config"])
        else:
            dim, length, base = (given.get(name, default) for name, default in _DEFAULTS.items())
            original(self, _config(dim, length, base))
            self.dim, self.max_position_embeddings, self.base = dim, length, base
        if given.get("device") is not None:
            self.to(given["device"])
        return None

    return __init__


def makes_its_table(embedding: Any) -> bool:
    """Whether a subclass of the program scales the angles in a method that the release no longer calls.

    Args:
        embedding: the rotary embedding.
    """
    method = getattr(type(embedding), "_set_cos_sin_cache", None)
    return method is not None and not scope.was_written_in("transformers", method)


def _as_in_4(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments by name; None if they are not those of 4.47 without scaling, or a configuration and a device."""
    names = (*_ARGUMENTS, "scaling_factor", "rope_type", "config")
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) > len(names) or len(given) < len(args) + len(kwargs) or not given.keys() <= set(names):
        return None
    first = given.get("dim")
    if first is not None and not isinstance(first, int):
        given["config"] = given.pop("dim")  # by position
        return given if given.keys() <= {"config", "device"} and len(args) == 1 else None
    unscaled = given.pop("scaling_factor", 1.0) in (None, 1.0) and given.pop("rope_type", "default") == "default"
    if "config" in given:
        return given if unscaled and first is None and given.keys() <= {"config", "device"} else None
    return given if unscaled and first is not None else None


def _config(dim: Any, length: Any, base: Any) -> Any:
    """What the classes read of a configuration.

    Args:
        dim: size of a head, an int.
        length: greatest number of positions, an int.
        base: of the frequencies, a number.
    """
    return SimpleNamespace(
        hidden_size=dim,
        num_attention_heads=1,
        head_dim=dim,
        partial_rotary_factor=1.0,
        max_position_embeddings=length,
        rope_theta=base,
        rope_scaling=None,
        rope_parameters={"rope_type": "default", "rope_theta": base, "partial_rotary_factor": 1.0},
    )


@FIX.recognises
def takes_a_configuration(function: Any) -> bool:
    """Whether the only argument, apart from a device, is a configuration."""
    names = [argument.arg for argument in function.args.args]
    is_made_so = names in (["self", "config"], ["self", "config", "device"])
    return function.name == "__init__" and is_made_so and occurs("self.rope_type", function)
