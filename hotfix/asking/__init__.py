"""Would this error end the program? Decided from the bytecode of the frames that ask.

A removed name is restored where the program would otherwise end, and nowhere else. A program that is prepared for the
error, by ``try/except``, ``hasattr``, ``getattr`` with a default or ``contextlib.suppress``, keeps its own way.

    from hotfix import asking

    class Restored:
        def __get__(self, instance, owner):
            if asking.would_end(AttributeError, asking=2, name="seen_tokens"):
                return 0
            raise AttributeError("seen_tokens")

The rule, from the asking frame upwards:

- In the frame that asks, and in one that imports the module that asks, any handler for the error counts: a bare one,
  one for `Exception`, one whose class cannot be determined. One that only raises again or ends the program does not.
- Further up, a handler counts if it names the error, if it is in module-level code, or if it is silent. A broad handler
  in a function that reports the error is the main loop of a server, a test runner or a notebook: it does not count,
  unless the program itself has something else there in the place of what is imported.
- A handler may turn the error into another one; from there on, that one counts.
- A context manager counts if it is known to stop the error, or if its code speaks of the error. An unknown one counts
  around an import only.
- Code in C that asks (`map`, `partial`, `attrgetter`, a star-import) is left alone, except for pickle.

When in doubt, the answer is that the program would not end. Python 3.14 and later is always in doubt. Nothing of the
program is called, nothing is read but bytecode, globals and builtins, and each place is judged once. While
`torch.compiler.is_compiling()` the frames are those of the compiler: see `hotfix.patching.traced`.

Limits. A handler in another thread (``future.result()``) is not seen, nor one written in C.
"""

from __future__ import annotations

from ._frames import SUBSCRIPT, asker, is_handled, would_end

__all__ = ["SUBSCRIPT", "asker", "is_handled", "would_end"]
