"""Programs that work must run the same with hotfix: real packages at the releases of their month.

    python -m tools.working                     every pair of packages and releases without a result
    python -m tools.working --package peft      those of one package; --release 4.57.6 those of one release
    python -m tools.working --list              lists the pairs that would run

Each program of ``tests/working/packages`` prints facts: losses, weights, tokens, files, warnings. It runs in empty
folders: without hotfix, with hotfix's defaults, and with every opt-in that restores removed names. The facts, the exit
status and the error output must be the same; lines that begin with ``hotfix:`` are ours. Without hotfix it runs twice:
lines that then differ, such as times and speeds, are left out. A program that fails without hotfix must fail with the
same error with it, or run.

Such a program can also trigger a silent bug: then the numbers change, and should. The fix is found by skipping one
after the other; with those skipped, everything must be the same. `STRUCK` gives the reason why the program is wrong
without them.

The results are ``docs/data/working.json``, and a table of them ``docs/working.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.testbed.run import Result, run_script

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "working" / "packages"
RESULTS = ROOT / "docs" / "data" / "working.json"
PAGE = ROOT / "docs" / "working.md"
_BUT_FOR = "same but for "
MODES: dict[str, dict[str, str]] = {"armed": {}, "names": {"HOTFIX_OPTIN": "removed-names"}}


STRUCK = {
    "num-items-off-by-one": "labels that begin with the first token: the loss is divided by one label a text too many",
    "trainer-ga-multiplied-loss": "a mean of each micro-batch (DPO, sentence embeddings), which nobody divides: "
    "gradients are as many times too large as there are micro-batches",
}


class Pair(NamedTuple):
    """One program with one release of its package on one release of transformers.

    Attributes:
        program: name of a file in `PROGRAMS`.
        transformers: release.
        packages: the packages installed with it.
    """

    program: str
    transformers: str
    packages: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name of the pair in the results."""
        return " ".join((self.program, self.transformers, *self.packages))


def _pairs(program: str, rows: str, *more: str) -> list[Pair]:
    """Pairs from lines of ``transformers package==release …``."""
    made = []
    for row in filter(None, map(str.strip, rows.strip().splitlines())):
        release, *packages = row.split()
        made.append(Pair(program, release, (*packages, *more)))
    return made


