"""``generate()`` needs a configuration that has ``num_hidden_layers``.

Symptom   ``AttributeError: 'ChatGLMConfig' object has no attribute 'num_hidden_layers'`` from ``generate()`` and
          ``DynamicCache(config=…)``, of ChatGLM2, ChatGLM3, GLM-4's own code, and other models whose configuration
          calls it ``num_layers``.
Cause     The cache makes its layers from the configuration, which it did not see before.
Releases  4.56.0 and later
Upstream  by design (not put back)
Here      After the error, the cache is made without the configuration, as up to 4.55.4: it makes a layer for each that
          it is given.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'ChatGLMConfig' object has no attribute 'num_hidden_layers', in generate()",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: '…Config' object has no attribute 'num_hidden_layers'",),
    on_error=("AttributeError: '…' object has no attribute 'num_hidden_layers'…",),
)


@FIX.wraps(("transformers.cache_utils:DynamicCache.__init__", ">=4.56.0"))
def without_the_configuration(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the constructor; `config` is its second argument."""

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("config", None)
        original(self, *args[:1], *(None for _ in args[1:2]), *args[2:], **kwargs)

    return made


@FIX.recognises
def asks_the_configuration(function: ast.AST) -> bool:
    """The constructor with a configuration."""
    if not isinstance(function, ast.FunctionDef):
        return False
    return [argument.arg for argument in function.args.args][1:3] == ["ddp_cache_data", "config"]
