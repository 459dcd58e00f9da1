"""What it costs that errors say more: 10,000 failing ``hasattr`` calls on a module with hints and on one without.

python benchmarks/hints_cost.py

The modules are the same but for that. Both are asked in turn, and the least time of many counts.
"""

from __future__ import annotations

import timeit
import types
from importlib.machinery import ModuleSpec

from hotfix.patching.hints import Hints


def module(name: str) -> types.ModuleType:
    """A module as an import leaves it."""
    made = types.ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    made.there = 1  # type: ignore[attr-defined]
    return made


def main() -> None:
    """Print a line for each kind of name."""
    plain, hinting = module("plain"), module("hinting")
    Hints().put(hinting, {f"gone{number}": "a line" for number in range(20)})
    for kind, name in (("another name", "other"), ("a name that is gone", "gone7"), ("a name that is there", "there")):
        times: dict[str, list[float]] = {"plain": [], "hinting": []}
        for _ in range(40):
            for one in (plain, hinting):
                call = "hasattr(one, name)"
                seconds = timeit.timeit(call, globals={"one": one, "name": name}, number=10_000)
                times[one.__name__].append(seconds)
        before, after = min(times["plain"]), min(times["hinting"])
        print(f"{kind:22} {before * 1000:6.2f} ms, with hints {after * 1000:6.2f} ms: {after / before:.3f}")


if __name__ == "__main__":
    main()
