"""A subclass of a vision-language or mixture-of-experts model is loaded with random weights.

Symptom   Silent except for the load report. ``class Reward(Qwen2_5_VLForConditionalGeneration)`` has a random language
          model after ``from_pretrained``, a subclass of `LlavaForConditionalGeneration` a random head, a subclass of
          `MixtralModel` random experts. `Qwen2VLModel` and `Qwen2_5_VLModel` themselves have a random language model
          up to 5.12.1.
Cause     5.9.0 finds the conversion of a checkpoint by the name of the class, which a subclass does not have; since
          5.13.0 the conversion skips classes outside of the library.
Releases  5.9.0 and later. Upstream added the two models of Qwen in 5.13.0, and leaves subclasses out.
Upstream  illuin-tech/colpali#413, illuin-tech/colpali#414
Here      A weight that the release would ignore is loaded by the conversion of the library's class that is extended,
          if the model lacks exactly this weight, with this shape. All is as in the release if the conversion would move
          a weight that the release places by itself, or load one into a part that the subclass makes when it is built
          or names in ``_init_weights``, such as a new head, or if the program passes a ``key_mapping``. Saving writes
          the names of the release, so that a process without hotfix reads the file. The weights are those of 5.5.4.
"""

from __future__ import annotations

import copy
import dis
import re
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.loading._reading import carefully, is_of_the_library
from hotfix.patching import scope

FIX = Fix(
    title="Subclass of Qwen2_5_VL, LLaVA or Mixtral has random weights after from_pretrained in transformers 5",
    kind="silent",
    upstream=("illuin-tech/colpali#413", "illuin-tech/colpali#414"),
    fixed_in="5.13.0 for the two models of Qwen",
    everyone="only for weights that the model lacks and the release ignores: the new code tests it",
)

_LOADING = "transformers.core_model_loading"
_BY_CLASS = "self.scope_prefix: str | None = None"  # since then the name of a class decides

FIX.edits(
    (f"{_LOADING}:convert_and_load_state_dict_in_model", ">=5.9.0"),
    fingerprint_of=("convert_and_load_state_dict_in_model", "WeightTransform.__init__"),
    beside=_BY_CLASS,
    old=(
        "weight_mapping = load_config.weight_mapping or []",
        "[conversion for conversion in weight_mapping if conversion.was_used()]",
    ),
    new=(
        f"""
        from {__name__} import for_saving, with_inherited
        weight_mapping = with_inherited(model, state_dict, load_config.weight_mapping or [])
        """,
        "for_saving(weight_mapping)",
    ),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._finalize_model_loading", ">=5.9.0"),
    old="model._initialize_missing_keys(load_config.is_quantized)",
    new=f"""
        from {__name__} import initialize_the_others
        initialize_the_others(model, load_config.is_quantized)
        """,
    beside=_BY_CLASS,
    fingerprint_of=("PreTrainedModel._finalize_model_loading", f"{_LOADING}:WeightTransform.__init__"),
    along=(f"{_LOADING}:convert_and_load_state_dict_in_model",),
)

_TEXT = r"^model\.(?!language_model\.|visual\.)", "language_model."
WITHOUT_ENTRY = {"Qwen2VLModel": _TEXT, "Qwen2_5_VLModel": _TEXT}
"""Classes of 5.9.0 to 5.12.1 without a conversion: a pattern for the names of the Hub, and its replacement."""


class _Conversion(list[Any]):
    """Steps that load a checkpoint.

    Attributes:
        for_saving: the steps that the release would use, which it reverses when it saves the model.
    """

    for_saving: list[Any]


class _Plan(NamedTuple):
    """What a conversion does with a checkpoint.

    Attributes:
        places: for each weight that is loaded: its name in the model, and the pattern of its converter, or None.
        used: the steps of the conversion that match a weight.
    """

    places: dict[str, tuple[str, Optional[str]]]
    used: list[Any]


def with_inherited(model: Any, weights: Mapping[str, Any], own: list[Any]) -> list[Any]:
    """Add the conversion of the library's class that a model extends, if it does nothing but load further weights.

    Args:
        model: the model, not yet loaded.
        weights: tensors of the checkpoint, or slices of its file, by name.
        own: the conversion that the release has for the model.

    Returns:
        The conversion to use; the same list if there is nothing to add.
    """
    inherited = inherited_by(model)
    if not inherited or _is_renamed(model, own):
        return own
    return carefully(FIX, "the checkpoint", own, lambda own: _best(model, weights, own, inherited))


