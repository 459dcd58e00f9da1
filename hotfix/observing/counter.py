"""Counts calls of functions with known bugs while they run.

`Counter.seen` is the only call added to an observed function (`hotfix.observing.edit`). It receives the arguments of
the call, counts it, and evaluates the trigger of the fix. It changes no argument, waits for no device, takes no lock
and never raises: a call whose trigger fails is counted as undecided.

Under ``torch.compile`` `seen` returns at once and adds nothing to the graph. Calls inside a compiled graph are not
counted, so the counter records that the function was traced.

The first call of a function in a process is reported at once, so that even a killed process has reported it.

Each thread and each process counts for itself; a forked child begins at zero.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from threading import get_ident
from types import FrameType
from typing import Any, Callable, Optional

from ..patching import compiling
from ..trigger import Call, Trigger

__all__ = ["Counted", "Counter", "First"]

# Packages whose frames are not reported as the place of a call.
_INSIDE = frozenset(
    (
        "transformers",
        "torch",
        "hotfix",
        "accelerate",
        "peft",
        "trl",
        "contextlib",
        "functools",
        "threading",
        "concurrent",
    )
)
_REST = 60.0  # seconds between two calls of `notify`


@dataclass(frozen=True)
class First:
    """The first call that triggered a bug.

    Attributes:
        time: seconds since the epoch.
        place: ``FILE:LINE`` of the caller, as near to the user's own program as the stack shows.
    """

    time: float
    place: str


@dataclass(frozen=True)
class Counted:
    """The counts of one function for one fix.

    Attributes:
        fix: id of the fix.
        place: ``module:qualname`` of the function.
        calls: the number of calls.
        asked: for how many of these calls the trigger was evaluated.
        struck: how many of those triggered the bug and gave a wrong result.
        untold: how many of those could not be decided.
        first: the first call that triggered the bug.
        when: the condition, in words; None if there is none.
        wrong: the error in the results.
        why_not: why there is no condition.
        every: the trigger is evaluated on every n-th call.
        compiled: whether the function was traced into a graph; calls inside a graph are not counted.
    """

    fix: str
    place: str
    calls: int
    asked: int
    struck: int
    untold: int
    first: Optional[First]
    when: Optional[str]
    wrong: str
    why_not: str
    every: int
    compiled: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The public form."""
        return asdict(self)


