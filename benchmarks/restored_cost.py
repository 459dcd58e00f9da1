"""The cost of a restored name: asked for from a new place, from a known one, ten frames deep, and not at all.

python benchmarks/restored_cost.py [RELEASE]

Processor time, the least of many counts. A new place is a code object that was never seen; each has twenty handlers for
other things. The import is a process of its own, with the names restored by default and with
``HOTFIX_SKIP=removed-names``; ``perf stat -e instructions:u`` counts more exactly, where there is one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import timeit
import types
from pathlib import Path
from time import process_time

from hotfix.patching import restoring
from tools.testbed import overlay

IMPORT = """
import time
import hotfix.auto
begin = time.process_time()
import {}
print(time.process_time() - begin)
"""
KNOWN = """
import types
from time import process_time
from hotfix.patching import restoring
restoring.prepare()
module = types.ModuleType("lacking")
restoring.put(module, "gone1", restoring.Restored("gone1", len))
counts = []
for turn in range(30):
    begin = process_time()
    for number in range(20000):
        module.gone1
    counts.append((process_time() - begin) / 20000)
print(min(counts))
"""
MODULES = "transformers, transformers.modeling_utils, transformers.generation.utils, transformers.trainer"
TRIES = "".join(f"try:\n    x{number} = 1\nexcept KeyError:\n    pass\n" for number in range(20))


def main() -> None:
    """Print a line for each."""
    restoring.prepare()
    plain, lacking = types.ModuleType("plain"), types.ModuleType("lacking")
    plain.there = lacking.there = 1  # type: ignore[attr-defined]
    for number in range(20):
        restoring.put(lacking, f"gone{number}", restoring.Restored(f"gone{number}", len))
    exec("module.gone0", {"module": lacking, "__name__": "program"})  # the first one of a process imports what decides
    codes = [compile(f"{TRIES}module.gone1\n", f"program{number}.py", "exec") for number in range(200)]
    first = []
    for code in codes:
        begin = process_time()
        exec(code, {"module": lacking, "__name__": "program"})
        first.append(process_time() - begin)
    print(f"from a new place: {sorted(first)[100] * 1e6:.0f} µs, the slowest of 200 {max(first) * 1e6:.0f} µs")
    known = subprocess.run([sys.executable, "-c", KNOWN], capture_output=True, text=True, check=True).stdout
    print(f"from a known place, with no frame above it: {float(known) * 1e6:.2f} µs")
    names = {"module": lacking, "deep": deep}
    print(f"ten frames deep: {(least('deep(module, 10)', names) - least('deep(None, 10)', names)) * 1e6:.2f} µs")
    for what, call in (("another name", "hasattr(one, 'other')"), ("a name that is there", "one.there")):
        before, after = least(call, {"one": plain}), least(call, {"one": lacking})
        print(f"{what}: {before * 1e9:.0f} ns, in a module that lacks names {after * 1e9:.0f} ns")
    print(f"hasattr of a restored name: {least('hasattr(one, name)', {'one': lacking, 'name': 'gone1'}) * 1e6:.2f} µs")
    release = sys.argv[1] if len(sys.argv) > 1 else "5.23.0"
    for skipped in ("removed-names", ""):
        print(f"import of {release}{f' without {skipped}' if skipped else ''}: {imported(release, skipped)}")


def deep(module: types.ModuleType | None, depth: int) -> object:
    """Ask from so many frames down, or not at all."""
    if depth:
        return deep(module, depth - 1)
    return module and module.gone1


def least(call: str, names: dict[str, object]) -> float:
    """Seconds of one call."""
    return min(timeit.timeit(call, timer=process_time, globals=dict(names), number=20_000) for _ in range(20)) / 20_000


def imported(release: str, skipped: str) -> str:
    """The cost of an import, in seconds or instructions."""
    path = os.pathsep.join([str(overlay.overlay(release)), *sys.path[:1], "."])
    environment = {**os.environ, "PYTHONPATH": path, "HOTFIX_SKIP": skipped, "HOTFIX_LOG": "quiet"}
    command = [sys.executable, "-c", IMPORT.format(MODULES)]
    if shutil.which("perf"):
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder, "counts")
            counted = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(counts), *command]
            subprocess.run(counted, env=environment, check=True, stdout=subprocess.DEVNULL)
            (line,) = (line for line in counts.read_text().splitlines() if "instructions" in line)
        if line[0].isdigit():
            return f"{int(line.split(',')[0]) / 1e9:.3f} billion instructions"
    runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(5)]
    return f"{min(float(run.stdout.split()[-1]) for run in runs):.3f} s"


if __name__ == "__main__":
    main()
