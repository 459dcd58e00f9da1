"""A ``__getattr__`` for a class of the library, which gives attributes to code that would crash without them."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional

from .._support.memo import weakly
from . import compiling, restoring


def attribute(
    subject: Any,
    name: str,
    library: str,
    values: Callable[[Any, str], list[Any]],
    key: str,
    fix: str,
    to_read: bool = False,
) -> Any:
    """The value of an attribute that an object lacks; to be called by the ``__getattr__`` itself.

    Args:
        subject: the object.
        name: of the attribute.
        library: the place of the class that has the ``__getattr__``, `module:qualname`; its name may stand for another
            class by now. That of a class further down the method resolution order, which Python would call without
            hotfix, is asked first.
        values: returns the value in a list, or nothing, for the object and a name.
        key: the path of the attribute in the record of the names that were received.
        fix: the id of the fix.
        to_read: code that also sets an attribute of this name gets no value, since the library does not read it.

    Raises:
        AttributeError: there is no value, or the library or code that works without it asks. It is the error of the
            further class if that has a ``__getattr__``.
    """
    of_the_hook: Optional[AttributeError] = None
    behind = _followed_by_a_hook(type(subject), library)
    if behind is not None:
        further_down: Any = super(behind, subject)
        try:
            return further_down.__getattr__(name)
        except AttributeError as error:
            if compiling.is_compiling():
                raise
            of_the_hook = error
    if compiling.is_compiling():
        raise restoring.missing(subject, type(subject), subject.attribute_map.get(name, name))
    frame = sys._getframe(2)
    asker = str(frame.f_globals.get("__name__"))
    of_the_library = asker == "transformers" or asker.startswith("transformers.")
    restored = [] if of_the_library else values(subject, name)  # a forward of the library asks hundreds of times
    if restored:
        expected = AttributeError if of_the_hook is None else type(of_the_hook)
        if not (to_read and restoring.sets(frame, name)) and restoring.would_end(expected, frame, name):
            restoring.note(key, fix, frame)
            return restored[0]
    if of_the_hook is not None:
        try:
            raise of_the_hook
        finally:
            of_the_hook = None  # its traceback has this frame
    kind: Any = type(subject)
    kind.__getattribute__(subject, name)  # raises the error that Python has discarded, for example that of a property
    raise restoring.missing(subject, kind, subject.attribute_map.get(name, name))


@compiling.settled  # `torch.compile` cannot trace `hasattr` of a `super()`
def _followed_by_a_hook(kind: type, library: str) -> Optional[type]:
    """The library's class, if a further class behind it has a ``__getattr__``, which Python calls without hotfix."""
    at, order = _place(kind, library), kind.__mro__
    for further in order[at + 1 : -1]:
        if "__getattr__" in further.__dict__:
            return order[at]
    return None


@weakly
def _place(kind: type, library: str) -> int:
    """The place of the library's class in the method resolution order; the last if it is not there."""
    order = kind.__mro__
    names = [f"{base.__module__}:{base.__qualname__}" for base in order]
    return names.index(library) if library in names else len(order) - 1