class Counter:
    """Counts the calls of one function for one fix.

    Args:
        fix: id of the fix.
        place: ``module:qualname`` of the function.
        trigger: the trigger of the fix, or None.
        names: the parameter names, in the order in which `seen` gets their values.
        is_method: whether the first parameter is the object or class of the method.
        extra: the parameter for all other keyword arguments; empty if there is none.
        notify: called at the first call, when the bug is first triggered, and from time to time when it is triggered
            again.

    Attributes:
        name: the global name under which the observed function finds `seen`.
        seen: the function that it calls with the values of its parameters.
    """

    def __init__(
        self,
        fix: str,
        place: str,
        trigger: Optional[Trigger],
        names: Sequence[str],
        is_method: bool,
        extra: str,
        notify: Callable[[Counter, bool], None],
    ) -> None:
        self.fix = fix
        self.place = place
        self.names = tuple(names)
        self.problem = ""
        self._trigger = trigger
        self._condition = trigger.condition(place) if trigger else None
        self._is_method = is_method
        self._extra = extra
        self._notify = notify
        self._next = 0.0
        self._by_thread: dict[int, list[int]] = {}
        self._first: dict[str, First] = {}
        self._later: deque[tuple[Any, Any, list[int], str]] = deque()
        self._compiled = False
        self._is_begun = False
        # Not a name with a single underscore: Python clears those first when it destroys a module.
        self.name = f"__hotfix_seen_{next(_numbers)}__"
        _prepare()
        self.seen = self._seen()
        _all.append(self)

    def _seen(self) -> Callable[..., None]:
        """The function that the observed function calls: a plain function, since torch traces only those."""
        by_thread, condition, ask, begin = self._by_thread, self._condition, self._ask, self._begin
        every = self._trigger.every if self._trigger else 1

        def traced() -> None:
            self._trace()

        # As torch.compiler.assume_constant_result does: it is called during tracing, and is not in the graph.
        traced._dynamo_marked_constant = True  # type: ignore[attr-defined]

        def seen(*values: Any) -> None:
            if _is_compiling():
                traced()
                return
            mine = by_thread.get(get_ident())
            if mine is None:
                mine = by_thread[get_ident()] = [1, 0, 0, 0]
                begin()
            else:
                mine[0] += 1
            if condition is not None and (every == 1 or mine[0] % every == 1):
                ask(values, mine)

        return seen

    def result(self, wait: bool = True) -> Counted:
        """The counts of this process so far.

        Args:
            wait: whether to wait for results that a device has not computed yet.
        """
        self._read_later(wait=wait)
        calls, asked, struck, untold = (sum(counts[n] for counts in list(self._by_thread.values())) for n in range(4))
        trigger, decides = self._trigger, self._condition is not None
        return Counted(
            fix=self.fix,
            place=self.place,
            calls=calls,
            asked=asked,
            struck=struck,
            untold=untold,
            first=self._first.get("first"),
            when=trigger.when if trigger and decides else None,
            wrong=trigger.wrong if trigger and decides else "",
            why_not=(trigger.why_not if trigger else "") or ("" if decides else "No condition is known."),
            every=trigger.every if trigger and decides else 1,
            compiled=self._compiled,
        )

    def forget(self) -> None:
        """Reset to zero. Existing graphs stay, and so does the flag that says so."""
        self._is_begun = False
        self._by_thread.clear()
        self._first.clear()
        self._later.clear()

    # ------------------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._report(False)

    def _trace(self) -> None:
        if not self._compiled:
            self._compiled = True
            self._report(False)

    def _report(self, is_first: bool) -> None:
        try:
            self._notify(self, is_first)
        except Exception as error:  # observing must not change the program
            self.problem = self.problem or f"{type(error).__name__}: {error}"

    def _ask(self, values: tuple[Any, ...], mine: list[int]) -> None:
        mine[1] += 1
        owner = values[0] if self._is_method else None
        try:
            assert self._condition is not None
            triggers = self._condition(Call(self.place, self.names, values, owner, self._extra))
            if triggers is True:
                self._strike(mine, "")
            elif hasattr(triggers, "device"):
                self._tell_later(triggers, mine)
            elif triggers is not False:
                self._cannot_tell(
                    mine, "the trigger returned None" if triggers is None else f"it returned {triggers!r}"
                )
        except (Exception, SystemExit) as error:  # observing must not change the program
            self._cannot_tell(mine, f"{type(error).__name__}: {error}")

    def _strike(self, mine: list[int], place: str) -> None:
        mine[2] += 1
        is_first = not self._first
        if is_first:
            self._first.setdefault("first", First(round(time.time(), 3), place or _caller()))
        if is_first or time.monotonic() >= self._next:
            self._next = time.monotonic() + _REST
            self._report(is_first)

    def _cannot_tell(self, mine: list[int], why: str) -> None:
        mine[3] += 1
        if not self.problem:
            self.problem = why
            self._report(False)

    # -- triggers that return a tensor ---------------------------------------------------------------------------------

    def _tell_later(self, result: Any, mine: list[int]) -> None:
        """Read a boolean tensor: at once on the CPU, else when the device has computed it."""
        import torch  # already imported: it made the tensor

        kind = result.device.type
        if kind == "cpu":
            if bool(result):
                self._strike(mine, "")
            return
        if kind != "cuda" or torch.cuda.is_current_stream_capturing():
            self._cannot_tell(mine, f"tensors on {kind} are not read")
            return
        copy = torch.empty((), dtype=torch.bool, pin_memory=True)
        copy.copy_(result.detach().reshape(()), non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        self._later.append((copy, event, mine, "" if self._first else _caller()))
        self._read_later(wait=False)

    def _read_later(self, wait: bool) -> None:
        if self._later and sys.modules["torch"].cuda.is_current_stream_capturing():
            return  # querying an event would abort the capture
        while self._later:
            try:
                copy, event, mine, place = self._later.popleft()
            except IndexError:  # another thread has read it
                return
            if not wait and not event.query():
                self._later.appendleft((copy, event, mine, place))
                return
            event.synchronize()
            if bool(copy):
                self._strike(mine, place or "an unknown place")


# ---------------------------------------------------------------------------------------------------------------------

_numbers = count()
_all: list[Counter] = []


def counters() -> tuple[Counter, ...]:
    """All counters made in this process."""
    return tuple(_all)


def _never() -> bool:
    return False


_is_compiling: Callable[[], bool] = _never


def _prepare() -> None:
    """Find torch's test for tracing; a program that compiles has imported torch before."""
    global _is_compiling
    compiler: Any = sys.modules.get("torch.compiler")
    _is_compiling = getattr(compiler, "is_compiling", None) or (
        compiling.is_compiling if "torch" in sys.modules else _never
    )


def _caller() -> str:
    """The file and line of the caller outside the libraries; the outermost frame if all are in libraries."""
    frame: Optional[FrameType] = sys._getframe(1)
    outermost = frame
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _INSIDE:
            break
        outermost, frame = frame, frame.f_back
    caller = frame or outermost
    return f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller else ""


def _after_fork() -> None:
    for counter in _all:
        counter.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
