"""Modules called `basic_var`, written into a folder: our own block in each state that VAR's file has been in.

The block is `hotfix/proofs/models/_cases/basic_var.py`, which is in the first state; the others differ in its attention
calls as the revisions of VAR do.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from hotfix.proofs.models import _cases

BLOCK = Path(_cases.__file__).with_name("basic_var.py")

_FLASH = {"flash_attn_func(q, k, v,": "flash_attn_func(q.to(dtype), k.to(dtype), v.to(dtype),"}
_XFORMERS = {"memory_efficient_attention(q, k, v,": "memory_efficient_attention(q.to(dtype), k.to(dtype), v.to(dtype),"}
_BIAS = {"attn_bias.to(q.dtype)": "attn_bias.to(dtype)"}

STATES: dict[str, dict[str, str]] = {
    "nothing cast": {},  # 75ba1e2, a9ca763, eb9956d, ff9f756
    "flash cast": _FLASH,  # 74138aa
    "bias wrong": {**_FLASH, **_XFORMERS},  # bd84ce5
    "fixed": {**_FLASH, **_XFORMERS, **_BIAS},  # 2236c79
}


def text(state: str) -> str:
    """The block's source in one of the `STATES`."""
    source = BLOCK.read_text()
    for old, new in STATES[state].items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def write(folder: Path, package: str, source: str) -> None:
    """Write the module `package.basic_var` under `folder`."""
    inside = folder.joinpath(*package.split("."))
    inside.mkdir(parents=True, exist_ok=True)
    (inside / "__init__.py").touch()
    (inside / "basic_var.py").write_text(source)


def load(folder: Path, package: str, source: str) -> ModuleType:
    """Write `package.basic_var` under `folder`, which is on `sys.path`, and import it anew."""
    write(folder, package, source)
    importlib.invalidate_caches()
    for name in (package, f"{package}.basic_var"):
        sys.modules.pop(name, None)
    return importlib.import_module(f"{package}.basic_var")
