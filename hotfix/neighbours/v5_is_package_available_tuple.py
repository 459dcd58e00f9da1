"""``_is_package_available`` is always true: import guards of TRL and others are inverted.

Symptom   ``ModuleNotFoundError`` for ``weave``, ``vllm_ascend`` and others that are not installed, from guards
          such as ``if _is_package_available("weave")``.
Cause     It returns a pair since 5.3.0, also without ``return_version``; a pair is always true.
Releases  5.3.0 and later
Upstream  not changed back
Here      Off unless asked for by id. Then a pair that is false where the package is missing. It can be unpacked and
          indexed as the other one.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="_is_package_available returns (False, None) for a missing package, which is true",
    kind="silent",
    optin="upstream has not changed it back, and code for 5.x takes a pair",
    prefilter="def _is_package_available",
)


class Found(tuple[bool, Any]):
    """Whether there is a package, and its version: as true as the former."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self[0])


@FIX.recognises
def returns_pairs(node: ast.AST) -> bool:
    """Whether it returns a pair without a request for the version."""
    named = isinstance(node, ast.FunctionDef) and node.name == "_is_package_available"
    return named and "return (package_exists, None)" in ast.unparse(node)


@FIX.wraps(("transformers.utils.import_utils:_is_package_available", ">=5.3.0"))
def as_true_as_it_says(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a pair whose truth is that of its first part."""

    @wraps(original)
    def _is_package_available(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        return Found(answer) if isinstance(answer, tuple) else answer

    return _is_package_available
