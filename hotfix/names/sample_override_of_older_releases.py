"""``generate`` leaves out arguments that an override of ``_sample`` requires.

Symptom   ``TypeError: MyModel._sample() missing 1 required positional argument: 'logits_warper'``; since 4.57.1 also
          ``'streamer'``, from classes that draw tokens themselves, and from projects that put a ``_sample`` of their
          own in the library's place.
Cause     Up to 4.44.2 ``generate`` passed the warpers (temperature, ``top_k`` and others) next to the processors; since
          4.45.0 they are the last processors. Since 4.57.1 it leaves out a streamer that is None.
Releases  4.45.0 and later
Upstream  the argument was removed in 4.45.0
Here      An override that requires one of these arguments gets it as in 4.44.2: the warpers that ``generate`` has
          appended, without the processors before them; None for a streamer, and None for the warpers if nothing is
          drawn. If something else was put between or after the warpers, such as a watermark of 4.46.0, the error stays.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Iterable
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.names import overrides, parameters_adapted

FIX = Fix(
    title="TypeError: _sample() missing 1 required positional argument: 'logits_warper'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "TypeError: …_sample() missing 1 required positional argument: 'logits_warper'",
        "TypeError: …_sample() missing 2 required positional arguments: 'streamer' and 'logits_warper'",
        "TypeError: …_sample() missing 1 required positional argument: 'streamer'",
    ),
    exempt={"transformers.models.*": "a model of its own, whose `_sample` other code does not override"},
)

_REQUIRED = ("logits_warper", "streamer", "synced_gpus")
_PLACE = "transformers.generation.logits_process"


def _is_the_call(node: Any) -> bool:
    """Whether a statement calls ``_sample``, or since 4.57.1 the method of the mode."""
    call = getattr(node, "value", None)
    if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call):
        return False
    named = ast.unparse(call.func) in ("self._sample", "decoding_method")
    return named and any(pair.arg == "logits_processor" for pair in call.keywords)


def _adapted(node: ast.AST) -> Optional[list[ast.stmt]]:
    if not _is_the_call(node):
        return None
    statement: Any = copy.deepcopy(node)
    given = ast.Name("logits_processor", ast.Load())
    statement.value.func = ast.Call(ast.Name("with_all_arguments", ast.Load()), [statement.value.func, given], [])
    return [ast.ImportFrom(__name__, [ast.alias("with_all_arguments")], 0), statement]


FIX.edits(  # type: ignore[call-overload]
    ("transformers.generation.utils:GenerationMixin.generate", ">=4.45.0"),
    count=1,
    when=f"from {__name__} import is_older; is_older(self)",
)(_adapted)


@FIX.recognises
def calls_it(function: ast.AST) -> bool:
    """A function ``generate`` that calls ``_sample`` without warpers."""
    return getattr(function, "name", "") == "generate" and any(
        _is_the_call(node) and all(pair.arg != "logits_warper" for pair in node.value.keywords)  # type: ignore[attr-defined]
        for node in ast.walk(function)
    )


def is_older(model: Any) -> bool:
    """Whether the ``_sample`` of a model requires such an argument, and a TypeError would crash the program."""
    return bool(_missing(getattr(model, "_sample", None))) and overrides.would_end(TypeError)


def with_all_arguments(method: Callable[..., Any], given: Optional[Iterable[Any]]) -> Callable[..., Any]:
    """A function that calls a ``_sample`` with what it requires.

    Args:
        method: of the model or of its class.
        given: the processors that ``generate`` was called with.
    """
    return functools.partial(_called, method, tuple(given or ())) if _missing(method) else method


def _called(method: Callable[..., Any], given: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> Any:
    late: dict[str, Any] = {"streamer": None, "synced_gpus": False, "logits_warper": None}
    processors = kwargs["logits_processor"]
    if "logits_warper" in _missing(method) and kwargs["generation_config"].do_sample:
        split = _split(processors, given)
        if split is None:
            return method(*args, **kwargs)
        processors, late["logits_warper"] = split
    late = {name: value for name, value in late.items() if name in _missing(method) and name not in kwargs}
    changed = {**kwargs, **late, "logits_processor": processors}
    fits = parameters_adapted.binds(parameters_adapted._signature(method), args, changed)
    return method(*args, **(changed if fits else kwargs))


def _split(processors: Any, given: tuple[Any, ...]) -> Optional[tuple[Any, Any]]:
    """The processors and the warpers of 4.44.2, which normalized after both; None if they are mixed.

    Args:
        processors: a list in which `generate` has appended warpers, and `LogitNormalization` if it is asked for.
        given: those that `generate` was called with; no warper among them counts.
    """
    from transformers.generation.logits_process import LogitNormalization, LogitsProcessorList

    normalised = list(processors[-1:]) if processors and type(processors[-1]) is LogitNormalization else []
    if any(each is normalised[0] for each in given if normalised):
        normalised = []
    end = len(processors) - len(normalised)
    begin = end
    while begin and _is_a_warper(processors[begin - 1], given):
        begin -= 1
    if any(_is_a_warper(each, given) for each in processors[:begin]):
        return None
    first, last = (LogitsProcessorList([*part, *normalised]) for part in (processors[:begin], processors[begin:end]))
    return first, last


def _is_a_warper(processor: Any, given: tuple[Any, ...]) -> bool:
    """Whether `generate` made a processor of a kind that was a warper."""
    kind = type(processor)
    warps = kind.__module__ == _PLACE and kind.__name__.endswith("LogitsWarper")
    return warps and not any(processor is each for each in given)


def _missing(method: Any) -> tuple[str, ...]:
    """The arguments that a method outside of the library requires, and that `generate` may leave out."""
    if method is None or parameters_adapted.is_of_the_library(getattr(method, "__func__", method)):
        return ()
    try:
        parameters = parameters_adapted._signature(method).parameters
    except (TypeError, ValueError):  # without a signature
        return ()
    empty = inspect.Parameter.empty
    return tuple(
        name
        for name in _REQUIRED
        if name in parameters
        and parameters[name].default is empty
        and parameters[name].kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    )
