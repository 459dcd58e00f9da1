"""Runs for `tools.imports`, and prints the result as JSON.

python imports_child.py package             tries all modules of a package in one process
python imports_child.py --stock module …    imports each in a process of its own; --armed does so with hotfix
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import pkgutil
import re
import sys
import tempfile
import traceback

_NOT_IMPORTED = re.compile(r"(^|\.)(__main__|setup|conftest|tests?|test_\w+|examples?)(\.|$)")


def modules(name: str) -> list[str]:
    """The names of the modules of a package, by its folders: nothing is imported."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    names, folders = [name], [(f"{name}.", list(spec.submodule_search_locations or ()))]
    while folders:
        prefix, places = folders.pop()
        for module in pkgutil.iter_modules(places, prefix):
            names.append(module.name)
            if module.ispkg:
                part = module.name.rpartition(".")[2]
                folders.append((f"{module.name}.", [f"{place}/{part}" for place in places]))
    return sorted(name for name in names if not _NOT_IMPORTED.search(name))


def each(names: list[str]) -> dict[str, str]:
    """Import modules in children of this process: the last line of the error by module, empty if there is none."""
    errors = {}
    for name in names:
        with tempfile.TemporaryFile("w+") as file:
            child = os.fork()
            if not child:
                os.dup2(file.fileno(), 2)
                importlib.import_module(name)  # no handler above: an error ends the process
                os._exit(0)
            _, status = os.waitpid(child, 0)
            file.seek(0)
            lines = re.findall(r"^[\w.]*(?:Error|Exception|Exit)\b.*", file.read(), re.M)
        errors[name] = "" if not status else (lines or [str(status)])[-1]
    return errors


def _place(error: BaseException) -> str:
    """The error and the line of the package at which it begins."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if f"/{sys.argv[1]}/" in frame.filename]
    last = (own or frames)[-1]
    return f"{last.filename}:{last.lineno} {type(error).__name__}: {error}"


def main() -> None:
    """Try all, and print the result."""
    if sys.argv[1] in ("--stock", "--armed"):
        if sys.argv[1] == "--armed":
            import hotfix.auto  # noqa: F401
        with contextlib.suppress(Exception):  # once, and not in every child
            import transformers.modeling_utils  # noqa: F401

        print(json.dumps(each(sys.argv[2:])))
        return
    names, needs = modules(sys.argv[1]), 0
    failing: dict[str, list[str]] = {}
    for name in names:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = str(error.name).partition(".")[0]
            if missing in ("transformers", sys.argv[1].partition(".")[0]):
                failing.setdefault(_place(error), []).append(name)
            else:
                needs += 1
        except BaseException as error:  # whatever ends it, an exit included
            failing.setdefault(_place(error), []).append(name)
    print(json.dumps({"modules": len(names), "needs": needs, "failing": failing}))


if __name__ == "__main__":
    main()
