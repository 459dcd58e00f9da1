"""The cost of a start-up file for every Python process: ours, the least possible, and those of other packages.

    python benchmarks/startup.py [--rounds 200] [--no-instructions] [--write benchmarks/startup.md]

All variants are measured in one run: each round starts every variant once, in shuffled order, and a ratio is taken
inside of its round, so that a busy machine disturbs all alike. The samples are kept as a pyperf suite
(``--samples FILE``, for ``pyperf stats`` and ``pyperf compare_to``). Instructions are counted by callgrind, which
repeats to a few in a thousand even on a busy machine. The floor is a ``.pth`` file that imports one empty module.

Needs uv, pyperf, valgrind (else no instructions are counted) and the package index.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.cluster import environments  # noqa: E402

HEAVY = 20  # ratio of time above which instructions are not counted: that would take minutes


@dataclass
class Variant:
    """One way to start Python.

    Attributes:
        name: as in the table.
        command: the command line.
        env: variables on top of a clean environment.
        base: name of the variant that it is compared with.
        rounds: how many of the rounds it takes part in, as a share.
        times: seconds, one for each round that it took part in; None for the others.
        instructions: counted by callgrind; None if they were not.
        modules: how many modules are loaded at the first line of the program; None where that is not asked.
    """

    name: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    base: str = "floor"
    rounds: float = 1.0
    times: list[Optional[float]] = field(default_factory=list)
    instructions: Optional[int] = None
    modules: Optional[int] = None


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--no-instructions", action="store_true")
    parser.add_argument("--only", default="", help="a regular expression: these variants and what they need")
    parser.add_argument("--write", type=Path, help="write the table to a file")
    parser.add_argument("--samples", type=Path, help="write the samples to a file, as a pyperf suite")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        variants = [
            variant for variant in prepare(Path(folder)) if re.search(f"^bare|^floor|{chosen.only}", variant.name)
        ]
        for variant in variants:  # writes the bytecode, and fails early
            for _ in range(2):
                run(variant)
            count_modules(variant)
        measure(variants, chosen.rounds)
        if not chosen.no_instructions and shutil.which("valgrind"):
            for variant in variants:
                if median_ratio(variant, named(variants, variant.base)) < HEAVY:
                    variant.instructions = count_instructions(variant)
    text = table(variants, chosen.rounds)
    print(text)
    if chosen.write:
        chosen.write.write_text(text + "\n", encoding="utf-8")
    if chosen.samples:
        save(variants, chosen.samples)


def prepare(folder: Path) -> list[Variant]:
    """Make an environment for each variant."""
    wheels = environments.build(folder)
    ours = [wheels["core"], wheels["autoload"]]

    def make(name: str, *requirements: object) -> environments.Environment:
        # Not by uv, whose environments bring a start-up file of their own.
        environments.call(sys.executable, "-m", "venv", "--without-pip", folder / name)
        environment = environments.Environment(folder / name)
        if requirements:
            environment.install(*requirements)
        return environment

    bare, floor, hotfix = make("bare"), make("floor"), make("hotfix", *ours)
    plant_floor(floor)
    bare_300, floor_300, hotfix_300 = make("bare300"), make("floor300"), make("hotfix300", *ours)
    plant_floor(floor_300)
    for environment in (bare_300, floor_300, hotfix_300):
        plant_dummies(environment)
    core = make("core", wheels["core"])
    autowrapt, certs = make("autowrapt", "autowrapt"), make("certs", "pip-system-certs")
    telemetry = make("telemetry", "opentelemetry-instrumentation", "opentelemetry-distro")
    datadog = make("datadog", "ddtrace")
    launcher = str(core.site_packages / "hotfix" / "_launch")
    telemetry_home = telemetry.site_packages / "opentelemetry" / "instrumentation" / "auto_instrumentation"
    datadog_home = datadog.site_packages / "ddtrace" / "bootstrap"

    def plain(environment: environments.Environment, code: str = "pass") -> list[str]:
        return [str(environment.python), "-c", code]

    def tool(environment: environments.Environment, name: str) -> list[str]:
        return [str(environment.folder / "bin" / name), *plain(environment)]

    quiet = {"DD_TRACE_ENABLED": "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false"}
    quiet["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
    nowhere = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    return [
        Variant("bare interpreter", plain(bare)),
        Variant("floor", plain(floor)),
        Variant("transformers-hotfix-autoload", plain(hotfix)),
        Variant("transformers-hotfix-autoload, HOTFIX=0", plain(hotfix), {"HOTFIX": "0"}),
        Variant("bare interpreter, 300 packages", plain(bare_300), base="floor, 300 packages"),
        Variant("floor, 300 packages", plain(floor_300), base="floor, 300 packages"),
        Variant("transformers-hotfix-autoload, 300 packages", plain(hotfix_300), base="floor, 300 packages"),
        Variant("hotfix run, a child", plain(core), {"PYTHONPATH": launcher}),
        Variant("hotfix run, the command", [str(core.python), "-m", "hotfix", "run", "--", *plain(core)], rounds=0.2),
        Variant("autowrapt, nothing asked for", plain(autowrapt)),
        Variant("autowrapt, active", plain(autowrapt), {"AUTOWRAPT_BOOTSTRAP": "nothing"}, rounds=0.2),
        Variant("import wrapt", plain(core, "import wrapt"), rounds=0.2),
        Variant(
            "opentelemetry-instrument, a child",
            plain(telemetry),
            {"PYTHONPATH": str(telemetry_home), **nowhere},
            rounds=0.1,
        ),
        Variant(
            "opentelemetry-instrument, the command", tool(telemetry, "opentelemetry-instrument"), nowhere, rounds=0.1
        ),
        Variant("pip-system-certs", plain(certs), rounds=0.1),
        Variant("ddtrace-run, a child", plain(datadog), {"PYTHONPATH": str(datadog_home), **quiet}, rounds=0.1),
        Variant("ddtrace-run, the command", tool(datadog, "ddtrace-run"), quiet, rounds=0.1),
    ]


def plant_floor(environment: environments.Environment) -> None:
    """A start-up file that imports one empty module."""
    (environment.site_packages / "empty_module.py").write_text("")
    (environment.site_packages / "empty_module.pth").write_text("import empty_module\n")


def plant_dummies(environment: environments.Environment, number: int = 300) -> None:
    """Packages that do nothing, as many as a training environment has."""
    for index in range(number):
        name = f"dummy_{index:03}"
        package = environment.site_packages / name
        info = environment.site_packages / f"{name}-1.0.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").write_text("")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {name}:main\n")


# ---------------------------------------------------------------------------------------------------------------------
# Below: measuring.


def environment_of(variant: Variant) -> dict[str, str]:
    """The variables of a child; a fixed hash seed makes instructions repeatable."""
    return environments.clean_environment(PYTHONHASHSEED="0", **variant.env)


def run(variant: Variant) -> float:
    """Seconds from start to end."""
    env = environment_of(variant)
    begin = time.perf_counter()
    done = subprocess.run(variant.command, env=env, capture_output=True, check=False)
    elapsed = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{variant.name}: {done.stderr.decode()}")
    return elapsed


def measure(variants: list[Variant], rounds: int) -> None:
    """Fill in the times."""
    order = list(variants)
    for number in range(rounds):
        random.shuffle(order)
        for variant in order:
            due = int((number + 1) * variant.rounds) > int(number * variant.rounds)
            variant.times.append(run(variant) if due else None)


def count_modules(variant: Variant) -> None:
    """How many modules are loaded at the first line of the program, where that is our doing."""
    if variant.command[1:] == ["-c", "pass"]:
        command = [variant.command[0], "-c", "import sys; print(len(sys.modules))"]
        done = subprocess.run(command, env=environment_of(variant), capture_output=True, text=True, check=True)
        variant.modules = int(done.stdout)


def count_instructions(variant: Variant) -> Optional[int]:
    """Instructions of the whole process; None for a command that gives its place to another."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *variant.command]
    done = subprocess.run(command, env=environment_of(variant), capture_output=True, text=True, check=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    return int(counted[1]) if counted else None


def named(variants: list[Variant], name: str) -> Variant:
    """The variant of this name."""
    return next(variant for variant in variants if variant.name == name)


def ratios(variant: Variant, base: Variant) -> list[float]:
    """Time by time of the base, for each round in which both took part."""
    return [time_ / other for time_, other in zip(variant.times, base.times) if time_ is not None and other is not None]


def median_ratio(variant: Variant, base: Variant) -> float:
    """The median of `ratios`."""
    return statistics.median(ratios(variant, base))


# ---------------------------------------------------------------------------------------------------------------------
# Below: telling.


def table(variants: list[Variant], rounds: int) -> str:
    """The result, in Markdown."""
    lines = [
        f"Python {sys.version.split()[0]}, {rounds} rounds, {os.cpu_count()} cores. To the floor: the median of paired "
        "ratios, with quartiles. Instructions by callgrind. Modules: more than the floor.",
        "",
        "| variant | time, ms | to the floor | quartiles | instructions, M | to the floor | modules |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for variant in variants:
        base = named(variants, variant.base)
        own = [value for value in variant.times if value is not None]
        each = ratios(variant, base)
        low, middle, high = statistics.quantiles(each, n=4) if len(each) > 1 else (each * 3)
        counted, relative = "", ""
        if variant.instructions and base.instructions:
            counted, relative = f"{variant.instructions / 1e6:.2f}", f"{variant.instructions / base.instructions:.3f}x"
        modules = "" if variant.modules is None or base.modules is None else f"{variant.modules - base.modules:+}"
        lines.append(
            f"| {variant.name} | {statistics.median(own) * 1000:.1f} | {middle:.3f}x | {low:.2f}-{high:.2f} "
            f"| {counted} | {relative} | {modules} |"
        )
    return "\n".join(lines)


def save(variants: list[Variant], path: Path) -> None:
    """The samples as a pyperf suite."""
    import pyperf

    def benchmark(variant: Variant) -> pyperf.Benchmark:
        metadata: Mapping[str, object] = {"name": variant.name, "loops": 1}
        values = [value for value in variant.times if value is not None]
        return pyperf.Benchmark([pyperf.Run(values, metadata=metadata, collect_metadata=False)])

    pyperf.BenchmarkSuite([benchmark(variant) for variant in variants]).dump(str(path), replace=True)


if __name__ == "__main__":
    main()
