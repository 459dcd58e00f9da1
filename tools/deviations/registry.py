"""The declaration of a deviation, and the table of all declared ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from tools.deviations.scene import Scene

FOLDERS = ("models", "training", "processing", "loading", "names", "neighbours")
Function = Callable[[Scene], Optional["dict[str, Any]"]]


@dataclass(frozen=True)
class Deviation:
    """One way in which a program differs from the library's own code.

    Attributes:
        name: words joined by hyphens.
        text: one line: the user's program.
        function: takes the `Scene`. It changes the process and returns None, after which the case runs; or it returns
            results.
        folders: of the fixes to which it can apply.
        bases: the inputs that it is applied to: "case", "unaffected" (input that does not trigger the bug), "trainer"
            (two models in micro-batches and as one batch), or "" if it is a program of its own.
        transparent: whether the results of the case do not depend on it; then the plain case is the reference if the
            reference release cannot run it.
        strict: whether the program uses only the user's classes and files, so that the armed process must equal stock,
            whatever the reference gives.
        files: whether stock also reads the files of an armed process, and vice versa.
    """

    name: str
    text: str
    function: Function
    folders: tuple[str, ...]
    bases: tuple[str, ...] = ("case",)
    transparent: bool = False
    strict: bool = False
    files: bool = False


DEVIATIONS: dict[str, Deviation] = {}


def deviation(
    *folders: str,
    bases: tuple[str, ...] = ("case",),
    transparent: bool = False,
    strict: bool = False,
    files: bool = False,
) -> Callable[[Function], Function]:
    """Declare a deviation: its name is that of the function, its text the first line of the docstring.

    Args:
        *folders: see `Deviation`; all if there are none.
        bases: see `Deviation`.
        transparent: see `Deviation`.
        strict: see `Deviation`.
        files: see `Deviation`.
    """

    def declare(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        text = (function.__doc__ or "").partition("\n")[0].rstrip(".")
        if name in DEVIATIONS:
            raise ValueError(f"two deviations are called {name}")
        DEVIATIONS[name] = Deviation(name, text, function, folders or FOLDERS, bases, transparent, strict, files)
        return function

    return declare
