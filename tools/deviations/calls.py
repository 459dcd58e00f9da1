"""Records the calls of a case, and repeats them with other arguments: does each return, and leave its arguments alone?

A variant is one call: unchanged, without one of its optional arguments, in another dtype, with one row, with no rows,
with tensors that have no data. Each is compared separately, and an error counts as a result; so does a change to the
caller's arguments.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tools.deviations.instances import strided
from tools.deviations.registry import deviation
from tools.deviations.scene import NotHere, Scene
from tools.deviations.values import error_of, is_same, named

KEPT = 2  # calls: the first ones, which are the same whether or not the case comes to its end
VARIANTS = 28


@deviation(bases=("case", "unaffected"))
def target_called_again(scene: Scene) -> dict[str, Any]:
    """The target is called by itself with the arguments of the case, and with variants of them."""
    holder, name, value = _target(scene)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    function = getattr(value, "__func__", value)

    @functools.wraps(function)
    def recording(*arguments: Any, **options: Any) -> Any:
        if len(calls) < KEPT:
            calls.append((tuple(map(_copied, arguments)), {key: _copied(option) for key, option in options.items()}))
        return function(*arguments, **options)

    own: Any = recording
    if isinstance(value, (staticmethod, classmethod)):
        own = type(value)(recording)
    importers = _importers(holder, name, value)
    for place in (holder, *importers):
        setattr(place, name, own)
    try:
        scene.run()
    except Exception as error:
        if not calls:
            raise
        scene.ended = ": ".join(error_of(error))
    for place in (holder, *importers):
        setattr(place, name, value)
    if not calls:
        raise NotHere("the case does not call the target by its name")
    scene.touch()
    is_init = name == "__init__"
    results: dict[str, Any] = {}
    for number, (arguments, options) in enumerate(calls[:KEPT]):
        results.update(named(f"call {number}, given", [arguments[not isinstance(holder, types.ModuleType) :], options]))
        for variant, given in _variants(
            function, arguments, options, has_self=not isinstance(holder, types.ModuleType)
        ):
            results.update(_called(f"call {number}, {variant}", function, given, is_init))
    return results


@deviation("models", "training", bases=("case", "unaffected"))
def model_called_again(scene: Scene) -> dict[str, Any]:
    """The model is called with the arguments of the case, and with variants of them."""
    results: dict[str, Any] = {}
    for number, (model, arguments, options) in enumerate(_calls_of_models(scene)):
        scene.touch()
        forward = inspect.unwrap(type(model).forward)
        results.update(named(f"call {number}, given", [arguments, options]))
        for variant, given in _variants(forward, (model, *arguments), options, has_self=True):
            results.update(_called(f"call {number}, {variant}", _through(model), given, False))
    return results


@deviation("models", bases=("case", "unaffected"))
def turns_behind_a_kept_cache(scene: Scene) -> dict[str, Any]:
    """A text is read in three turns behind a cache that is kept, and then anew in one."""
    import torch

    results: dict[str, Any] = {}
    for number, (model, arguments, options) in enumerate(_calls_of_models(scene)):
        given = _as_options(type(model).forward, arguments, options)
        ids = given.get("input_ids")
        if ids is None or ids.ndim != 2 or ids.shape[1] < 5 or getattr(model.config, "is_encoder_decoder", False):
            continue
        if "past_key_values" not in inspect.signature(model.forward).parameters:
            continue
        scene.touch()
        model.eval()
        cache, at = None, 0
        with torch.no_grad():
            for end in (ids.shape[1] - 3, ids.shape[1] - 1, ids.shape[1]):
                try:
                    output = model(input_ids=ids[:, at:end], past_key_values=cache, use_cache=True)
                except Exception as error:
                    results[f"model {number}, to {end}"] = ": ".join(error_of(error))
                    break
                results.update(named(f"model {number}, to {end}", output[0]))
                cache, at = output.past_key_values, end
            results.update(_called(f"model {number}, anew", _through(model), {"self": model, "input_ids": ids}, False))
    if not results:
        raise NotHere("the case calls no decoder with tokens")
    return results


@deviation("models", bases=("case", "unaffected"))
def many_calls_in_a_row(scene: Scene) -> dict[str, Any]:
    """The model reads texts of several lengths, all of them longer than before, and then short ones."""
    import torch

    results: dict[str, Any] = {}
    for number, (model, arguments, options) in enumerate(_calls_of_models(scene)):
        given = _as_options(type(model).forward, arguments, options)
        ids = given.get("input_ids")
        if ids is None or not hasattr(ids, "ndim") or ids.ndim != 2:
            continue
        scene.touch()
        model.eval()
        with torch.no_grad():
            for turn, length in enumerate((40, 44, 48, 9, 40, 9)):
                text = ids.repeat(1, -(-length // ids.shape[1]))[:, :length]
                results.update(
                    _called(f"model {number}, call {turn}", _through(model), {"self": model, "input_ids": text}, False)
                )
    if not results:
        raise NotHere("the case calls no model with tokens")
    return results


@deviation("models", bases=("case", "unaffected"))
def generated_in_two_turns(scene: Scene) -> dict[str, Any]:
    """The model writes, is given more tokens, and writes on behind the cache that `generate` has returned."""
    import torch

    results: dict[str, Any] = {}
    for number, (model, arguments, options) in enumerate(_calls_of_models(scene)):
        given = _as_options(type(model).forward, arguments, options)
        ids = given.get("input_ids")
        if ids is None or not hasattr(model, "generate") or ids.ndim != 2:
            continue
        scene.touch()
        model.eval()
        wanted = {"max_new_tokens": 4, "do_sample": False, "return_dict_in_generate": True, "pad_token_id": 0}
        try:
            first = model.generate(ids, eos_token_id=None, **wanted)
            results.update(named(f"model {number}, first", first.sequences))
            longer = torch.cat([first.sequences, ids[:, :3]], dim=1)
            cache = first.past_key_values
            second = model.generate(longer, past_key_values=cache, eos_token_id=None, **wanted)
            results.update(named(f"model {number}, second", second.sequences))
            without = model.generate(longer, use_cache=False, eos_token_id=None, **wanted)
            results.update(named(f"model {number}, without a cache", without.sequences))
        except Exception as error:
            results[f"model {number}, raises"] = ": ".join(error_of(error))
    if not results:
        raise NotHere("the case calls no model that writes")
    return results


# -- below: recording --------------------------------------------------------------------------------------------------


def _target(scene: Scene) -> tuple[Any, str, Any]:
    module, name = scene.module(), scene.method()
    holder: Any = scene.owner() if "." in scene.target.qualname else module
    value = vars(holder).get(name)
    if not isinstance(getattr(value, "__func__", value), types.FunctionType):
        raise NotHere("the target is not a function that can be called")
    return holder, name, value


def _importers(holder: Any, name: str, value: Any) -> list[Any]:
    from tools.deviations.scene import _modules_of

    if not isinstance(holder, types.ModuleType):
        return []
    return [item for item in _modules_of(value) if vars(item).get(name) is value and item is not holder]


def _calls_of_models(scene: Scene) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """The first call of each of the first two models of the case: model, arguments, options."""
    calls: dict[int, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}

    def change(model: Any) -> None:
        def record(module: Any, arguments: Any, options: Any) -> None:
            if id(module) not in calls and len(calls) < KEPT:
                # Whether a Trainer gives the number of labels is what fixes of training decide.
                given = {name: value for name, value in options.items() if name != "num_items_in_batch"}
                kept = {name: _copied(value) for name, value in given.items()}
                calls[id(module)] = (module, tuple(map(_copied, arguments)), kept)

        if hasattr(model, "register_forward_pre_hook"):
            hooks.append(model.register_forward_pre_hook(record, with_kwargs=True))

    hooks: list[Any] = []
    scene.on_models(change)
    try:
        scene.run()
    except Exception as error:
        if not calls:
            raise
        scene.ended = ": ".join(error_of(error))
    for hook in hooks:
        hook.remove()
    if not calls:
        raise NotHere("the case calls no model")
    return list(calls.values())


def _copied(value: Any) -> Any:
    """A copy of an argument that a call cannot change: its own tensors, containers and caches."""
    import torch

    if isinstance(value, torch.Tensor):
        own = value.detach().clone()
        if not value.is_contiguous() and 0 not in value.stride():  # a clone would be contiguous
            own = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device).copy_(own)
        return own.requires_grad_(value.requires_grad and value.is_leaf)
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    if "Cache" in type(value).__name__:
        return copy.deepcopy(value)
    return value


# -- below: variants ---------------------------------------------------------------------------------------------------


def _as_options(function: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return {**dict(zip(names, arguments)), **options}


def _variants(
    function: Any, arguments: tuple[Any, ...], options: Mapping[str, Any], has_self: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and arguments, by name, of calls."""
    import torch

    try:
        signature = inspect.signature(function, follow_wrapped=True)
        bound = dict(signature.bind(*arguments, **options).arguments)
    except (TypeError, ValueError):
        bound, signature = {}, None
    if signature is None:
        return
    given: dict[str, Any] = {}
    positional: tuple[Any, ...] = ()
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            given.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            positional = value
        else:
            given[name] = value
    if positional:
        return
    first = next(iter(given), "") if has_self else ""
    optional = [
        name
        for name in given
        if name != first
        and (name not in signature.parameters or signature.parameters[name].default is not inspect.Parameter.empty)
    ]
    yield "as it was", given
    yield "twice", {**given, "__twice__": True}
    for name in optional[: VARIANTS - 10]:
        yield f"without {name}", {key: value for key, value in given.items() if key != name}
    if len(optional) > 1:
        yield "without options", {key: value for key, value in given.items() if key not in optional}
    changes: dict[str, Callable[[Any], Any]] = {
        "not contiguous": strided,
        "bfloat16": lambda item: item.to(torch.bfloat16) if item.is_floating_point() else item,
        "one row": lambda item: item[:1] if item.ndim else item,
        "no row": lambda item: item[:0] if item.ndim else item,
        "meta": lambda item: item.to("meta"),
    }
    for variant, change in changes.items():
        changed = {name: value if name == first else _over(value, change) for name, value in given.items()}
        if any(changed[name] is not given[name] for name in given):
            yield variant, changed


