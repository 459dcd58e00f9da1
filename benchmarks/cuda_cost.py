"""The cost of the repaired functions on a GPU: ``python -m benchmarks.cuda_cost --device cuda --out cost.json``.

The measurement itself is in `tools.studies.parity.cost`, which a bundle takes along.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tools.studies.parity import cost, runner


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda_cost", description="What fixes cost on a GPU.")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, default=Path("cost.json"))
    options = parser.parse_args(arguments)
    size = "real" if options.device == "cuda" else "tiny"
    measured = cost.measure(runner.usual_place(options.device), size)
    result = {"format": 1, "machine": runner.machine(options.device), "cost": measured}
    options.out.write_text(json.dumps(result, indent=1))
    for name, entry in measured.items():
        for part, numbers in entry["parts"].items():
            print(f"{name} {part}: ratio {numbers['ratio']:.3f}, noise {numbers['noise']:.3f}")


if __name__ == "__main__":
    main()
