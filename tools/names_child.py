"""Runs for `tools.names --prove` on a release: checks each row of the table as a program uses it.

    python names_child.py rows.json

Rows are ``[module, name, kind, value]``. A program that checks for the name must not find it; a program that would
crash without it must get the value of the row. Errors are printed, a line per row.
"""

from __future__ import annotations

import ast
import json
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def main() -> None:
    """Check the rows, and print the errors."""
    import hotfix.auto  # noqa: F401
    from hotfix.patching import restoring

    threading.excepthook = lambda args: failures.append(f"{args.exc_type.__name__}: {args.exc_value}")
    failures: list[str] = []
    checked = 0
    for module, name, kind, value in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        failures.clear()
        results: dict[str, Any] = {}
        try:
            import_module(value.rpartition(":")[0] if kind == "alias" else "hotfix")
            loaded = import_module(module) if find_spec(module) else None
        except Exception as error:  # it needs a missing package
            print(f"{module}:{name}: not checked ({error!r:.80})", file=sys.stderr)
            continue
        if loaded is not None and hasattr(loaded, name):  # the release may handle it itself
            if f"{module}:{name}" in restoring.received():
                print(f"{module}:{name}: it is there for a program that looks")
            continue
        # In a separate thread, where nothing handles the error.
        thread = threading.Thread(target=exec, args=(f"from {module} import {name}", results))
        thread.start()
        thread.join()
        wrong = failures[0] if failures else _wrong(results[name], kind, value, module)
        if wrong:
            print(f"{module}:{name}: {wrong}".replace("\n", " "))
        checked += 1
    print(f"{checked} rows", file=sys.stderr)


def _wrong(given: Any, kind: str, value: str, module: str) -> str:
    """The reason why an object does not match its row; empty if it does."""
    if kind == "constant":
        return "" if given == ast.literal_eval(value) else f"it is {given!r:.60}"
    if kind == "empty":
        return "" if _refuses(given) else f"it is {given!r:.60}, which can be used"
    if kind == "output":
        base, *fields = value.split()
        where, _, what = base.partition(":")
        is_one = issubclass(given, getattr(import_module(where), what))
        made = given(**dict.fromkeys(fields, 1))
        return "" if is_one and [*made.values()] == [1] * len(fields) else f"it is {made!r:.60}"
    where, _, what = value.rpartition(":") if kind == "alias" else (module, "", value)
    there: Any = getattr(import_module(where), what) if what else import_module(where)
    if kind == "hollow":
        return "" if issubclass(given, there) and given is not there else f"it is {given!r:.60}"
    return "" if given is there else f"it is {given!r:.60}"


def _refuses(given: Any) -> bool:
    """Whether a class can be inherited from, and neither used nor changed, or a function cannot be called."""
    if not isinstance(given, type):
        try:
            given(1)
        except NotImplementedError:
            return True
        return False
    type("Own", (given,), {"__init__": lambda self: None})()
    kind: Any = given
    for use in (kind, lambda: kind.from_pretrained("x"), lambda: setattr(kind, "forward", None)):
        try:
            use()
        except NotImplementedError:
            continue
        return False
    return not isinstance(0, given)


if __name__ == "__main__":
    main()