PAIRS = [
    *_pairs(
        "plain_trainer",
        """
        4.38.2 accelerate==0.27.2
        4.41.2 accelerate==0.30.1
        4.44.2 accelerate==0.33.0
        4.46.1 accelerate==1.0.1
        4.47.1 accelerate==1.2.1
        4.48.0 accelerate==1.2.1
        4.50.3 accelerate==1.5.2
        4.52.4 accelerate==1.7.0
        4.53.3 accelerate==1.8.1
        4.56.0 accelerate==1.10.1
        4.57.6 accelerate==1.11.0
        5.0.0 accelerate==1.12.0
        5.2.0 accelerate==1.12.0
        5.5.1 accelerate==1.12.0
        5.23.0 accelerate==1.12.0
        """,
        "datasets",
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "everyday_models",
        """
        4.38.2 accelerate==0.27.2
        4.42.4 accelerate==0.32.1
        4.45.2 accelerate==1.0.1
        4.48.3 accelerate==1.3.0
        4.49.0 accelerate==1.4.0
        4.51.3 accelerate==1.6.0
        4.52.4 accelerate==1.7.0
        4.53.3 accelerate==1.8.1
        4.55.4 accelerate==1.10.1
        4.57.6 accelerate==1.11.0
        5.0.0 accelerate==1.12.0
        5.3.0 accelerate==1.12.0
        5.5.4 accelerate==1.12.0
        5.12.1 accelerate==1.12.0
        5.23.0 accelerate==1.12.0
        """,
    ),
    *_pairs(
        "peft_lora",
        """
        4.38.2 peft==0.9.0 accelerate==0.27.2
        4.40.2 peft==0.10.0 accelerate==0.29.3
        4.45.2 peft==0.13.2 accelerate==1.0.1
        4.46.3 peft==0.13.2 accelerate==1.1.1
        4.48.3 peft==0.14.0 accelerate==1.3.0
        4.51.3 peft==0.15.2 accelerate==1.6.0
        4.53.3 peft==0.16.0 accelerate==1.8.1
        4.57.6 peft==0.17.1 accelerate==1.11.0
        5.0.0 peft==0.18.0 accelerate==1.12.0
        5.23.0 peft==0.18.0 accelerate==1.12.0
        5.23.0 peft==0.21.2 accelerate==1.15.0
        """,
        "datasets",
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "trl_sft",
        """
        4.40.2 trl==0.8.6 accelerate==0.29.3
        4.45.2 trl==0.11.4 accelerate==1.0.1
        4.46.3 trl==0.12.2 accelerate==1.1.1
        4.49.0 trl==0.15.2 accelerate==1.4.0
        4.51.3 trl==0.17.0 accelerate==1.6.0
        4.57.6 trl==0.24.0 accelerate==1.11.0
        5.0.0 trl==0.27.0 accelerate==1.12.0
        5.23.0 trl==0.29.0 accelerate==1.12.0
        """,
        "datasets",
        "pyarrow==19.0.1",
        "rich",
    ),
    *_pairs(
        "trl_dpo",
        """
        4.46.3 trl==0.12.2 accelerate==1.1.1
        4.49.0 trl==0.15.2 accelerate==1.4.0
        4.51.3 trl==0.17.0 accelerate==1.6.0
        4.57.6 trl==0.24.0 accelerate==1.11.0
        5.0.0 trl==0.27.0 accelerate==1.12.0
        5.23.0 trl==0.29.0 accelerate==1.12.0
        """,
        "datasets",
        "pyarrow==19.0.1",
        "rich",
    ),
    *_pairs(
        "sentence_embeddings",
        """
        4.40.2 sentence-transformers==2.7.0 accelerate==0.29.3
        4.41.2 sentence-transformers==3.0.1 accelerate==0.30.1
        4.46.3 sentence-transformers==3.3.1 accelerate==1.1.1
        4.51.3 sentence-transformers==4.1.0 accelerate==1.6.0
        4.57.6 sentence-transformers==5.1.2 accelerate==1.11.0
        5.0.0 sentence-transformers==5.2.2 accelerate==1.12.0
        5.23.0 sentence-transformers==6.2.0 accelerate==1.15.0
        """,
        "datasets",
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "setfit_head",
        """
        4.40.2 setfit==1.0.3 sentence-transformers==2.7.0 accelerate==0.29.3 datasets==2.19.2 huggingface_hub==0.23.5
        4.46.3 setfit==1.1.1 sentence-transformers==3.3.1 accelerate==1.1.1 datasets==3.1.0
        5.0.0 setfit==1.1.3 sentence-transformers==5.2.2 accelerate==1.12.0 datasets==3.6.0
        5.23.0 setfit==1.2.0 sentence-transformers==6.2.0 accelerate==1.15.0 datasets
        """,
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "adapters_bottleneck",
        """
        4.45.2 adapters==1.0.1 accelerate==1.0.1
        4.47.1 adapters==1.1.0 accelerate==1.2.1
        4.51.3 adapters==1.2.0 accelerate==1.6.0
        4.57.6 adapters==1.3.0 accelerate==1.11.0
        """,
        "datasets",
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "llamafactory_sft",
        """
        4.45.0 llamafactory==0.9.0 datasets==2.21.0
        4.46.1 llamafactory==0.9.1 datasets==3.1.0
        4.49.0 llamafactory==0.9.2 datasets==3.2.0
        4.52.4 llamafactory==0.9.3 datasets==3.6.0
        """,
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "swift_sft",
        """
        4.47.1 ms-swift==3.0.1 datasets==3.2.0
        4.48.3 ms-swift==3.1.0 datasets==3.2.0
        4.51.3 ms-swift==3.4.0 datasets==3.3.2
        4.52.4 ms-swift==3.5.3 datasets==3.3.2
        4.56.0 ms-swift==3.8.0 datasets==3.6.0
        """,
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "diffusers_text",
        """
        4.40.2 diffusers==0.27.2 accelerate==0.29.3 huggingface_hub==0.23.5
        4.48.3 diffusers==0.32.2 accelerate==1.3.0
        4.57.6 diffusers==0.35.2 accelerate==1.11.0
        5.0.0 diffusers==0.36.0 accelerate==1.12.0
        5.23.0 diffusers==0.42.1 accelerate==1.15.0
        """,
    ),
    *_pairs(
        "liger_patched",
        """
        4.46.3 liger-kernel==0.5.2
        4.51.3 liger-kernel==0.5.10
        4.57.6 liger-kernel==0.6.3
        5.0.0 liger-kernel==0.6.4
        5.23.0 liger-kernel==0.8.5
        """,
    ),
    *_pairs(
        "optimum_transformed",
        """
        4.40.2 optimum==1.19.2 accelerate==0.29.3
        """,
        "datasets",
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "flag_embeddings",
        """
        4.44.2 FlagEmbedding==1.2.11 peft==0.12.0 accelerate==0.33.0 datasets==2.21.0
        4.49.0 FlagEmbedding==1.3.4 peft==0.14.0 accelerate==1.4.0 datasets==3.2.0
        """,
        "pyarrow==19.0.1",
    ),
    *_pairs(
        "spacy_pipeline",
        """
        4.36.2 spacy-transformers==1.3.5 spacy==3.7.5 numpy<2
        4.49.0 spacy-transformers==1.3.8 spacy==3.8.4
        """,
        "click",
    ),
    *_pairs(
        "gliner_entities",
        """
        4.45.2 gliner==0.2.13
        4.51.3 gliner==0.2.21
        """,
    ),
    *_pairs(
        "lm_eval_choices",
        """
        4.46.3 lm-eval==0.4.7 accelerate==1.1.1
        4.57.6 lm-eval==0.4.9.1 accelerate==1.11.0
        """,
    ),
]


