"""What a program calls: `apply`, `revert`, `report`, `digest`."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Optional

from . import ledger, policy, registry, surgery, watch
from .errors import PolicyError

if TYPE_CHECKING:
    from .reporting import Report


class Handle:
    """What one call of `apply` has switched on; a context manager that switches it off again.

    Attributes:
        fixes: ids of the fixes that this call has added to those that were on before.
    """

    def __init__(self, fixes: Iterable[str]) -> None:
        self.fixes = tuple(fixes)

    def revert(self) -> None:
        """Take out what this call has added. A second call does nothing."""
        ids, self.fixes = self.fixes, ()
        _take_out(set(ids))

    def __enter__(self) -> Handle:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self.revert()

    def __repr__(self) -> str:
        return f"<hotfix.Handle: {', '.join(self.fixes) or 'nothing'}>"


def apply(only: Iterable[str] = (), skip: Iterable[str] = ()) -> Handle:
    """Arm hotfix, as ``import hotfix.auto`` does, from inside of a program.

    Modules that are loaded already are repaired now and called late; those that come, when they are imported. The
    environment's switches hold; the arguments come on top of them.

    Args:
        only: ids of fixes, or patterns; empty means what the environment allows.
        skip: ids of fixes, or patterns, to leave out.

    Returns:
        A handle with ``revert()``, which is also a context manager.

    Raises:
        PolicyError: an argument or a switch names a fix that does not exist, or cannot be read.

    Example:
        >>> import hotfix
        >>> with hotfix.apply(only=["flash-rotary-dtype"]) as handle:
        ...     handle.fixes
        ('flash-rotary-dtype',)
    """
    for argument, values in {"only": only, "skip": skip}.items():
        if isinstance(values, str):
            raise PolicyError(f"{argument}={values!r}: this must be a list of fix ids, not one string")
    switches = policy.narrowed(policy.Policy.from_environment(watch.environment()), only, skip)
    arguments = policy.Policy(only=tuple(only), skip=tuple(skip))
    for sentence in arguments.unmatched(registry.shelf(), ()):
        raise PolicyError(sentence.replace("HOTFIX_ONLY", "only").replace("HOTFIX_SKIP", "skip"))
    if not switches.enabled:
        return Handle(())
    added = registry.begin(switches)
    registry.started(True)
    watch.arm()
    watch.look_again()
    return Handle(added)


def revert() -> None:
    """Take hotfix out of this process: every function is what it was, and nothing is watched any more."""
    _take_out(None)


def report() -> Report:
    """What hotfix has done in this process, and what it would do with what is not imported yet."""
    from .reporting import of_process

    return of_process()


def digest() -> str:
    """A short name of the patch set of this process: 12 hexadecimal digits.

    It is equal in two processes, on any machine and Python version, exactly if the same fixes are in force on the same
    source, whatever has been imported so far.
    """
    return report().digest


def _take_out(ids: Optional[set[str]]) -> None:
    surgery.take_out(ids)
    for id in registry.selected() if ids is None else ids:
        ledger.strike(id)
    registry.withdraw(ids)
    registry.account()
    if not registry.selected():
        registry.started(False)
        watch.disarm()
