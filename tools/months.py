"""The proofs on the stacks that teams have: transformers with the torch, Python and packages of its month.

    python -m tools.months                       every stack without a result; may be interrupted and resumed
    python -m tools.months --stack 4.49.0        only this one, again; may be repeated
    python -m tools.months --page                runs nothing; writes docs/months.md from the results

Of each stack there is one environment at a time, of some 6 GB: it is rebuilt with the packages that were published
until its date, and removed afterwards (`--keep` keeps it). In it run `hotfix verify`, the tests that need no torch, and
`tools/months_program.py`, which trains, resumes and generates, without hotfix and with it. The results are in
docs/data/months, a file for each stack.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import Version

from tools import results as matrix_results
from tools.testbed import overlay

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "data" / "months"
PAGE = ROOT / "docs" / "months.md"
PROGRAM = Path(__file__).with_name("months_program.py")
NAMED = ("transformers", "torch", "accelerate", "tokenizers", "safetensors", "numpy", "peft", "trl", "torchvision")
CORE = ("tests/asking", "tests/engine", "tests/unit")
SECONDS = 3600
STAND_INS_SINCE = Version("2.5")  # the first torch that loads a backend by its entry point, which the testbed uses


class Stack(NamedTuple):
    """What a team installed in one month.

    Attributes:
        transformers, torch, python: the versions.
        until: the packages are the newest ones that were published before this date.
        more: further requirements.
    """

    transformers: str
    torch: str
    python: str
    until: str
    more: tuple[str, ...] = ()


STACKS = (
    Stack("4.36.2", "2.1.2", "3.9", "2024-01-15", ("numpy<2",)),
    Stack("4.40.2", "2.2.2", "3.10", "2024-05-15", ("numpy<2",)),
    Stack("4.44.2", "2.4.1", "3.10", "2024-09-15"),
    Stack("4.46.3", "2.5.1", "3.11", "2024-12-01"),
    Stack("4.49.0", "2.6.0", "3.11", "2025-03-01"),
    Stack("4.51.3", "2.6.0", "3.12", "2025-05-01"),
    Stack("4.53.3", "2.7.1", "3.12", "2025-07-25"),
    Stack("4.57.6", "2.9.1", "3.12", "2026-01-20"),
    Stack("5.3.0", "2.10.0", "3.13", "2026-03-15"),
    Stack("5.23.0", "2.15.0", "3.13", "2026-11-20"),
)

SIGNS = {"verified": "v", "stand-in": "s", "failed": "**X**", "not shown": "n", "not here": "·"}
_WORST = ("failed", "not shown", "not here", "stand-in", "verified")


def run(stack: Stack, keep: bool = False) -> dict[str, Any]:
    """Make the environment of a stack, and run everything in it.

    Returns:
        The versions of the packages, the proofs, the last line of the tests, and the results of the program.
    """
    place = overlay.cache() / "months" / stack.transformers
    try:
        python = _install(stack, place)
        result = {"versions": _versions(python), **_verified(python), "core": _core(python), **_program(python)}
        _try_stand_ins(python, stack, result["proofs"])
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    return {"stack": stack._asdict(), **result}


def _install(stack: Stack, place: Path) -> Path:
    uv = _uv()
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([uv, "venv", "--quiet", "--python", _interpreter(stack.python), str(place)], check=True)
    python = place / "bin" / "python"
    wanted = [f"transformers=={stack.transformers}", f"torch=={stack.torch}", "accelerate", "peft", "trl", "numpy"]
    wanted += ["torchvision", "pillow"]
    command = [uv, "pip", "install", "--quiet", "--python", str(python), *wanted, *stack.more]
    subprocess.run([*command, "--exclude-newer", stack.until], check=True)
    _add(python, ["-e", f"{ROOT}[cli]", "pytest>=8,<9.2", "pytest-xdist>=3", "hypothesis>=6.100"])
    return python


def _add(python: Path, ours: Sequence[str]) -> None:
    """Install our own requirements, which may be newer than the stack; they change none of its packages."""
    kept = [f"{name}=={version}" for name, version in _versions(python).items()]
    subprocess.run([_uv(), "pip", "install", "--quiet", "--python", str(python), *ours, *kept], check=True)


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else "uv"


def _interpreter(version: str) -> str:
    """A Python of this version: one of pyenv's, or whatever uv finds without a download."""
    place = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = sorted(place.glob(f"{version}.*/bin/python"), reverse=True)
    return str(candidates[0]) if candidates else version