def run_pair(pair: Pair, timeout: float = 300) -> dict[str, Any]:
    """Run one pair in all modes.

    Returns:
        The entry for the results: for each mode ``same`` or the differences, and the number of facts.
    """
    try:
        stock = _facts(_run(pair, {}, armed=False, timeout=timeout))
    except RuntimeError as error:
        return {"stock": f"cannot be installed: {str(error).strip().splitlines()[-1][:200]}"}
    stock = _steady(stock, _facts(_run(pair, {}, armed=False, timeout=timeout)))
    entry: dict[str, Any] = {"stock": _ending(stock), "facts": len(stock["facts"])}
    for mode, switches in MODES.items():
        armed = _steady(_facts(_run(pair, switches, armed=True, timeout=timeout)), stock)
        entry[mode] = _difference(stock, armed)
        entry["repaired"] = max(armed["repaired"], entry.get("repaired", 0))
        if entry[mode].startswith("differs"):
            entry[mode] = _without_what_struck(pair, switches, stock, armed) or entry[mode]
    return entry


def _without_what_struck(pair: Pair, switches: dict[str, str], stock: dict[str, Any], armed: dict[str, Any]) -> str:
    """The silent bugs of `STRUCK` that the program triggers, if it is the same without their fixes; else nothing."""

    def skipping(*fixes: str) -> dict[str, Any]:
        armed = _facts(_run(pair, {**switches, "HOTFIX_SKIP": ",".join(fixes)}, armed=True, timeout=300))
        return _steady(armed, stock)

    causes = [
        fix
        for fix in armed["silent"]
        if fix in STRUCK and _difference(armed, skipping(fix)).startswith("differs in facts")
    ]
    is_same = bool(causes) and _difference(stock, skipping(*causes)) == "same"
    return _BUT_FOR + ", ".join(causes) if is_same else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.working", description="Run working programs, stock and armed."
    )
    parser.add_argument("--package", default="", help="only programs whose name contains this")
    parser.add_argument("--release", default="", help="only this release of transformers")
    parser.add_argument("--fresh", action="store_true", help="run what is done already, too")
    parser.add_argument("--list", action="store_true", help="only print what would be run")
    options = parser.parse_args(arguments)
    chosen = [pair for pair in PAIRS if options.package in pair.program and options.release in ("", pair.transformers)]
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    todo = [pair for pair in chosen if options.fresh or not _is_good(results.get(pair.key, {}))]
    print(f"{len(chosen)} pairs, {len(chosen) - len(todo)} of them done")
    for pair in todo:
        if options.list:
            print(pair.key)
            continue
        entry = results[pair.key] = run_pair(pair)
        known = {pair.key for pair in PAIRS}
        results = {key: results[key] for key in sorted(results) if key in known}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
        print(f"{pair.key}: {entry}", flush=True)
    bad = [pair.key for pair in chosen if not _is_good(results.get(pair.key, {}))]
    print(*(f"not the same: {key}" for key in bad), sep="\n")
    return int(bool(bad))


def _short(cell: Any) -> str:
    text = str(cell)
    return text.partition(":")[0] if text.startswith("differs") else text


