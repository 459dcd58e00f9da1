"""The cost of errors that say more: in ``import transformers``, and in 10,000 failing ``hasattr`` calls.

python benchmarks/hints_cost.py [RELEASE]

The calls are made on two modules, the same but for the hints. Both run in turn, and the least time of many
counts. The share of the hints in the import is measured separately, as processor time in a process of
its own: a difference of one part in a thousand between two imports cannot be measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import timeit
import types
from importlib.machinery import ModuleSpec
from time import process_time

from hotfix.patching.hints import Hints
from tools.testbed import overlay

IMPORT = """
import time
import hotfix.auto
from hotfix import session
spent, calls = [0, 0], {}
hint = session.Session._hint
def counted(self, name):
    begin = time.process_time_ns()
    hint(self, name)
    spent[0] += time.process_time_ns() - begin
    spent[1] += 1
session.Session._hint = counted
begin = time.process_time_ns()
import transformers, transformers.modeling_utils, transformers.generation.utils, transformers.trainer
import transformers.models.llama.modeling_llama
whole = time.process_time_ns() - begin
print(f"{spent[1]} modules, {len(session.current().hints)} with hints: "
      f"{spent[0] / 1e6:.2f} ms of {whole / 1e6:.0f} ms, {spent[0] / whole:.5f}")
"""


def release() -> str:
    """The release that is imported."""
    return sys.argv[1] if len(sys.argv) > 1 else "5.23.0"


def module(name: str) -> types.ModuleType:
    """A module as an import leaves it."""
    made = types.ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    made.there = 1  # type: ignore[attr-defined]
    return made


def main() -> None:
    """Print a line for the import and one for each kind of name."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(overlay.overlay(release())), *sys.path[:1], "."])}
    print(f"import of {release()}:", end=" ", flush=True)
    subprocess.run([sys.executable, "-c", IMPORT], env=environment, check=True)
    plain, hinting = module("plain"), module("hinting")
    Hints().put(hinting, {f"gone{number}": "a line" for number in range(20)})
    for kind, name in (("another name", "other"), ("a name that is gone", "gone7"), ("a name that is there", "there")):
        times: dict[str, list[float]] = {"plain": [], "hinting": []}
        for _ in range(100):
            for variant in (plain, hinting):
                call = "hasattr(one, name)"
                seconds = timeit.timeit(call, timer=process_time, globals={"one": variant, "name": name}, number=10_000)
                times[variant.__name__].append(seconds)
        before, after = min(times["plain"]), min(times["hinting"])
        print(f"{kind:22} {before * 1000:6.2f} ms, with hints {after * 1000:6.2f} ms: {after / before:.3f}")


if __name__ == "__main__":
    main()