_added: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""The weights that a model has because of the inherited conversion, until they have been loaded."""


def initialize_the_others(model: Any, is_quantized: bool) -> None:
    """Initialize what the checkpoint lacks, with the random numbers that the release has for it.

    It initializes the added weights as well, before others or after them, and a program may not need these. Weights of
    a whole language model are not drawn: nothing is right without these.

    Args:
        model: the model, loaded.
        is_quantized: whether a quantizer loads it.
    """
    added = [model.get_parameter_or_buffer(name) for name in _added.pop(model, ())]
    if not added or not 0 < sum(weight.numel() for weight in added) < _MOST or any(map(_is_elsewhere, added)):
        model._initialize_missing_keys(is_quantized)
        return
    values = [weight.detach().clone() for weight in added]
    for weight in added:
        weight._is_hf_initialized = False
    model._initialize_missing_keys(is_quantized)
    for weight, value in zip(added, values):
        weight.data.copy_(value)
        weight._is_hf_initialized = True


_MOST = 2**30


def _is_elsewhere(weight: Any) -> bool:
    """Whether the values of a weight are not in it: on the meta device, or spread over processes."""
    return weight.device.type == "meta" or hasattr(weight, "ds_id") or hasattr(weight, "device_mesh")


def for_saving(conversion: list[Any]) -> list[Any]:
    """The steps of a conversion that are reversed when the model is saved.

    Args:
        conversion: the result of `with_inherited`, after loading.
    """
    if isinstance(conversion, _Conversion):
        return conversion.for_saving
    return [step for step in conversion if step.was_used()]


def inherited_by(model: Any) -> list[Any]:
    """The conversion of the first of the library's classes that a model extends, or is, where the release ignores it.

    Args:
        model: the model.
    """
    conversions = _module("conversion_mapping")
    cls, kind = type(model), getattr(model.config, "model_type", None)
    registered = getattr(conversions, "USER_REGISTERED_MAPPINGS", ())
    if cls.__name__ in registered or kind in registered:
        return []
    for base in cls.__mro__:
        if not is_of_the_library(base):
            continue
        entry = conversions.get_checkpoint_conversion_mapping(base.__name__)
        if entry is not None:
            return [] if base is cls else list(entry)
        if base.__name__ in WITHOUT_ENTRY:
            return [conversions.WeightRenaming(*WITHOUT_ENTRY[base.__name__])]
    return [] if is_of_the_library(cls) else _by_type(model)


def _module(name: str) -> Any:
    return sys.modules[f"transformers.{name}"]


def _by_type(model: Any) -> list[Any]:
    """The conversion for the type of a model, which 5.9.0 to 5.12.1 also use for a class without an entry."""
    kind = getattr(model.config, "model_type", None)
    return list(_module("conversion_mapping").get_checkpoint_conversion_mapping(kind) or ())


def _best(model: Any, weights: Mapping[str, Any], own: list[Any], inherited: list[Any]) -> list[Any]:
    """Of the release's conversion and those with the inherited one, the one that loads most without a change."""
    of_type = [_patterns(step) for step in _by_type(model)]
    in_place_of_type = [step for step in own if step.scope_prefix is not None or _patterns(step) not in of_type]
    wanted = model.state_dict()
    before, best = _plan(own, model, weights, wanted), own
    most = len(before.places)
    for rest in (own, in_place_of_type):
        longer = _Conversion([*inherited, *rest])
        longer.for_saving = before.used
        after = _plan(longer, model, weights, wanted)
        if len(after.places) > most and _only_adds(before.places, after.places, model, weights, wanted):
            most, best = len(after.places), longer
            _added[model] = {target for target, _ in after.places.values()} - {
                target for target, _ in before.places.values()
            }
    return best


def _patterns(step: Any) -> tuple[Any, ...]:
    return type(step), step.source_patterns, step.target_patterns


def _plan(conversion: list[Any], model: Any, weights: Mapping[str, Any], wanted: Mapping[str, Any]) -> _Plan:
    loading = _module("core_model_loading")
    steps = [copy.copy(step) for step in conversion]  # a step remembers that it was used
    renamings = [step for step in steps if isinstance(step, loading.WeightRenaming)]
    converters = [step for step in steps if isinstance(step, loading.WeightConverter)]
    places = {}
    for name in sorted(weights, key=loading.dot_natural_key):
        place = loading.rename_source_key(name, renamings, converters, model.base_model_prefix, wanted)
        if place[0] not in wanted and name in wanted:
            place = loading.rename_source_key(name, [], [], model.base_model_prefix, wanted)
        if place[0] in wanted:
            places[name] = place
    return _Plan(places, [step for step, tried in zip(conversion, steps) if tried.was_used()])


