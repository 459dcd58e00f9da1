"""The time that hotfix adds to the start of a process and to the import of a model: ratios measured in one run.

    nox -s benchmarks

Two ratios, each of medians of whole processes, measured by pyperf one beside the other:

- `import hotfix.auto` in a bare interpreter, against the bare interpreter (at most 1.25 is the goal);
- importing Qwen2.5-VL's modeling file from a release with nothing to repair, armed against unarmed (at most 1.01).
"""

from __future__ import annotations

import os
import sys

import pyperf

from tools.testbed import overlay

RELEASE = "4.57.6"
MODELING = "import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
ARMED = "import hotfix.auto"


def main() -> None:
    """Run both comparisons and print the ratios."""
    runner = pyperf.Runner(processes=20, values=3, warmups=1)
    runner.parse_args()
    bare = runner.bench_command("bare interpreter", [sys.executable, "-c", "pass"])
    auto = runner.bench_command(ARMED, [sys.executable, "-c", ARMED])

    runner.args.processes, runner.args.values = 8, 1
    folder = str(overlay.overlay(RELEASE)) if not runner.args.worker else ""
    if folder:
        os.environ["PYTHONPATH"] = folder
        runner.args.inherit_environ = ["PYTHONPATH"]
    unarmed = runner.bench_command(f"modeling file of {RELEASE}", [sys.executable, "-c", MODELING])
    armed = runner.bench_command("the same, armed", [sys.executable, "-c", f"{ARMED}; {MODELING}"])
    if not runner.args.worker:
        for name, on, off in (("start", auto, bare), ("modeling file", armed, unarmed)):
            print(f"{name}: {on.median() / off.median():.3f}x  ({on.median():.4f} s against {off.median():.4f} s)")


if __name__ == "__main__":
    main()
