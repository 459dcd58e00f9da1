"""``optim="adamw_hf"`` is gone from the training arguments.

Symptom   ``ValueError: adamw_hf is not a valid OptimizerNames, please select one of ['adamw_torch', …]``.
Cause     The optimizer was removed with transformers' own AdamW.
Releases  4.50.0 and later
Upstream  transformers#36954 (not put back)
Here      The Trainer gets the AdamW of ``adamw-removed``, which computes what that of 4.49.0 did. ``args.optim`` is
          ``adamw_torch``, since the release has no other word. Dataclasses that inherit from `TrainingArguments` as
          well. A program that handles the ValueError gets it.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

from . import adamw_removed

FIX = Fix(
    title="ValueError: adamw_hf is not a valid OptimizerNames",
    kind="removed-api",
    upstream=("transformers#36954",),
    group="removed-names",
    everyone="only for arguments that the release would refuse",
    errors=("ValueError: adamw_hf is not a valid OptimizerNames, please select one of …",),
)

_ARGUMENTS = "transformers.training_args:TrainingArguments"
_CHOICE = "transformers.trainer:Trainer.get_optimizer_cls_and_kwargs"
_OLD = "adamw_hf"
_MARK = "_optim_before_hotfix"


_wrapped: list[Any] = []
"""The function of the Trainer, once it is wrapped."""


@FIX.wraps((f"{_ARGUMENTS}.__post_init__", ">=4.50.0"), fingerprint_of=("OptimizerNames",))
def with_a_word_of_the_release(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around what checks the arguments."""

    def __post_init__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - its name
        is_gone = self.optim == _OLD and _is_refused() and _reaches_the_trainer()
        if is_gone and not scope.is_handled(FIX.id, ValueError, sys._getframe(1)):
            self.optim = "adamw_torch"
            self.__dict__[_MARK] = _OLD
        return original(self, *args, **kwargs)

    return __post_init__


@FIX.wraps((_CHOICE, ">=4.50.0"), fingerprint_of=("transformers.training_args:OptimizerNames",))
def of_old(original: Callable[..., Any]) -> Callable[..., Any]:
    """The class of the optimizer, and its arguments."""
    _wrapped.append(original)

    def get_optimizer_cls_and_kwargs(args: Any, *rest: Any, **kwargs: Any) -> Any:
        chosen, words = original(args, *rest, **kwargs)
        if vars(args).get(_MARK) != _OLD or args.optim != "adamw_torch":
            return chosen, words
        return _adamw(), {name: words[name] for name in ("lr", "betas", "eps")}

    return get_optimizer_cls_and_kwargs


@FIX.recognises
def is_broken(names: ast.AST) -> bool:
    """Whether the list of optimizers lacks it."""
    if not isinstance(names, ast.ClassDef) or names.name != "OptimizerNames":
        return False
    return not any(isinstance(node, ast.Constant) and node.value == _OLD for node in ast.walk(names))


def _is_refused() -> bool:
    """Whether the word is gone here: a program may have put it back."""
    from transformers.training_args import OptimizerNames

    try:
        OptimizerNames(_OLD)
    except ValueError:
        return True
    return False


def _reaches_the_trainer() -> bool:
    """Whether the Trainer will ask for the optimizer here: it does already, or it has yet to be imported."""
    return bool(_wrapped) or "transformers.trainer" not in sys.modules


@cache
def _adamw() -> Any:
    return adamw_removed.adamw(None)
