"""`StaticCache` takes other arguments by position than before.

Symptom   ``TypeError: StaticCache.__init__() takes from 3 to 5 positional arguments but 6 were given`` from
          ``StaticCache(model.config, 1, 1024, "cuda", torch.float16)``, as the documentation of 4.38 to 4.45 calls it;
          with fewer arguments, silently, a cache whose length is the size of the batch.
Cause     The size of the batch in the second place, the device and the dtype are no arguments any more.
Releases  4.56.0 and later
Upstream  by design (not put back)
Here      A whole number greater than 1 in the third place, where a bool stands today, is the length, as in 4.55.4; the
          arguments around it are ignored: the cache learns them from the first states.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: StaticCache.__init__() takes from 3 to 5 positional arguments but 6 were given",
    kind="removed-api",
    group="removed-names",
    errors=("TypeError: StaticCache.__init__() takes from 3 to 5 positional arguments but … were given",),
    everyone="only for a number greater than 1 where the release has a bool: the new code tests it",
)


@FIX.wraps(("transformers.cache_utils:StaticCache.__init__", ">=4.56.0"))
def by_either_order(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the constructor."""

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > 2 and type(args[2]) is int and args[2] > 1:
            args = (args[0], args[2])
        original(self, *args, **kwargs)

    return made


@FIX.recognises
def takes_a_length_second(function: ast.AST) -> bool:
    """The constructor with a length and a bool behind the configuration."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = [argument.arg for argument in function.args.args]
    return names[1:4] == ["config", "max_cache_len", "offloading"]
