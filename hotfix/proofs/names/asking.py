"""Shared by the cases of names: look a name up as remote code does, and turn words into tensors."""

from typing import Any

import torch

from hotfix.fix import Target


def ask(target: Target) -> Any:
    """Import the object of a target; for a member, its class."""
    name = target.qualname.split(".")[0].split("[")[0]
    namespace: dict[str, Any] = {}
    exec(f"from {target.module} import {name}", namespace)
    return namespace[name]


def listed(target: Target) -> torch.Tensor:
    """Whether the module of a target lists it."""
    from importlib import import_module

    return torch.tensor(target.qualname in dir(import_module(target.module)))


def words(*texts: str) -> torch.Tensor:
    """Texts as a tensor."""
    return torch.tensor(list("\n".join(texts).encode()))


def same_when_pickled(thing: Any) -> torch.Tensor:
    """Whether what is pickled and read back is the same object."""
    import pickle

    return torch.tensor(pickle.loads(pickle.dumps(thing)) is thing)


def remote(text: str) -> dict[str, Any]:
    """The names that a file of remote code defines.

    Args:
        text: the file.
    """
    namespace: dict[str, Any] = {"__name__": "transformers_modules.tiny.modeling_tiny"}
    exec(text, namespace)
    return namespace
