"""A model type that transformers has by now cannot be registered.

Symptom   ``ValueError: 'aimv2' is already used by a Transformers config, pick another name.`` while vLLM before 0.10 is
          imported; the same from research code that ships a model which the library added later. ``ValueError:
          '<class ...>' is already used by a Transformers model.`` where its configuration has the same name, too.
Cause     `register` rejects a type or class name that the library already has, unless the caller passes
          ``exist_ok=True``.
Releases  all, for the types and names that each has: 4.36.0 and later
Upstream  vllm-ascend#2046, GLM-V#84, vllm#22178 and about ten more; vLLM has passed ``exist_ok=True`` since 0.10.0
Here      A class that was not defined in transformers takes precedence, as with ``exist_ok=True``, and
          hotfix logs it once. A type that other code has registered before is refused as before. Off by default: a
          program may register in a ``try`` and go on with the library's class.
"""

from __future__ import annotations

import ast
import logging
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: 'aimv2' is already used by a Transformers config, pick another name",
    kind="removed-api",
    upstream=("vllm-ascend#2046", "GLM-V#84", "vllm#22178"),
    optin="it changes which class AutoConfig and AutoModel take for a type that the release knows",
    group="removed-names",
    errors=(
        "ValueError: '…' is already used by a Transformers config, pick another name.",
        "ValueError: '<class …>' is already used by a Transformers model.",
    ),
    prefilter="is already used by a Transformers",
)

_log = logging.getLogger("hotfix")


@FIX.wraps(("transformers.models.auto.configuration_auto:_LazyConfigMapping.register", ">=4.36.0"))
@FIX.wraps(("transformers.models.auto.auto_factory:_LazyAutoMapping.register", ">=4.36.0"))
def by_who_brings_it(original: Callable[..., None]) -> Callable[..., None]:
    """The registered class takes precedence."""

    @wraps(original)
    def register(self: Any, key: Any, value: Any, exist_ok: bool = False) -> None:
        brought = value if isinstance(key, str) else key
        mine = not str(getattr(brought, "__module__", "transformers.")).startswith("transformers.")
        # `_extra_content` holds the types that other code has registered, not the library's own.
        if not exist_ok and mine and key not in self._extra_content and _is_known(self, key):
            _log.info("%s: %s is registered for %s from now on", FIX.id, value, key)
            exist_ok = True
        original(self, key, value, exist_ok=exist_ok)

    return register


def _is_known(mapping: Any, key: Any) -> bool:
    """Whether the library has a type, or a model for a configuration of that name."""
    if isinstance(key, str):
        return key in getattr(mapping, "_mapping", ())
    return getattr(key, "__name__", None) in getattr(mapping, "_reverse_config_mapping", ())


@FIX.recognises
def refuses_what_is_known(function: ast.AST) -> bool:
    """It raises for what the library has."""
    if not isinstance(function, ast.FunctionDef) or function.name != "register":
        return False
    return "is already used by a Transformers" in ast.unparse(function)
