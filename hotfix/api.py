"""What a program calls: `apply`, `revert`, `report`, `digest`, `assert_uniform`."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Optional

from . import session, watch
from ._support.locks import Lock
from .engine.policy import Policy
from .engine.selection import Request
from .errors import PolicyError

if TYPE_CHECKING:
    import torch.distributed

    from .reports.report import Report


# Whoever asks arms the watcher, whoever is the last one to ask takes it away.
_arming = Lock()


class Handle:
    """What one call of `apply` has switched on; a context manager that switches it off again.

    Attributes:
        fixes: ids of the fixes that this call has added to those that were on before.
    """

    def __init__(self, request: Optional[Request] = None) -> None:
        self.fixes = request.added if request else ()
        self._request = request

    def revert(self) -> None:
        """Take out what this call has switched on, less what others have asked for as well.

        A second call does nothing.
        """
        request, self._request, self.fixes = self._request, None, ()
        if request is None:
            return
        here = session.current()
        here.release(request)
        with _arming:
            if here.selection.is_empty and not watch.is_automatic():
                watch.disarm()

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
    environment = watch.environment()
    if not Policy.from_environment(environment).enabled:
        return Handle()
    session.current(environment).catalogue.ids  # noqa: B018  # imports the plugins, which is not done under a lock
    with _arming:
        request = session.current(environment).request(only, skip)
        watch.arm(automatic=False, look=False)
    watch.look_again()
    return Handle(request)


def revert() -> None:
    """Take hotfix out of this process: every function is what it was, and nothing is watched any more."""
    watch.disarm()
    session.end()


def report() -> Report:
    """What hotfix has done in this process, and what it would do with what is not imported yet."""
    here = session.current(watch.environment())
    if watch.is_automatic():
        here.ensure_selected()  # nothing watched may have been imported yet
    here.catch_up()
    here.check()
    return here.report()


def digest() -> str:
    """A short name of the patch set of this process: 12 hexadecimal digits.

    It is equal in two processes, on any machine and Python version, exactly if the same fixes are in force on the same
    source, whatever has been imported so far.
    """
    return report().digest


def assert_uniform(group: Optional[torch.distributed.ProcessGroup] = None) -> str:
    """Fail on every rank, with the same message, unless all ranks run the same patch set.

    Call it on every rank, after ``init_process_group`` and after the model was imported. It costs one collective of
    12 bytes a rank.

    Args:
        group: the process group; the default one if None. A process that is not in it compares nothing.

    Returns:
        The digest that all ranks have, for the log of the experiment.

    Raises:
        HotfixError: the digests differ; the message names the ranks. Or there is no process group in a job of more
            than one rank.

    Example:
        >>> import hotfix
        >>> digest = hotfix.assert_uniform()
    """
    from .reports import uniform

    return uniform.agree(digest, group)
