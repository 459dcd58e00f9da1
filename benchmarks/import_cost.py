"""The time that hotfix adds to the start of a process and to the import of a model: ratios measured in one run.

    nox -s benchmarks

Ratios of medians of whole processes, measured by pyperf one beside the other:

- `import hotfix.auto` in a bare interpreter, against the bare interpreter (at most 1.25 is the goal);
- importing Qwen2.5-VL's modeling file from a release with nothing to repair, armed against unarmed (at most 1.01);
- importing the Trainer and Llama from two releases with much to repair (at most 1.02 is the goal).
"""

from __future__ import annotations

import os
import sys

import pyperf

from tools.testbed import overlay

RELEASE = "4.57.6"
MODELING = "import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
TRAINER = "from transformers import Trainer, LlamaForCausalLM"
WITH_REPAIRS = ("4.57.6", "5.23.0")
ARMED = "import hotfix.auto"


def main() -> None:
    """Run both comparisons and print the ratios."""
    runner = pyperf.Runner(processes=20, values=3, warmups=1)
    runner.parse_args()
    bare = runner.bench_command("bare interpreter", [sys.executable, "-c", "pass"])
    auto = runner.bench_command(ARMED, [sys.executable, "-c", ARMED])

    runner.args.processes, runner.args.values = 8, 1
    results = [("start", auto, bare)]
    for name, release, statement in (
        (f"modeling file of {RELEASE}", RELEASE, MODELING),
        *((f"Trainer and Llama of {release}", release, TRAINER) for release in WITH_REPAIRS),
    ):
        if not runner.args.worker:
            os.environ["PYTHONPATH"] = str(overlay.overlay(release, ["accelerate==1.15.0"]))
            runner.args.inherit_environ = ["PYTHONPATH"]
        unarmed = runner.bench_command(name, [sys.executable, "-c", statement])
        armed = runner.bench_command(f"{name}, armed", [sys.executable, "-c", f"{ARMED}; {statement}"])
        results.append((name, armed, unarmed))
    if not runner.args.worker:
        for name, on, off in results:
            print(f"{name}: {on.median() / off.median():.3f}x  ({on.median():.4f} s against {off.median():.4f} s)")


if __name__ == "__main__":
    main()
