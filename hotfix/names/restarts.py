"""Helpers of the fixes that start ``generate()`` again after a step of older remote code has failed."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Callable

LIBRARY = "transformers.generation.utils"
_OF_THE_CALLER = ("logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Rest:
    """A streamer that leaves out what a run before has put.

    Args:
        streamer: the streamer of the caller.
        number: the number of values that it has got.
    """

    def __init__(self, streamer: Any, number: int) -> None:
        self.streamer = streamer
        self.number = number

    def put(self, value: Any) -> None:
        """Pass a value on, unless the run before has put it."""
        if self.number:
            self.number -= 1
        else:
            self.streamer.put(value)

    def end(self) -> None:
        """Pass it on."""
        self.streamer.end()


def may_run_twice(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_first_step: bool = False) -> bool:
    """Whether a run calls no code of the program but the model's, and leaves its arguments as they are.

    Args:
        model: the model.
        args: the arguments of `generate` by position. The third one may be a processor.
        kwargs: those by name.
        in_first_step: whether the run ended in the first call of the model, before any processor or criterion.
    """
    has_run = not in_first_step and (len(args) > 2 or any(kwargs.get(name) is not None for name in _OF_THE_CALLER))
    if has_run or kwargs.get("encoder_outputs") is not None:
        return False
    of_all = vars(sys.modules["torch.nn.modules.module"])
    if any(of_all.get(f"_global{name}") for name in _HOOKS):
        return False
    modules = model.modules() if hasattr(model, "modules") else ()
    return not any(getattr(module, name, None) for module in modules for name in _HOOKS)


def is_of_the_model(model: Any, error: BaseException, *methods: str) -> bool:
    """Whether an error of `generate` comes from the model itself: its forward pass, or methods of its class.

    Args:
        model: the model.
        error: the error.
        *methods: names of methods that `generate` calls.
    """
    functions = (getattr(type(model), name, None) for name in methods)
    codes = {getattr(inspect.unwrap(each), "__code__", None) for each in functions if each is not None}
    called: Any = None  # the frame that the library has called last
    is_called = False
    traceback = error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        module = str(frame.f_globals.get("__name__"))
        if module == LIBRARY:
            called, is_called = None, True
        elif is_called and called is None and (not module.startswith("hotfix.") or module.startswith("hotfix.proofs.")):
            called = frame
    if called is None:
        return False
    is_forward = called.f_globals.get("__name__") == "torch.nn.modules.module"
    return called.f_code in codes or (is_forward and called.f_locals.get("self") is model)


# ---------------------------------------------------------------------------------------------------------------------
# A model whose methods differ for one thread.


class _Switch:
    """What is changed in a model while some thread generates with it.

    Attributes:
        originals: its methods by name.
        before: those that it had itself, and not from its class.
        stacks: for each thread, the methods of its runs.
        runs: the number of runs.
    """

    def __init__(self) -> None:
        self.originals: dict[str, Callable[..., Any]] = {}
        self.before: dict[str, Any] = {}
        self.stacks: dict[int, list[dict[str, Callable[..., Any]]]] = {}
        self.runs = 0

    def change(self, model: Any, name: str) -> None:
        """Put a method into a model that asks the thread which one to call."""
        if name in self.originals:
            return
        original = self.originals[name] = getattr(model, name)
        if name in vars(model):
            self.before[name] = vars(model)[name]

        @wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            return _current(self.stacks.get(threading.get_ident(), []), name, original)(*args, **kwargs)

        called._hotfix_switch = True  # type: ignore[attr-defined]
        setattr(model, name, called)

    def restore(self, model: Any) -> None:
        """Put back what the model had."""
        for name in self.originals:
            delattr(model, name)
            if name in self.before:
                setattr(model, name, self.before[name])


_switches: dict[int, _Switch] = {}  # by the id of the model, as long as it generates
_changing = threading.Lock()


@contextmanager
def changed(model: Any, **makers: Callable[[Any], Callable[..., Any]]) -> Iterator[None]:
    """A model with other methods, for this thread alone.

    Args:
        model: the model.
        **makers: by the name of the method, a function that gets the model's own method and returns the other one.
    """
    with _changing:
        switch = _switches.setdefault(id(model), _Switch())
        switch.runs += 1
        for name in makers:
            switch.change(model, name)
        stack = switch.stacks.setdefault(threading.get_ident(), [])
    stack.append({name: make(_current(stack, name, switch.originals[name])) for name, make in makers.items()})
    try:
        yield
    finally:
        stack.pop()
        with _changing:
            switch.runs -= 1
            if not switch.runs:
                switch.restore(model)
                del _switches[id(model)]


def _current(stack: list[dict[str, Callable[..., Any]]], name: str, otherwise: Callable[..., Any]) -> Any:
    """The method that a thread calls at this moment."""
    return next((methods[name] for methods in reversed(stack) if name in methods), otherwise)


def is_changed(model: Any, name: str) -> bool:
    """Whether a model has a method of its own, or a changed one in this thread."""
    own = vars(model).get(name)
    if own is None:
        return False
    if not getattr(own, "_hotfix_switch", False):
        return True
    switch = _switches.get(id(model))
    return switch is not None and any(name in methods for methods in switch.stacks.get(threading.get_ident(), ()))
