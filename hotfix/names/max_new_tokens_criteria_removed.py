"""``MaxNewTokensCriteria`` is gone.

Symptom   ``ImportError: cannot import name 'MaxNewTokensCriteria' from 'transformers.generation.stopping_criteria'``,
          or an AttributeError, from optimum-habana and other code that stops a generation by itself.
Cause     Deprecated in 4.41; ``MaxLengthCriteria`` with the sum of the two lengths does the same.
Releases  4.45.0 and later
Upstream  optimum-habana#1372 (not put back)
Here      A ``MaxLengthCriteria`` of the sum, with the attributes of the old class and without its warning.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'MaxNewTokensCriteria' from 'transformers.generation.stopping_criteria'",
    kind="removed-api",
    group="removed-names",
    upstream=("optimum-habana#1372",),
)


@FIX.adds_made(("transformers.generation.stopping_criteria:MaxNewTokensCriteria", ">=4.45.0"))
def made(module: Any) -> Any:
    """The class, derived from the release's own."""

    class MaxNewTokensCriteria(module.MaxLengthCriteria):  # type: ignore[misc]
        """Stops a generation after a number of new tokens.

        Args:
            start_length: number of tokens that it begins with.
            max_new_tokens: the largest number of tokens that it adds.
        """

        def __init__(self, start_length: int, max_new_tokens: int) -> None:
            super().__init__(max_length=start_length + max_new_tokens)
            self.start_length = start_length
            self.max_new_tokens = max_new_tokens

    MaxNewTokensCriteria.__module__ = module.__name__
    MaxNewTokensCriteria.__qualname__ = MaxNewTokensCriteria.__name__
    return MaxNewTokensCriteria
