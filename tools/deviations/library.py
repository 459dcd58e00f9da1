"""All deviations: importing this module declares them."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect

from tools.deviations import attention, calls, classes, instances, reading, surroundings, training
from tools.deviations.registry import DEVIATIONS, Deviation

__all__ = ["DEVIATIONS", "Deviation", "digest_of"]

TOPICS = (classes, instances, calls, attention, training, reading, surroundings)


@functools.cache
def digest_of(deviation: Deviation) -> str:
    """The short digest of a deviation's source and of the helpers that it reaches in its module."""
    module = inspect.getmodule(deviation.function)
    held = vars(module)
    reached: dict[str, str] = {}
    waiting = [deviation.function.__name__]
    while waiting:
        name = waiting.pop()
        value = held.get(name)
        if name in reached or not inspect.isfunction(value) or value.__module__ != deviation.function.__module__:
            continue
        reached[name] = inspect.getsource(value)
        waiting += [node.id for node in ast.walk(ast.parse(reached[name])) if isinstance(node, ast.Name)]
    return hashlib.sha256("\n".join(reached[name] for name in sorted(reached)).encode()).hexdigest()[:8]
