"""A configuration class that annotates an attribute whose default is a dictionary or a list cannot be defined.

Symptom   ``ValueError: mutable default <class 'dict'> for field params is not allowed: use default_factory`` while the
          code of Janus, DeepSeek-VL or another project defines a configuration.
Cause     Every configuration becomes a dataclass, and every annotated attribute a field of it. A field must not have
          such a default.
Releases  5.4.0 and later
Upstream  not put back
Here      In a class that cannot be defined otherwise, such an attribute is no field but stays what it was in 5.3.0: an
          attribute of the class, which is set if it is given. A class that inherits a constructor of the project is
          left alone: the release does not call it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: mutable default <class 'dict'> for field params is not allowed: use default_factory",
    kind="loading",
    upstream=("tt-xla#5038",),
    errors=("ValueError: mutable default <class 'dict'> for field params is not allowed: use default_factory",),
    on_error=("ValueError: mutable default …for field … is not allowed: use default_factory",),
    prefilter="__init_subclass__",
)

FIX.edits(
    ("transformers.configuration_utils:PreTrainedConfig.__init_subclass__", ">=5.4.0"),
    old=["cls = dataclass(cls, repr=False)", "cls = dataclass(cls, repr=False, kw_only=True)"],
    new=[
        f"""
        from {__name__} import without_mutable_fields
        with without_mutable_fields(cls):
            cls = dataclass(cls, repr=False{more})
        """
        for more in ("", ", kw_only=True")
    ],
    alternatives=True,
)


@contextmanager
def without_mutable_fields(cls: Any) -> Iterator[None]:
    """In here, attributes with such a default are annotated as attributes of the class.

    Args:
        cls: the configuration class.
    """
    if _would_lose_its_constructor(cls):
        yield
        return
    # From Python 3.14 on, reading them makes the dictionary that the dataclass reads as well.
    annotations = cls.__annotations__ if sys.version_info >= (3, 14) else vars(cls).get("__annotations__", {})
    kept = {name: kind for name, kind in annotations.items() if _is_mutable(vars(cls).get(name))}
    annotations.update(dict.fromkeys(kept, ClassVar))
    try:
        yield
    finally:
        annotations.update(kept)


def _would_lose_its_constructor(cls: Any) -> bool:
    """Whether the dataclass gets a generated constructor in place of one that a base class has written."""
    written = getattr(inspect.unwrap(cls.__init__), "__code__", None)
    return "__init__" not in vars(cls) and written is not None and written.co_filename != "<string>"


def _is_mutable(default: Any) -> bool:
    """Whether a dataclass refuses a default."""
    return type(default).__hash__ is None
