"""The cost of `hotfix status` in an environment of 300 packages, against a bare interpreter's start in the same run.

    python -m benchmarks.status_cost

Goal: under 0.3 s of processor time, in a pipe and on a terminal (FORCE_COLOR, which loads rich). That is printed by

    python -m benchmarks.status_cost processor

for one environment with as many packages: it says the same on a machine that is busy, where a clock does not.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.testbed import overlay

PACKAGES = 300
RELEASE = "4.49.0"
FLASH_ATTN = "2.7.4.post1"


def populate(folder: Path) -> None:
    """Fill a folder with small packages, as an installer would."""
    for number in range(PACKAGES):
        name = f"package_{number:03}"
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f'__version__ = "1.{number}"\n')
        info = folder / f"{name}-1.{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.{number}\n")
        (info / "RECORD").write_text("")
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {name}:main\n")


def processor(runs: int = 15) -> None:
    """Print what each command takes of the processor, as the median of several runs; pyperf only reads the clock."""
    with tempfile.TemporaryDirectory() as place:
        populate(Path(place))
        folders = [place, overlay.overlay(RELEASE), overlay.flash_attn(FLASH_ATTN), Path(__file__).parents[1]]
        plain = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
        coloured = {**plain, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        for name, words, env in (
            ("bare interpreter", ["-c", "pass"], plain),
            ("hotfix status", ["-m", "hotfix", "status"], plain),
            ("hotfix status, coloured", ["-m", "hotfix", "status"], coloured),
        ):
            took = []
            for _ in range(runs + 1):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, *words], env=env, stdout=subprocess.DEVNULL, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                took.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
            print(f"{name}: {statistics.median(took[1:]):.3f} s of processor time, at most {max(took[1:]):.3f}")


def main() -> None:
    """Run both, and print the ratio."""
    import pyperf

    runner = pyperf.Runner(processes=20, values=3, warmups=1)
    arguments = runner.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if not arguments.worker:
            populate(Path(place))
            folders = [place, overlay.overlay(RELEASE), overlay.flash_attn(FLASH_ATTN), Path(__file__).parents[1]]
            os.environ["PYTHONPATH"] = os.pathsep.join(map(str, folders))
            arguments.inherit_environ = ["PYTHONPATH", "FORCE_COLOR", "TERM"]
        bare = runner.bench_command("bare interpreter", [sys.executable, "-c", "pass"])
        status = runner.bench_command("hotfix status", [sys.executable, "-m", "hotfix", "status"])
        os.environ.update(FORCE_COLOR="1", TERM="xterm-256color")
        coloured = runner.bench_command("hotfix status, coloured", [sys.executable, "-m", "hotfix", "status"])
    if not arguments.worker:
        for command in (bare, status, coloured):
            print(
                f"{command.get_name()}: {command.median():.3f} s, {command.median() / bare.median():.1f} x a bare start"
            )


if __name__ == "__main__":
    processor() if sys.argv[1:] == ["processor"] else main()
