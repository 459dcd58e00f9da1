"""``hotfix verify``: the proof of each fix, run on this node, before and after.

Each fix has a small case that shows its bug. It is run twice, once without hotfix and once with only that fix, for
every function that is broken in the installed release. Fixes for other bugs that the case meets are armed in both.

A repair that does not hold is a failure. A case that shows no bug here, because of another torch or Python, is not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ...fix import Fix, Target
    from ...proofs.compare import Difference

HELP = "run the proofs of the fixes here, and print a certificate"
EXAMPLES = (
    "hotfix verify",
    "hotfix verify flash-rotary-dtype --json > certificate.json",
    "pip install --target /tmp/fixed transformers==4.53.0 && hotfix verify --against /tmp/fixed",
)
VERIFIED, FAILED, IMPOSSIBLE, NOT_SHOWN = "verified", "failed", "not here", "not shown"


@dataclass(frozen=True)
class Proof:
    """The result of the case of one target.

    Attributes:
        fix: its id.
        target: ``module:qualname``.
        result: ``verified``, ``failed``, ``not here`` if the case cannot run here, or ``not shown`` if it shows no bug.
        reason: what it rests on, in a sentence.
        before: the error without hotfix, or ``ran``.
        after: the same with the fix.
        changed: the largest difference that the fix makes to any result, absolute; None where there was no result, and
            infinite where there are other results or NaN.
        oracle: the same, of the result with the fix and that of the release named by ``--against``; None without one.
    """

    fix: str
    target: str
    result: str
    reason: str
    before: str
    after: str
    changed: Optional[float] = None
    oracle: Optional[float] = None

    def to_dict(self) -> dict[str, object]:
        """The public form, as in ``hotfix verify --json``; JSON has no infinite numbers."""
        return {name: "infinite" if value == math.inf else value for name, value in asdict(self).items()}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", nargs="*", help="ids of fixes (default: all that repair something here)")
    parser.add_argument("--against", metavar="DIR", help="a folder with a fixed release, for comparing the results")
    parser.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="timeout per function, in seconds (default: 600)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; the status is 1 if a proof fails, or if none of the proofs could run."""
    from .. import CommandError, screen

    if importlib.util.find_spec("torch") is None:
        raise CommandError("the proofs need torch, which is not installed; install it: pip install torch")
    try:
        import torch  # noqa: F401 - the proofs import it
    except (ImportError, OSError) as error:
        raise CommandError(f"the proofs need torch, which cannot be imported: {error}; reinstall torch") from error
    if chosen.against and not (Path(chosen.against) / "transformers").is_dir():
        raise CommandError(
            f"--against {chosen.against}: the folder does not contain transformers; install it there: "
            f"pip install --target {chosen.against} transformers==…"
        )
    work = _work(chosen.id)
    out = None if chosen.json else screen.Screen()
    proofs: list[Proof] = []
    machine: dict[str, Any] = {}
    steps = (3 if chosen.against else 2) * len(work)
    with _Processes(chosen.timeout) as processes, screen.progress(out, steps, "verify") as step:
        for fix, targets in work:
            proofs += _prove(fix, targets, chosen.against, processes, step, machine)
    certificate = _certificate(proofs, machine, chosen.against)
    if out is None:
        screen.print_json(certificate)
    else:
        _print(out, certificate, proofs)
    results = {proof.result for proof in proofs}
    return int(FAILED in results or (bool(proofs) and VERIFIED not in results))


# ---------------------------------------------------------------------------------------------------------------------
# Below: what there is to prove, and one fix.


