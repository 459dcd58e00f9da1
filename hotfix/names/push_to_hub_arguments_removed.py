"""``push_to_hub`` has lost arguments that scripts have used for years.

Symptom   ``TypeError: PushToHubMixin.push_to_hub() got an unexpected keyword argument 'safe_serialization'``; the same
          of ``use_temp_dir`` and ``use_auth_token``.
Cause     They were removed: weights are always saved as safetensors, and always in a temporary folder.
Releases  5.0.0 and later
Upstream  LlamaFactory#10207, removed by design (not put back)
Here      After the TypeError, the call is repeated with ``token``, and without the others. ``safe_serialization=False``
          raises as before, since the release cannot write such files. With ``use_temp_dir=False`` the same files are
          uploaded, but none stay in a folder of the repository's name.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: PushToHubMixin.push_to_hub() got an unexpected keyword argument 'safe_serialization'",
    kind="removed-api",
    upstream=("LlamaFactory#10207",),
    group="removed-names",
    errors=tuple(
        f"TypeError: …push_to_hub() got an unexpected keyword argument '{name}'"
        for name in ("safe_serialization", "use_auth_token", "use_temp_dir")
    ),
    on_error=True,
    exempt={
        f"transformers.{place}:Tool.push_to_hub": "a tool has never had these arguments"
        for place in ("agents.tools", "tools.base")
    },
)


@FIX.wraps(("transformers.utils.hub:PushToHubMixin.push_to_hub", ">=5.0.0"))
def in_words_of_4(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call that gives arguments of 4.57."""

    @wraps(original)
    def push_to_hub(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(kwargs)
        token = given.pop("use_auth_token", None)
        contradicts = token is not None and given.get("token") is not None
        if contradicts or not given.pop("safe_serialization", True):
            return original(self, *args, **kwargs)
        given.pop("use_temp_dir", None)
        if token is not None:
            given["token"] = token
        return original(self, *args, **given)

    return push_to_hub


@FIX.recognises
def takes_none_of_them(function: ast.AST) -> bool:
    """Whether the function takes neither these arguments nor any others."""
    if not isinstance(function, ast.FunctionDef) or function.name != "push_to_hub" or function.args.kwarg is not None:
        return False
    return "safe_serialization" not in [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
