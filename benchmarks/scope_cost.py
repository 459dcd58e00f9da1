"""The cost of the run-time checks of a repaired function: whose code takes part, and a repair on an error.

python benchmarks/scope_cost.py

Processor time, the least of many counts, of a function in a library of its own. No torch or transformers is needed.
"""

from __future__ import annotations

import linecache
import sys
import tempfile
import timeit
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time, process_time_ns

from hotfix.fix import Fix
from hotfix.patching import binding, code

LIBRARY = "benchlib"
TEXT = """
class Layer:
    def forward(self, x):
        return x + 1

    def run(self, x, scale=2):
        if scale == 7:
            raise ValueError("scale 7 is wrong")
        return x * scale
"""
OLD = 'if scale == 7:\n    raise ValueError("scale 7 is wrong")'
ERROR = "ValueError: scale … is wrong"


def main() -> None:
    """Print a line for each check."""
    with tempfile.TemporaryDirectory() as folder:
        stock = call(folder, "stock", None)
        checks = {"one participant": ("self.forward",), "two participants": ("self.forward", "self")}
        for what, own in checks.items():
            fix = Fix(id="bench-scope", title="scope", kind="silent", own=own)
            fix.edits(f"{LIBRARY}.{what.partition(' ')[0]}:Layer.run", old="x * scale", new="scale * x")
            cost = least(call(folder, what.partition(" ")[0], fix)) - least(stock)
            print(f"a scope of {what}: {cost * 1e9:.0f} ns a call")
        fix = Fix(id="bench-error", title="error", kind="crash", errors=(ERROR,))
        fix.edits(f"{LIBRARY}.error:Layer.run", old=OLD, new="pass", on_error=True)
        run = call(folder, "error", fix)
        print(f"a repair on an error, a call that succeeds: {(least(run) - least(stock)) * 1e9:.0f} ns more")
        fails = failing(folder)
        times = [taken(fails) for _ in range(1000)]
        print(f"a call that fails: the first {times[0] / 1e3:.0f} µs, the thousandth {times[-1] / 1e3:.1f} µs")


def call(folder: str, name: str, fix: Fix | None) -> Callable[[], object]:
    """A call of the function, in a module of its own, repaired by this fix."""
    return partial(loaded(folder, name, fix).Layer().run, 3)


def failing(folder: str) -> Callable[[], object]:
    """A call that raises in the release's own code, in a module that was never called before."""
    fix = Fix(id="bench-fails", title="error", kind="crash", errors=(ERROR,))
    fix.edits(f"{LIBRARY}.fails:Layer.run", old=OLD, new="pass", on_error=True)
    return partial(loaded(folder, "fails", fix).Layer().run, 3, scale=7)


def loaded(folder: str, name: str, fix: Fix | None) -> types.ModuleType:
    """The library's module from a file, as an import makes it."""
    file = Path(folder, f"{name}.py")
    file.write_text(TEXT, encoding="utf-8")
    module = types.ModuleType(f"{LIBRARY}.{name}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(TEXT, str(file), "exec"), vars(module))
    if fix is not None:
        function = module.Layer.run
        original = code.written(function.__code__, "Layer.run", "".join(linecache.getlines(str(file))))
        made = code.edited_code(original, list(fix.targets))
        binding.provide(function, made)
        function.__code__ = made
    return module


def taken(run: Callable[[], object]) -> int:
    """Nanoseconds of one call."""
    begin = process_time_ns()
    run()
    return process_time_ns() - begin


def least(run: Callable[[], object]) -> float:
    """Seconds of a call: the least of twenty counts of ten thousand."""
    return min(timeit.repeat(run, number=10_000, repeat=20, timer=process_time)) / 10_000


if __name__ == "__main__":
    main()