def _versions(python: Path) -> dict[str, str]:
    code = (
        "import importlib.metadata as m, json, sys\n"
        f"names = [n for n in {NAMED!r} if any(True for _ in m.distributions(name=n))]\n"
        "print(json.dumps({n: m.version(n) for n in names}))"
    )
    versions: dict[str, str] = json.loads(_output([str(python), "-c", code]))
    return versions


def _verified(python: Path) -> dict[str, Any]:
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        output = _output([str(python.with_name("hotfix")), "verify", "--json"], cwd=folder, may_fail=True)
    after = os.times()
    certificate = json.loads(output)
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    proofs = [
        {key: proof[key] for key in ("fix", "target", "result", "reason")}
        | (
            {}
            if proof["result"] == "verified"
            else {"before": _short(proof["before"]), "after": _short(proof["after"])}
        )
        for proof in certificate["proofs"]
    ]
    return {"digest": certificate["digest"], "seconds": round(spent), "proofs": proofs}


def _try_stand_ins(python: Path, stack: Stack, proofs: list[dict[str, Any]]) -> None:
    """Try what verify cannot without a GPU: the testbed, with this torch, has flash-attn and xformers for a CPU."""
    waiting = [proof for proof in proofs if proof["result"] == "not here"]
    if Version(stack.torch) < STAND_INS_SINCE:
        for proof in waiting:
            proof["reason"] += f"; the testbed's stand-in needs torch {STAND_INS_SINCE}"
        return
    if not waiting:
        return
    _add(python, ["einops", "uv", "setuptools", "wheel", "ninja", "psutil"])
    fixes = [word for fix in sorted({proof["fix"] for proof in waiting}) for word in ("--fix", fix)]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-m", "tools.matrix", "--fresh", "--release", stack.transformers, *fixes]
        _output([*command, "--results", folder], cwd=str(ROOT), may_fail=True)
        cells = matrix_results.read(Path(folder))["fixes"]
    for proof in waiting:
        cell = cells.get(proof["fix"], {}).get(proof["target"], {}).get(stack.transformers)
        if cell is not None:
            is_good = cell["result"] in ("repaired", "untouched")
            proof["result"] = "stand-in" if is_good else "failed"
            proof["reason"] = "with a stand-in for the missing part" if is_good else _short(cell["reason"])


def _short(text: Any) -> str:
    return str(text).replace(str(Path.home()), "~")[:200]


def _core(python: Path) -> str:
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider", *CORE]
    lines = _output(command, cwd=str(ROOT), may_fail=True).strip().splitlines()
    failed = [line.partition(" - ")[0] for line in lines if line.startswith("FAILED")]
    return "; ".join([lines[-1].partition(" in ")[0].strip("= ") if lines else "no output", *failed[:10]])


def _program(python: Path) -> dict[str, Any]:
    """The results of the program in stock and with hotfix, or its error."""
    results = {}
    for name, words in (("stock", ()), ("armed", ("--armed",))):
        with tempfile.TemporaryDirectory() as folder:
            output = _output([str(python), str(PROGRAM), *words], cwd=folder, may_fail=True)
        last = output.strip().splitlines()[-1:] or [""]
        results[name] = json.loads(last[0]) if last[0].startswith("{") else {"error": _short(output[-300:])}
    return {"program": results}


def _output(command: Sequence[str], cwd: str | None = None, may_fail: bool = False) -> str:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        env.pop(name, None)
    result = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, text=True, check=not may_fail, timeout=SECONDS
    )
    return result.stdout


# -- the page ----------------------------------------------------------------------------------------------------------


def read() -> dict[str, dict[str, Any]]:
    """The results by release of transformers, in the order of `STACKS`."""
    paths = {stack.transformers: FOLDER / f"{stack.transformers}.json" for stack in STACKS}
    return {name: json.loads(path.read_text("utf-8")) for name, path in paths.items() if path.is_file()}


