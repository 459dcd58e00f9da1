"""A helper of the fixes that start ``generate()`` again: a streamer has got something by then."""

from __future__ import annotations

from typing import Any


class Rest:
    """A streamer that leaves out what a run before has put.

    Args:
        streamer: the streamer of the caller.
        number: the number of values that it has got.
    """

    def __init__(self, streamer: Any, number: int) -> None:
        self.streamer = streamer
        self.number = number

    def put(self, value: Any) -> None:
        """Pass a value on, unless the run before has put it."""
        if self.number:
            self.number -= 1
        else:
            self.streamer.put(value)

    def end(self) -> None:
        """Pass it on."""
        self.streamer.end()