def page(results: dict[str, Any]) -> str:
    """The table of all pairs, as Markdown."""
    lines = [
        "# Working programs",
        "",
        "Real packages at the releases of their month: each program trains, generates, saves and reads again. It runs",
        "without hotfix, with hotfix, and with `HOTFIX_OPTIN=removed-names`, and prints facts: losses, weights,",
        "tokens, files, warnings. All of them have to be equal, bit for bit. `nox -s working` runs them again.",
        "",
        "*repaired* counts the functions that hotfix had repaired in that process. Where a program triggers a silent",
        "bug, its numbers are wrong without hotfix; the table names the fix. With that one skipped, all is equal:",
        "",
        *(f"- `{fix}`: {reason}." for fix, reason in STRUCK.items()),
        "",
        "*Differs* in the last column: the opt-in also turns on fixes that change running programs, such as defaults",
        "of 4.x in the place of those of 5.x; the list of fixes has the reason of each.",
        "",
        "| program | transformers | with | without hotfix | facts | repaired | hotfix | with removed names |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for pair in PAIRS:
        entry = results.get(pair.key)
        if entry:
            packages = " ".join(pair.packages)
            cells = (entry["stock"], *(_short(entry.get(name, "")) for name in ("facts", "repaired", *MODES)))
            row = (pair.program, pair.transformers, packages, *cells)
            lines.append(f"| {' | '.join(cell.replace('|', ' ') for cell in row)} |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------------------------------


def _run(pair: Pair, switches: dict[str, str], armed: bool, timeout: float) -> Result:
    env = {**switches, "WORKING_ARMED": "1" if armed else "", "PYTHONHASHSEED": "0", "HOTFIX_LOG": "info"}
    return run_script(
        PROGRAMS / f"{pair.program}.py",
        transformers=pair.transformers,
        flash_attn=None,
        extras=pair.packages,
        env=env,
        timeout=timeout,
    )


def _facts(result: Result) -> dict[str, Any]:
    lines = [_neutral(line) for line in result.stdout.splitlines()]
    errors = [_neutral(line) for line in result.stderr.splitlines() if line.strip() and not _is_ours(line)]
    ours = [line for line in result.stderr.splitlines() if re.match(r"hotfix: \S+: applied to", line)]
    silent = sorted({line.split(":")[1].strip() for line in ours if "; results change" in line})
    return {
        "facts": lines,
        "errors": errors,
        "status": result.returncode,
        "repaired": len(ours),
        "silent": silent,
    }


def _steady(run: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A run without the lines that differ between two runs without hotfix: times, speeds, memory.

    `other` is the second of these runs, or the result of this function for the two.
    """
    unsteady = other.get("unsteady")
    if unsteady is None:
        pairs = ((run[name], other[name]) for name in ("facts", "errors"))
        unsteady = {_shape(line) for first, two in pairs for line in set(first) ^ set(two)}
    kept = {name: [line for line in run[name] if _shape(line) not in unsteady] for name in ("facts", "errors")}
    return {**run, **kept, "unsteady": unsteady}


def _shape(line: str) -> str:
    line = re.sub(r'"[0-9a-f]{16}"', "DIGEST", line)
    return re.sub(r"\s*[\d.,]+(e[-+]\d+)?", "N", line)


def _is_ours(line: str) -> bool:
    """Whether a line of the error output comes from hotfix, or shows a time."""
    is_said = ("hotfix" in line or ": applied to transformers" in line) and "itself failed" not in line
    return is_said or bool(re.search(r"\d+%\||it/s|s/it|examples/s", line))


def _neutral(line: str) -> str:
    """A line without the parts that vary from run to run: folders, addresses, times."""
    line = re.sub(r"/tmp/[\w./-]+", "TMP", line)
    line = re.sub(r"/tmp\w{8}\b", "/TMP", line)
    line = re.sub(r"0x[0-9a-f]+", "ADDRESS", line)
    line = re.sub(r"""(\w*(?:runtime|per_second|flos)['"]?\s*[:=]) *['"]?[\d.e:+-]+['"]?""", r"\1 TIME", line)
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]?\d*", "TIME", line)
    return re.sub(r"line \d+|\.py:\d+", "LINE", line)


def _ending(facts: dict[str, Any]) -> str:
    if not facts["status"]:
        return "runs"
    return f"fails: {facts['errors'][-1][:160] if facts['errors'] else facts['status']}"


def _difference(stock: dict[str, Any], armed: dict[str, Any]) -> str:
    if stock["status"] and not armed["status"]:
        return "repaired"
    for name in ("facts", "errors", "status"):
        if stock[name] != armed[name]:
            return f"differs in {name}: {_first(stock[name], armed[name])}"
    return "same"


def _first(stock: Any, armed: Any) -> str:
    if isinstance(stock, int):
        return f"{stock} and {armed}"
    pairs: Iterable[tuple[str, str]] = zip([*stock, "(end)"], [*armed, "(end)"], strict=False)
    for before, after in pairs:
        if before != after:
            return f"{before[:150]} and {after[:150]}"
    return "their number"


def _is_good(entry: dict[str, Any]) -> bool:
    runs = entry.get("stock") == "runs"
    return all(entry.get(mode, "").startswith("same") if runs else entry.get(mode) == "repaired" for mode in MODES)


if __name__ == "__main__":
    sys.exit(main())
