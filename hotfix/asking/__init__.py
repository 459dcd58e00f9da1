"""Would this error end the program? The bytecode of the frames on the stack decides.

A removed name is restored only where the program would otherwise end. A program that is prepared for the error, by
``try/except``, ``hasattr``, ``getattr`` with a default or ``contextlib.suppress``, keeps its own behaviour.

    from hotfix import asking

    class Restored:
        def __get__(self, instance, owner):
            if asking.would_end(AttributeError, asking=2, name="seen_tokens"):
                return 0
            raise AttributeError("seen_tokens")

The rule, from the frame that uses the name upwards:

- In that frame, and in a frame that imports its module, any handler for the error counts: a bare one, one for
  `Exception`, one whose class cannot be determined. A handler that only re-raises or ends the program does not count.
  The `forward` of a module counts as called by the frame that calls the module: torch's functions between them do not.
- Further up, a handler counts if it names the error, if it is in module-level code, or if it is silent. A broad handler
  in a function that reports the error is the main loop of a server, a test runner or a notebook. It does not count,
  unless it is the program's own and supplies a substitute for the import, says whether a string could be executed, or
  is around the execution of a string that is made in the same statement.
- A handler may turn the error into another one; from there on, the new error counts. So does pydantic, which raises a
  `ValidationError` for a `ValueError` or an `AssertionError` of a validator, and an error of its own for any of a
  serializer.
- A context manager counts if it is known to stop the error, or if its code refers to the error. An unknown one counts
  around an import only.
- If C code uses the name (`map`, `partial`, `attrgetter`), the name is not restored, except for pickle. After a
  star-import of a module, the names that the importing code reads and never defines would be a `NameError`.

When in doubt, the answer is that the program would not end. On Python 3.14 and later every case is in doubt. The check
calls nothing in the program, reads only bytecode, globals and builtins, and judges each place once. While
`torch.compiler.is_compiling()` the frames are those of the compiler: see `hotfix.patching.traced`.

Limits. Handlers in another thread (``future.result()``) and handlers written in C are not seen.
"""

from __future__ import annotations

from ._frames import SUBSCRIPT, asker, handles, is_handled, is_passed_on, is_wrapper, leaving, register, sets, would_end
from ._open import imports_all, left_open

__all__ = [
    "SUBSCRIPT",
    "asker",
    "handles",
    "imports_all",
    "is_handled",
    "is_passed_on",
    "is_wrapper",
    "leaving",
    "left_open",
    "register",
    "sets",
    "would_end",
]
