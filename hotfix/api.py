"""The public functions: `apply`, `revert`, `report`, `digest`, `assert_uniform`."""

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


# The first request arms the watcher, and releasing the last one disarms it. The lock keeps both steps consistent.
_arming = Lock()


class Handle:
    """The fixes that one call of `apply` has turned on; a context manager that turns them off again.

    Attributes:
        fixes: ids of the fixes that this call has added.
    """

    def __init__(self, request: Optional[Request] = None) -> None:
        self.fixes = request.added if request else ()
        self._request = request

    def revert(self) -> None:
        """Turn off the fixes of this call, except those that other requests need.

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
    """Arm hotfix from inside a program, as ``import hotfix.auto`` does.

    Loaded modules are repaired now and reported as late; other modules are repaired when they are imported. The
    environment's switches apply, with the arguments on top of them.

    Args:
        only: ids of fixes, or patterns; if empty, all fixes that the environment allows.
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
    session.current(environment).catalogue.ids  # noqa: B018  # imports the plugins before the lock is taken
    with _arming:
        request = session.current(environment).request(only, skip)
        watch.arm(automatic=False, look=False)
    watch.look_again()
    return Handle(request)


def revert() -> None:
    """Remove hotfix from this process: restore every function, and stop watching imports."""
    watch.disarm()
    session.end()


def report() -> Report:
    """The repairs in this process, and those to come in modules that are not imported yet."""
    here = session.current(watch.environment())
    if watch.is_automatic():
        here.ensure_selected()  # perhaps no watched module has been imported yet
    here.catch_up()
    here.check()
    return here.report()


def digest() -> str:
    """A short name of the patch set of this process: 12 hexadecimal digits.

    Two processes, on any machine and Python version, have the same digest exactly if the same fixes are in force on the
    same source. It does not depend on the modules imported so far.
    """
    return report().digest


def assert_uniform(group: Optional[torch.distributed.ProcessGroup] = None) -> str:
    """Fail on every rank, with the same message, unless all ranks run the same patch set.

    Call it on every rank, after ``init_process_group`` and after importing the model. It costs one collective of
    12 bytes per rank.

    Args:
        group: the process group; the default one if None. A process outside the group compares nothing.

    Returns:
        The common digest, for the log of the experiment.

    Raises:
        HotfixError: the digests differ; the message names the ranks. Or there is no process group in a job of more
            than one rank.

    Example:
        >>> import hotfix
        >>> digest = hotfix.assert_uniform()
    """
    from .reports import uniform

    return uniform.agree(digest, group)