def _only_adds(
    before: Mapping[str, tuple[str, Optional[str]]],
    after: Mapping[str, tuple[str, Optional[str]]],
    model: Any,
    weights: Mapping[str, Any],
    wanted: Mapping[str, Any],
) -> bool:
    """Whether all weights stay in their places, and each further one fills, alone, what the model would lack."""
    if any(after.get(name) != place for name, place in before.items()):
        return False
    added = {name: place for name, place in after.items() if name not in before}
    single = [target for target, converter in added.values() if converter is None]
    filled = {target for target, _ in before.values()}
    tied = getattr(model, "all_tied_weights_keys", {})
    return len(single) == len(set(single)) and all(
        filled.isdisjoint((target, tied.get(target)))
        and not _is_ignored(model, name, target)
        and not _is_of_the_program(model, target)
        and _fits(weights[name], target, converter, model, wanted)
        for name, (target, converter) in added.items()
    )


def _is_ignored(model: Any, name: str, target: str) -> bool:
    """Whether the class of a model says that a weight in the file, or one of its own, is not to be loaded."""
    unexpected = getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ()
    missing = getattr(model, "_keys_to_ignore_on_load_missing", None) or ()
    return any(re.search(pattern, name) for pattern in unexpected) or any(
        re.search(pattern, target) for pattern in missing
    )


_SETTERS = {"add_module", "register_module", "set_decoder", "set_input_embeddings", "set_output_embeddings", "setattr"}
_SETTERS |= {"_modules", "__dict__"}
"""Ways to put a part into a model whose name is not in the code."""


def _is_of_the_program(model: Any, target: str) -> bool:
    """Whether a subclass makes, or initializes by its name, a weight or a part that it is in."""
    parts = set(target.split("."))
    own: dict[str, types.FunctionType] = {}
    for cls in type(model).__mro__:
        if not is_of_the_library(cls) and cls.__module__.partition(".")[0] not in ("builtins", "torch"):
            for name, member in vars(cls).items():
                if isinstance(member, types.FunctionType):
                    own.setdefault(name, member)
    if "_init_weights" in own and parts & _names(own["_init_weights"].__code__):
        return True
    reached = _reached(own, ("__init__", "post_init"))
    return any(parts & _stored(code) or _SETTERS & _names(code) for code in reached)


def _reached(own: Mapping[str, types.FunctionType], starts: Iterable[str]) -> list[types.CodeType]:
    """The code of methods, and of all functions of their classes and modules that they name, directly or not."""
    reached: dict[types.CodeType, None] = {}
    left = [own[name] for name in starts if name in own]
    while left:
        function = left.pop()
        if function.__code__ not in reached:
            reached[function.__code__] = None
            named = ((own.get(name), function.__globals__.get(name)) for name in _names(function.__code__))
            left += [each for pair in named for each in pair if isinstance(each, types.FunctionType)]
            left = [each for each in left if each.__module__.partition(".")[0] not in ("transformers", "torch")]
    return list(reached)


def _names(code: types.CodeType) -> set[str]:
    """The names that a function and the functions in it use."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return {*code.co_names}.union(*inner)


def _stored(code: types.CodeType) -> set[str]:
    """The attributes that a function and the functions in it set."""
    inner = (_stored(part) for part in code.co_consts if isinstance(part, types.CodeType))
    steps = dis.get_instructions(code)
    return {step.argval for step in steps if step.opname == "STORE_ATTR"}.union(*inner)


def _is_renamed(model: Any, own: list[Any]) -> bool:
    """Whether the program passed names of its own, as ``key_mapping``."""
    conversions = _module("conversion_mapping")
    release = [_patterns(step) for step in conversions.get_model_conversion_mapping(model) or ()]
    return any(type(step) is conversions.WeightRenaming and _patterns(step) not in release for step in own)


def _fits(weight: Any, target: str, converter: Optional[str], model: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether a weight has the shape of its target; several that become one fit a module of the library's."""
    if converter is not None:
        return scope.was_written_in("transformers", type(model.get_submodule(target.rpartition(".")[0])))
    shape = weight.get_shape() if hasattr(weight, "get_shape") else weight.shape
    return tuple(shape) == tuple(wanted[target].shape)
