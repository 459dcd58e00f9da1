"""The surroundings of a program in its process: names that it probes, files that a case writes, callers' objects."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import NotHere, Scene
from tools.deviations.values import text_of

_UNION = re.compile(r"Union\[([^\[\]]*)\]")


@deviation(bases=("",), strict=True)
def names_that_are_probed(scene: Scene) -> dict[str, Any]:
    """`dir()` of every module that the fix touches, what `hasattr` finds in its classes, and the signatures.

    The differences that ``docs/limits.md`` concedes are left out: members that `dir()` of a class lists and `hasattr`
    denies, and the globals of repaired functions.
    """
    results: dict[str, Any] = {}
    for place in scene.places:
        module_name, _, qualname = place.partition(":")
        try:
            module = import_module(module_name)
        except (ImportError, ValueError):
            continue
        scene.touch()
        results[module_name] = ", ".join(sorted(item for item in dir(module) if not item.startswith("_hotfix__")))
        for name, held in sorted(vars(module).items()):
            if isinstance(held, type) and held.__module__ == module_name:
                members = [
                    value for value in vars(held) if hasattr(held, value) and value != "__dir__"
                ]  # every class has it
                results[f"{module_name}:{name}"] = ", ".join(sorted(members))
        holder: Any = module
        for part in qualname.split("."):
            holder = getattr(holder, part, None)
        if callable(holder):
            results[f"{place} takes"] = _signature(holder)
        results[f"{place} is"] = f"{type(holder).__name__} {getattr(holder, '__module__', '')}"
    if not scene.touched:
        raise NotHere("the modules are not there before the case runs")
    return results


@deviation(bases=("",), strict=True)
def keys_that_are_probed(scene: Scene) -> dict[str, Any]:
    """`hasattr` and `getattr` with a default, for every name that the fix knows, on what programs probe."""
    results: dict[str, Any] = {}
    for kind, held in _probed(scene):
        scene.touch()
        for name in scene.keys:
            if not name.isidentifier():
                continue
            try:
                value = getattr(held, name, "nothing")
                results[f"{kind}.{name}"] = (
                    text_of(value) if isinstance(value, (str, int, type(None))) else type(value).__name__
                )
            except Exception as error:
                results[f"{kind}.{name}"] = f"raises {type(error).__name__}"
    return results


@deviation("models", "training", "processing", "loading", bases=("unaffected",))
def files_that_are_written(scene: Scene) -> dict[str, Any]:
    """The files that the case writes into temporary folders."""
    results: dict[str, Any] = {}
    original = tempfile.TemporaryDirectory.cleanup
    number = 0

    def cleanup(self: Any) -> None:
        nonlocal number
        number += 1
        results.update({f"folder {number}, {name}": value for name, value in files_in(self.name).items()})
        original(self)

    tempfile.TemporaryDirectory.cleanup = cleanup  # type: ignore[method-assign]
    scene.run()
    if not results:
        raise NotHere("the case writes no files")
    scene.touch()
    return results


@deviation("models", "training", "processing", "loading", "neighbours", bases=("unaffected",))
def state_of_the_process(scene: Scene) -> dict[str, Any]:
    """The state of the process afterwards: random numbers, default dtype, safe globals, environment, registries."""
    import torch

    scene.touch()
    try:
        scene.run()
        results: dict[str, Any] = {"error": ""}
    except Exception as error:
        results = {"error": type(error).__name__}
    return {**results, **state(), "torch's numbers": torch.get_rng_state()}


OF_THE_TABLE = ("HOTFIX", "CASE_", "MALLOC_PERTURB_")
"""Beginnings of the variables that the table sets for some of its runs."""


def _at_start() -> set[str]:
    """The names of the variables that the process was started with: shells differ."""
    lines = Path("/proc/self/environ").read_bytes().split(b"\0")
    return {os.fsdecode(line.partition(b"=")[0]) for line in lines if line}


def state() -> dict[str, str]:
    """The state of the process that a program can see, besides its results."""
    import random

    import torch

    changed = sorted({*os.environ} ^ _at_start())
    results = {
        "random": hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:12],
        "dtype": str(torch.get_default_dtype()),
        "gradients": str(torch.is_grad_enabled()),
        "environment": ", ".join(name for name in changed if not name.startswith(OF_THE_TABLE)),
    }
    safe = getattr(torch.serialization, "get_safe_globals", None)
    if safe is not None:
        results["safe globals"] = ", ".join(sorted(map(text_of, safe())))
    attention = getattr(sys.modules.get("transformers.modeling_utils"), "ALL_ATTENTION_FUNCTIONS", None)
    if attention is not None:
        results["attention"] = ", ".join(sorted(attention))
    return results


def files_in(folder: str) -> dict[str, Any]:
    """The files of a folder: JSON sorted, weights as tensors, other files as their size."""
    results: dict[str, Any] = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            try:
                results[name] = text_of(json.dumps(json.loads(path.read_text()), sort_keys=True))
            except ValueError:
                results[name] = "no JSON"
        elif path.suffix == ".safetensors":
            from safetensors.torch import load_file

            results.update({f"{name}: {key}": value for key, value in load_file(path).items()})
        elif path.is_file():
            results[name] = "a file"
    return results


def _signature(value: Any) -> str:
    """The signature as text. The members of a union are sorted: typing keeps the order of whichever came first."""
    try:
        return text_of(_UNION.sub(_sorted_members, str(inspect.signature(value))))
    except (TypeError, ValueError):
        return "no signature"


def _sorted_members(match: re.Match[str]) -> str:
    return f"Union[{', '.join(sorted(match[1].split(', ')))}]"


def _probed(scene: Scene) -> Iterator[tuple[str, Any]]:
    import transformers

    for place in dict.fromkeys(name.partition(":")[0] for name in scene.places):
        try:
            yield place, import_module(place)
        except (ImportError, ValueError):
            continue
    for name in ("Trainer", "TrainingArguments", "PretrainedConfig", "PreTrainedModel", "PreTrainedTokenizerFast"):
        try:
            yield name, getattr(transformers, name)
        except (ImportError, AttributeError, RuntimeError):
            continue
    makers: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("a configuration", lambda: transformers.LlamaConfig()),
        ("a composed configuration", lambda: transformers.LlavaConfig()),
        ("generation settings", lambda: transformers.GenerationConfig()),
        ("a cache", lambda: transformers.DynamicCache()),
    )
    for name, make in makers:
        try:
            yield name, make()
        except Exception:
            continue
    for place in scene.places:
        module, _, qualname = place.partition(":")
        owner = getattr(sys.modules.get(module), qualname.partition(".")[0], None)
        if isinstance(owner, type):
            yield qualname.partition(".")[0], owner
        elif isinstance(owner, types.FunctionType):
            yield qualname, owner