def _work(ids: Sequence[str]) -> list[tuple[Fix, list[Target]]]:
    from ... import proofs, session
    from ...versions import verdict
    from ...versions.judgement import Verdict
    from .. import CommandError, bugs

    work = []
    for id in ids or session.current().catalogue.entries:
        entry = session.current().catalogue.entries.get(bugs.named(id).id)
        if entry is None:
            raise CommandError(
                f"{id} is a known bug that hotfix does not repair; `hotfix explain {id}` prints its report"
            )
        fix = entry.load()
        if not proofs.exists(entry.module, fix):
            continue
        # A pattern matches modules of the user; the case brings such a module.
        broken = [
            target
            for target in fix.targets
            if "*" in target.module or verdict.judge_installed(fix, target).verdict is Verdict.BROKEN
        ]
        if broken and proofs.load(entry.module, fix):
            work.append((fix, broken))
    return work


def _prove(
    fix: Fix,
    targets: list[Target],
    against: Optional[str],
    processes: _Processes,
    step: Callable[[str], None],
    machine: dict[str, Any],
) -> Iterator[Proof]:
    with tempfile.TemporaryDirectory(prefix="hotfix-verify-") as place:
        folder = Path(place)
        step(f"{fix.id}: before")
        before = processes.run(fix, targets, folder / "before", _switches(fix.case_spec.with_fixes), machine)
        step(f"{fix.id}: after")
        armed = _switches((*fix.case_spec.with_fixes, fix.id))
        after = processes.run(fix, targets, folder / "after", armed, machine)
        oracle = {}
        if against:
            step(f"{fix.id}: the fixed release")
            path = os.pathsep.join([os.path.abspath(against), os.environ.get("PYTHONPATH", "")])
            unarmed = {"HOTFIX": "0", "PYTHONPATH": path.rstrip(os.pathsep)}
            oracle = processes.run(fix, targets, folder / "oracle", unarmed, {})
        for target in targets:
            name = str(target)
            yield _proved(fix, name, before[name], after[name], oracle.get(name), machine)


def _switches(ids: Sequence[str]) -> dict[str, str]:
    """The settings that arm these fixes and no others, with their opt-in parts."""
    from ... import session

    entries = session.current().catalogue.entries
    opt_in = ",".join(id for id in ids if id in entries and (entries[id].optin or entries[id].group))
    return {"HOTFIX_ONLY": ",".join(ids), "HOTFIX_OPTIN": opt_in, "HOTFIX_LOG": "quiet"} if ids else {"HOTFIX": "0"}


def _proved(
    fix: Fix, target: str, before: dict[str, Any], after: dict[str, Any], oracle: Any, machine: dict[str, Any]
) -> Proof:
    """The result of the runs; `oracle` is None without ``--against``."""
    change, distance = _difference(fix, before, after), _difference(fix, after, oracle)
    proof = Proof(fix.id, target, FAILED, "", _word(before), _word(after), _absolute(change), _absolute(distance))
    lacking = [name for name, version in fix.case_spec.packages.items() if version is not None and not _is_here(name)]
    if after["error"] and before["error"]:
        if lacking:
            return replace(proof, result=IMPOSSIBLE, reason=f"cannot be verified here: needs {' and '.join(lacking)}")
        if not machine.get("flash_attention") and _NEEDS_FLASH.search(": ".join(after["error"])):
            where = "a CUDA device" if machine.get("device_kind") == "cpu" else "flash-attn to work"
            return replace(proof, result=IMPOSSIBLE, reason=f"cannot be verified here: needs {where}")
        if not _is_of_the_bug(fix, before) and before["error"] == after["error"]:
            return replace(proof, result=IMPOSSIBLE, reason=f"the case cannot run here: {proof.before}")
    if after["error"]:
        return replace(proof, reason="the repaired code raises as well")
    if "*" not in target and target not in after["applied"]:
        return replace(proof, reason="the fix was not applied")
    if before["error"] and not _is_of_the_bug(fix, before):
        return replace(proof, result=NOT_SHOWN, reason=f"another error without the fix {_stack()}, none with it")
    if not before["error"] and not change:
        return replace(proof, result=NOT_SHOWN, reason=f"the case shows no bug {_stack()}")
    if oracle and oracle["error"]:
        return replace(proof, reason=f"the fixed release raises {_word(oracle)}")
    if distance and distance.over:
        return replace(proof, reason=f"the fixed release gives another result: {distance.name}")
    reason = "raises without the fix, runs with it" if before["error"] else "wrong without the fix, different with it"
    return replace(proof, result=VERIFIED, reason=reason)