def _over(value: Any, change: Callable[[Any], Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (list, tuple) and any(isinstance(item, torch.Tensor) for item in value):
        return type(value)(_over(item, change) for item in value)
    if type(value) is dict and any(isinstance(item, torch.Tensor) for item in value.values()):
        return {name: _over(item, change) for name, item in value.items()}
    return value


def _through(model: Any) -> Callable[..., Any]:
    return lambda self, **options: model(**options)


def _called(name: str, function: Any, given: Mapping[str, Any], is_init: bool) -> dict[str, Any]:
    """The result or the error of a call, and the arguments that it has changed."""
    import torch

    options = {key: _copied(value) for key, value in given.items()}
    times = 2 if options.pop("__twice__", False) else 1
    before = {key: _copied(value) for key, value in options.items()}
    first = next(iter(options), None)
    if is_init and first:
        kind: Any = type(options[first])
        options[first] = kind.__new__(kind)
    torch.manual_seed(0)
    results: dict[str, Any] = {}
    try:
        for _ in range(times):
            returned = function(**options)
        results.update(named(name, options[first] if is_init and first else returned))
    except Exception as error:
        results[name] = ": ".join(error_of(error))
    if name.endswith(", meta"):  # a tensor on the CPU that was computed from no data is whatever memory had
        results = {
            key: value if isinstance(value, str) else f"{tuple(value.shape)} {value.dtype}"
            for key, value in results.items()
        }
    changed = [key for key, value in before.items() if key != first and not _is_equal(value, options[key])]
    results[f"{name}, changed"] = ", ".join(sorted(changed))
    return results


def _is_equal(first: Any, second: Any) -> bool:
    before, after = named("", first), named("", second)
    return before.keys() == after.keys() and all(is_same(before[name], after[name]) for name in before)
