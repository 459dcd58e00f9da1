"""``LogitsWarper`` is gone.

Symptom   ``ImportError: cannot import name 'LogitsWarper' from 'transformers'`` (or from ``transformers.generation``),
          from code that changes the logits of generation.
Cause     Deprecated in 4.46; a class of that kind inherits from ``LogitsProcessor``, which is called in the same way.
Releases  4.49.0 and later
Upstream  not put back
Here      The abstract class that it was: its warning, once, and its refusal to be called itself.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'LogitsWarper' from 'transformers'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds(
    ("transformers.generation.logits_process:LogitsWarper", ">=4.49.0"),
    exported_by=("transformers.generation", "transformers"),
)
class LogitsWarper:
    """Changes logits before a token is drawn: abstract."""

    def __init__(self) -> None:
        from importlib import import_module

        import_module("transformers.utils.logging").get_logger("transformers.generation.logits_process").warning_once(
            "`LogitsWarper` is gone from this release and given back by hotfix: inherit `LogitsProcessor` instead, "
            "which has the same properties and interface."
        )

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Refuse: a class that inherits from it says what is done."""
        raise NotImplementedError(
            f"{self.__class__} is an abstract class. Only classes inheriting this class can be called."
        )
