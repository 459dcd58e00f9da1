"""The cost of more fixes for programs that need none of them: 30 and 300 planted ones, on a release with no bug.

    python -m benchmarks.catalogue_cost [--rounds 30]

Three things, each in fresh interpreters, in processor time, which a busy machine disturbs little; every round takes all
of them once, and medians are compared:

- `import hotfix.auto`, which must not grow at all;
- what is done when transformers is imported: the head of the index is read, and what it says of the fixes that aim at
  what is imported. It may grow by 0.1 ms a fix;
- imports of other modules after that, which must not grow.

A planted fix has five targets with ranges of their own, in modules of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from hotfix.engine.index import render
from tools.testbed import overlay

ROOT = Path(__file__).resolve().parents[1]
RELEASE = "5.23.0"
PLANTED = (0, 30, 300)
TARGETS = 5

# Not PYTHONPATH: the folder in which this is started comes before it.
PROGRAM = """
import importlib.util, sys
from time import process_time
sys.path[:1] = sys.argv[1:]
times = [process_time()]
import hotfix.auto
times.append(process_time())
from hotfix import watch
watch.current().names |= watch.notify("root_imported", "transformers")
times.append(process_time())
for number in range(1000):
    importlib.util.find_spec(f"absent_{number}")
times.append(process_time())
print(*(later - earlier for earlier, later in zip(times, times[1:])))
"""
PARTS = ("import hotfix.auto", "transformers is imported", "1,000 other modules are looked for")


def plant(folder: Path, number: int) -> None:
    """A copy of hotfix with so many fixes more in its index."""
    shutil.copytree(ROOT / "hotfix", folder / "hotfix", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "hotfix" / "versions" / "evidence" / "index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    for fix in range(number):
        index["fixes"][f"planted-{fix}"] = {
            "title": "planted",
            "kind": "crash",
            "module": f"hotfix.models.planted_{fix}",
            "optin": False,
            "group": "",
            "fixed_in": "4.50.0",
            "targets": {
                f"transformers.models.m{fix}.n{target}:C.f": f">=4.{36 + fix % 10}.{target},<=4.{47 + target}.{fix % 4}"
                for target in range(TARGETS)
            },
        }
    path.write_text(render(index), encoding="utf-8")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    seconds: dict[int, list[list[float]]] = {number: [] for number in PLANTED}
    with tempfile.TemporaryDirectory() as place:
        for number in PLANTED:
            plant(Path(place) / str(number), number)
        for _ in range(rounds + 1):
            for number in PLANTED:
                folders = [f"{place}/{number}", str(overlay.overlay(RELEASE))]
                command = [sys.executable, "-c", PROGRAM, *folders]
                done = subprocess.run(command, env={**os.environ, "HOTFIX": "1"}, capture_output=True, check=True)
                seconds[number].append([float(part) for part in done.stdout.split()])
    medians = {number: [statistics.median(part) for part in zip(*runs[1:])] for number, runs in seconds.items()}
    print(f"Python {sys.version.split()[0]}, transformers {RELEASE}, {rounds} rounds, processor time.\n")
    print("| | " + " | ".join(f"{number} planted" for number in PLANTED) + " | a planted fix |")
    print("| --- |" + " ---: |" * (len(PLANTED) + 1))
    for part, name in enumerate(PARTS):
        own = [medians[number][part] for number in PLANTED]
        each = (own[-1] - own[0]) / PLANTED[-1]
        print(f"| {name} | " + " | ".join(f"{part * 1e3:.2f} ms" for part in own) + f" | {each * 1e3:+.4f} ms |")


if __name__ == "__main__":
    main()