def rendered(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, as Markdown."""
    lines = [
        _HEAD,
        "| transformers | torch | Python | packages | verified | stand-in | failed | not shown | not here | seconds |",
    ]
    lines += ["| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, result in results.items():
        stack, versions = result["stack"], result["versions"]
        others = ", ".join(f"{key} {value}" for key, value in versions.items() if key not in ("transformers", "torch"))
        counts = Counter(proof["result"] for proof in result["proofs"])
        cells = [name, stack["torch"], stack["python"], others, *(str(counts[sign]) for sign in SIGNS)]
        lines.append(f"| {' | '.join([*cells, str(result['seconds'])])} |")
    lines += ["", "## Tests and a program", "", "| transformers | tests without torch | trained, resumed, generated |"]
    lines += ["| --- | --- | --- |"]
    lines += [f"| {name} | {result['core']} | {_compared(result['program'])} |" for name, result in results.items()]
    lines += ["", "## Each fix", "", f"| fix | {' | '.join(results)} |", f"| --- |{' :---: |' * len(results)}"]
    for fix in sorted({proof["fix"] for result in results.values() for proof in result["proofs"]}):
        signs = [
            _sign(proof["result"] for proof in result["proofs"] if proof["fix"] == fix) for result in results.values()
        ]
        lines.append(f"| [`{fix}`](fixes.md#{fix}) | {' | '.join(signs)} |")
    lines += ["", "## Why not", "", "| fix | transformers | result | reason |", "| --- | --- | --- | --- |"]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name, result in results.items():
        for proof in result["proofs"]:
            if proof["result"] not in ("verified", "stand-in"):
                rows.setdefault((proof["fix"], proof["result"], proof["reason"]), []).append(name)
    for (fix, verdict, reason), names in sorted(rows.items()):
        releases = ", ".join(dict.fromkeys(names))
        lines.append(f"| `{fix}` | {releases} | {verdict} | {reason.replace('|', '/')} |")
    return "\n".join([*lines, ""])


def _compared(program: Mapping[str, Mapping[str, Any]]) -> str:
    stock, armed = program["stock"], program["armed"]
    if "error" in armed:
        return f"with hotfix: {armed['error']}"
    if "error" in stock:
        return "ends in stock, runs with hotfix"
    changed = [key for key in armed if stock.get(key) != armed[key]]
    return f"runs; repairs change {', '.join(changed)}" if changed else "runs; the same with hotfix"


def _sign(verdicts: Iterable[str]) -> str:
    held = set(verdicts)
    return next((SIGNS[verdict] for verdict in _WORST if verdict in held), "")


_HEAD = """# Proofs on the stacks of the month

`python -m tools.months` writes this page. Each row is an environment as a team would have pinned it: a release of
transformers with the torch, the Python and the packages of its month, on a CPU. In it run `hotfix verify`, which tries
every fix that this release needs, before and after; the tests that need no torch; and a program that trains a small
Llama with accumulated gradients, resumes from its checkpoint and generates, without hotfix and with it.

v: every function verified; s: the same on the testbed with this torch, where flash-attn and xformers are stand-ins for
the CPU; n: this stack does not show the bug; ·: a part is missing here, such as flash-attn, which
needs a CUDA device; **X**: failed; empty: the release does not need the fix. The seconds are those of the processor,
for all proofs.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if a proof failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.months", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stack", action="append", default=[], metavar="RELEASE", help="only this one, again")
    parser.add_argument("--page", action="store_true", help="write the page from the results, and run nothing")
    parser.add_argument("--keep", action="store_true", help="keep the environment")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.stack) - {stack.transformers for stack in STACKS}
    if unknown:
        parser.error(
            f"--stack {min(unknown)}: not a stack; known are {', '.join(item.transformers for item in STACKS)}"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stack in STACKS if not chosen.page else ():
        path = FOLDER / f"{stack.transformers}.json"
        if stack.transformers in chosen.stack or (not chosen.stack and not path.is_file()):
            result = run(stack, chosen.keep)
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            print(stack.transformers, dict(Counter(proof["result"] for proof in result["proofs"])), result["core"])
    results = read()
    PAGE.write_text(rendered(results), encoding="utf-8")
    return int(any(proof["result"] == "failed" for result in results.values() for proof in result["proofs"]))


if __name__ == "__main__":
    sys.exit(main())
