"""Builds a model once more, for the tensors that its constructor computes: quietly, and almost without memory."""

from __future__ import annotations

import builtins
import logging
import random
import sys
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Kind = tuple[type, str, tuple[int, ...]]
"""The class of a module, the name of a parameter in it, and the shape."""


@contextmanager
def built_again(dtype: Any, wanted: Collection[Kind] = ()) -> Iterator[None]:
    """A model that this thread builds in here has buffers with values, and parameters on the meta device.

    The library initializes nothing, nothing is printed, logged or warned of, and the random state of the program stays.

    Args:
        dtype: the default dtype.
        wanted: the parameters that have values.
    """
    import torch

    before = torch.get_default_dtype()
    with _changing:
        if not _builders:
            _replace()
        _builders.append(threading.get_ident())
    _building.depth += 1
    outer, _building.wanted = _building.wanted, wanted
    if dtype != before:
        torch.set_default_dtype(dtype)
    try:
        with _random_numbers_kept():
            yield
    finally:
        if torch.get_default_dtype() != before:  # a constructor may set it, too
            torch.set_default_dtype(before)
        _building.depth -= 1
        _building.wanted = outer
        with _changing:
            _builders.remove(threading.get_ident())
            if not _builders:
                _put_back()


class _Building(threading.local):
    """The state of this thread: how many models it builds, and the parameters that get values."""

    depth = 0
    wanted: Collection[Kind] = ()


_building = _Building()
_builders: list[int] = []  # a thread for each such model
_changing = threading.Lock()
_replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, the function before, and ours


def _replace() -> None:
    """Replace what registers a parameter, initializes, prints and logs by functions that differ for builders alone."""
    import torch

    module: Any = torch.nn.Module
    model: Any = import_module("transformers.modeling_utils").PreTrainedModel
    registers, initializes = module.register_parameter, model.init_weights
    prints, handles, warns = builtins.print, logging.Logger.handle, warnings.warn

    def register_parameter(self: Any, name: str, parameter: Any) -> None:
        registers(self, name, parameter)
        if parameter is None or parameter.is_meta or not _building.depth:
            return
        if (type(self), name, tuple(parameter.shape)) not in _building.wanted:
            self._parameters[name] = torch.nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)

    def init_weights(self: Any) -> None:
        if not _building.depth:
            initializes(self)

    def print(*values: Any, **settings: Any) -> None:
        if not _building.depth:
            prints(*values, **settings)

    def handle(self: Any, record: Any) -> None:
        if not _building.depth:
            handles(self, record)

    def warn(message: Any, category: Any = None, stacklevel: int = 1, *given: Any, **settings: Any) -> None:
        if not _building.depth:
            warns(message, category, stacklevel + 1, *given, **settings)

    _replaced[:] = (
        (module, "register_parameter", registers, register_parameter),
        (model, "init_weights", initializes, init_weights),
        (builtins, "print", prints, print),
        (logging.Logger, "handle", handles, handle),
        (warnings, "warn", warns, warn),
    )
    for owner, name, _, ours in _replaced:
        setattr(owner, name, ours)


def _put_back() -> None:
    for owner, name, before, ours in _replaced:
        if vars(owner).get(name) is ours:  # otherwise somebody else has replaced ours, which does nothing from now on
            setattr(owner, name, before)
    _replaced.clear()


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    """Restore the random state of the program at the end; in here, other numbers are drawn than the program's next."""
    import torch

    numpy: Any = sys.modules.get("numpy")
    states = random.getstate(), numpy and numpy.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=devices):
            seed = int(torch.randint(2**62, (), device="cpu"))
            torch.default_generator.manual_seed(seed)
            yield
    finally:
        random.setstate(states[0])
        if numpy:
            numpy.random.set_state(states[1])