# Where flash-attn cannot be loaded, its functions are None.
_NEEDS_FLASH = re.compile(r"\b_?flash|cuda|triton|'NoneType' object is not callable", re.IGNORECASE)


def _is_of_the_bug(fix: Fix, result: dict[str, Any]) -> bool:
    return re.search(fix.case_spec.raises, ": ".join(result["error"])) is not None


def _stack() -> str:
    """The parts of this stack that most often decide whether a case shows its bug."""
    versions = " and ".join(f"{name} {metadata.version(name)}" for name in ("torch", "accelerate") if _is_here(name))
    return f"with {versions}, Python {platform.python_version()}"


def _absolute(difference: Optional[Difference]) -> Optional[float]:
    return None if difference is None else difference.absolute


def _is_here(distribution: str) -> bool:
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Below: processes.


class _Processes:
    """Runs cases in processes: in forks of two hosts, or each fix in a fresh one; see `child`.

    Args:
        seconds: how long one target may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._hosts: dict[bool, subprocess.Popen[str]] = {}

    def __enter__(self) -> _Processes:
        import torch

        self._forks = sys.platform == "linux" and not torch.cuda.is_available()
        return self

    def __exit__(self, *error: object) -> None:
        for host in self._hosts.values():
            host.kill()
            host.communicate()

    def run(
        self, fix: Fix, targets: Sequence[Target], folder: Path, switches: dict[str, str], machine: dict[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Run the case of a fix.

        Args:
            fix: the fix.
            targets: for these.
            folder: does not exist yet.
            switches: the settings of hotfix, and the PYTHONPATH if it is another one.
            machine: gets the description of the machine.

        Returns:
            The results by target.
        """
        folder.mkdir()
        results: dict[str, dict[str, Any]] = {}
        left = [(target.module, target.qualname) for target in targets]
        while left:
            order = {"fix": fix.id, "targets": left, "seconds": self._seconds, "forks": self._forks}
            (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
            error = self._carry_out(folder, switches, self._seconds * len(left))
            results.update(_written(folder, machine))
            left = [names for names in left if ":".join(names) not in results]
            if left:  # the process died at the first of them
                results[":".join(left.pop(0))] = {"error": ["ProcessDied", error], "applied": [], "tensors": None}
        return results

    def _carry_out(self, folder: Path, switches: dict[str, str], seconds: float) -> str:
        """Run one order; returns why it ended early, or an empty text."""
        if not self._forks or "PYTHONPATH" in switches:
            return _in_a_fresh_process(folder, switches, seconds)
        host = self._host(with_common=switches.get("HOTFIX") == "0")
        assert host.stdin is not None
        assert host.stdout is not None
        order = {"folder": str(folder), "settings": switches, "seconds": seconds}
        try:
            host.stdin.write(json.dumps(order) + "\n")
            host.stdin.flush()
            return str(json.loads(host.stdout.readline() or '"its host has ended"'))
        except BrokenPipeError:
            self._forks = False  # from here on without hosts
            return _in_a_fresh_process(folder, switches, seconds)

    def _host(self, with_common: bool) -> subprocess.Popen[str]:
        if with_common not in self._hosts:
            self._hosts[with_common] = subprocess.Popen(
                [sys.executable, "-c", f"{_CHILD} import serve; serve({with_common})"],
                env={**_environment(), **({"HOTFIX": "0"} if with_common else {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._hosts[with_common]


_CHILD = "from hotfix.commands.verify.child"


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "HOTFIX" and not name.startswith("HOTFIX_")}


def _in_a_fresh_process(folder: Path, switches: dict[str, str], seconds: float) -> str:
    from .child import last_line

    armed = "" if switches.get("HOTFIX") == "0" else "import hotfix.auto; "
    with (folder / "stderr").open("wb") as output:
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"{armed}import sys; {_CHILD} import main; main(sys.argv[1])", str(folder)],
                env={**_environment(), **switches},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"took longer than {seconds:g} seconds"
    return f"ended with {done.returncode}: {last_line(folder / 'stderr')}"


def _written(folder: Path, machine: dict[str, Any]) -> dict[str, dict[str, Any]]:
    file = folder / "results.jsonl"
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    for entry in entries:
        machine.update(entry.get("machine", {}))
    return {entry["target"]: entry for entry in entries if "target" in entry}


def _word(run: dict[str, Any]) -> str:
    return f"{run['error'][0]}: {' '.join(run['error'][1].split())[:160]}" if run["error"] else "ran"


def _difference(fix: Fix, result: Any, other: Any) -> Optional[Difference]:
    """The difference between the results of two runs; None if one of them has none."""
    if not result or not other or not result["tensors"] or not other["tensors"]:
        return None
    import torch

    from ...proofs.compare import difference

    left, right = (torch.load(run["tensors"], weights_only=True) for run in (result, other))
    return difference(left, right, fix.case_spec.tolerance)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the certificate.


def _certificate(proofs: Sequence[Proof], machine: dict[str, Any], against: Optional[str]) -> dict[str, Any]:
    from ... import __version__
    from ...engine.policy import Policy
    from ...reports.report import of_environment

    report = of_environment(Policy())
    return {
        "hotfix": __version__,
        "digest": report.digest,
        "date": datetime.fromtimestamp(time.time(), timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": machine.get("device", "none"),
        "flash_attention": bool(machine.get("flash_attention")),
        "packages": dict(report.packages),
        "oracle": f"transformers in {against}" if against else None,
        "proofs": [proof.to_dict() for proof in proofs],
    }


def _print(out: Any, certificate: dict[str, Any], proofs: Sequence[Proof]) -> None:
    packages = ", ".join(f"{name} {version}" for name, version in certificate["packages"].items())
    flash = "runs" if certificate["flash_attention"] else "does not run"
    out.line(f"hotfix {certificate['hotfix']} (patch set {certificate['digest']}), {certificate['date']}", "bold")
    out.facts(
        [
            ("Python", f"{certificate['python']} on {certificate['system']}"),
            ("Packages", packages or "none of those that matter"),
            ("Device", f"{certificate['device']}; flash-attn {flash} on it"),
            ("Compared to", certificate["oracle"] or "none; --against DIR names a folder with a fixed release"),
        ]
    )
    if not proofs:
        out.line("There is nothing to prove: no fix has anything to repair here.")
        return
    rows = [
        (
            proof.result,
            proof.fix,
            _short(proof.target),
            proof.before,
            proof.after,
            _number(proof.changed),
            _number(proof.oracle),
        )
        for proof in proofs
    ]
    columns = ("result", "fix", "function", "before", "after", "changed by", "to fixed release")
    out.table(
        columns, rows, stacked=[(proof.result, proof.fix, _short(proof.target), _in_words(proof)) for proof in proofs]
    )
    for reason in dict.fromkeys(f"{proof.fix}: {proof.reason}" for proof in proofs if proof.result != VERIFIED):
        out.line(reason)
    if all(proof.result == IMPOSSIBLE for proof in proofs):
        out.line("Nothing was proved here.")


def _in_words(proof: Proof) -> str:
    """The columns in words, for stacked rows without headings."""
    said = [f"before: {proof.before}", f"after: {proof.after}"]
    if proof.changed is not None:
        said.append(f"changed by {_number(proof.changed)}")
    if proof.oracle is not None:
        said.append(f"{_number(proof.oracle)} from the fixed release")
    return "; ".join(said)


def _number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.3g}"


def _short(target: str) -> str:
    from ...reports import tables

    return f"{tables.model_of(target)}:{target.rpartition(':')[2]}"
