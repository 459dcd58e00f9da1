"""The cost of the verdict of one fix in a process that has just started: ``python -m benchmarks.verdict_cost``.

For each fix, in the newest release that it repairs: importing its module, loading its evidence, and judging one target
(reading the file, finding, parsing and digesting the definition). Medians of fresh processes; needs the wheels that the
sweep has cached.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from packaging.version import Version

from hotfix import session
from hotfix.fix import Fix
from tools import evidence, wheels

PROCESSES = 15

ONE = """
import json, pathlib, sys, time
import packaging.specifiers  # the line has loaded it when the first package was imported
from hotfix import session
from hotfix.versions import installed, verdict
entry = session.current().catalogue.entry(sys.argv[1])
marks = [time.perf_counter()]
fix = entry.load()
marks.append(time.perf_counter())
known = verdict.evidence(verdict.evidence_file(fix))
marks.append(time.perf_counter())
target = next(one for one in fix.targets if one.key == sys.argv[2])
folder = pathlib.Path(sys.argv[3])
judgement = verdict.judge(fix, target, lambda name: (folder / name).read_text(encoding="utf-8"))
marks.append(time.perf_counter())
assert judgement.source in known[target.key], judgement
print(json.dumps([(b - a) * 1000 for a, b in zip(marks, marks[1:])]))
"""


def main() -> None:
    print(f"{'milliseconds':36} {'release':>8} {'import':>7} {'evidence':>9} {'judge':>7} {'all':>7}")
    cached = wheels.cached("transformers", wheels.default_cache())
    for id, entry in session.current().catalogue.entries.items():
        fix = entry.load()
        broken = _newest_broken(fix)
        if broken is None:
            continue
        key, release = broken
        with tempfile.TemporaryDirectory() as folder:
            target = next(target for target in fix.targets if target.key == key)
            with zipfile.ZipFile(cached[release]) as archive:
                for module, _ in target.fingerprint_names():
                    stem = module.replace(".", "/")
                    names = [name for name in (f"{stem}.py", f"{stem}/__init__.py") if name in archive.namelist()]
                    (Path(folder) / module).write_bytes(archive.read(names[0]))
            command = [sys.executable, "-c", ONE, id, key, folder]
            runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(PROCESSES)]
        columns = [statistics.median(column) for column in zip(*(json.loads(run.stdout) for run in runs), strict=True)]
        print(f"{id:36} {release!s:>8} {columns[0]:7.2f} {columns[1]:9.2f} {columns[2]:7.2f} {sum(columns):7.2f}")


def _newest_broken(fix: Fix) -> tuple[str, Version] | None:
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"))
    data = evidence.read(evidence.FOLDER / f"{fix.id}.json")
    pairs = []
    for target in filter(evidence.has_releases, fix.targets):
        states = evidence.by_release(data["targets"][target.key], examined)
        pairs += [(release, target.key) for release, (verdict, _) in states.items() if verdict == "broken"]
    return max(pairs)[::-1] if pairs else None


if __name__ == "__main__":
    main()
