"""Optional packages that are installed and cannot be imported."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, Callable, NamedTuple, Optional

from hotfix import session
from hotfix._support import memo
from hotfix.patching import scope


class _Failure(NamedTuple):
    """The error of an import.

    Attributes:
        error: its class.
        sentence: its class and message.
    """

    error: type[Exception]
    sentence: str


def where_it_can_be_imported(
    original: Callable[..., Any], package: str, fix: str, imports: Callable[[types.FrameType], bool]
) -> Callable[..., Any]:
    """A function that says whether a package is available, and that tries it before the library imports it.

    Args:
        original: the release's function, which looks only at the metadata.
        package: name of the package.
        fix: id of the fix.
        imports: whether a frame that asks is about to import the package. Everyone else gets the answer of the
            release, and the package is not imported for them.
    """

    def is_available(*args: Any, **kwargs: Any) -> Any:
        available = original(*args, **kwargs)
        caller = sys._getframe(1)
        if not available or package in sys.modules or not imports(caller):
            return available
        failure = _failure(package)
        if failure is None or scope.is_handled(fix, failure.error, caller):
            return available
        session.current().log.warn_once(
            f"{fix}: {package} cannot be imported, and is not used: {failure.sentence}", fix
        )
        return False

    is_available.__name__ = is_available.__qualname__ = original.__name__
    for name in ("cache_clear", "cache_info", "cache_parameters"):
        if hasattr(original, name):
            setattr(is_available, name, getattr(original, name))
    return is_available


@memo.memo
def _failure(package: str) -> Optional[_Failure]:
    """The error of importing a package, tried once."""
    try:
        importlib.import_module(package)
    except Exception as error:
        return _Failure(type(error), f"{type(error).__name__}: {error}")
    return None
