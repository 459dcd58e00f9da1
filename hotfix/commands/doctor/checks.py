"""The checks of ``hotfix doctor``: one function for each question; each yields its answers."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from ... import session
from ..._support.words import shown
from ...versions import installed
from ...versions.judgement import Verdict
from .. import launch

PYTHONS = ((3, 9), (3, 13))  # those in noxfile.py
PATCHERS = {"liger-kernel": "Liger-Kernel", "unsloth": "Unsloth", "axolotl": "axolotl"}
_SECONDS = 120


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        level: ``ok``, ``note``, ``warning`` (something may go wrong), ``problem`` (something does).
        subject: the part of the environment.
        state: the state of that part.
        advice: what to do; empty if there is nothing to do.
    """

    level: str
    subject: str
    state: str
    advice: str = ""

    def to_dict(self) -> dict[str, str]:
        """The public form, as in ``hotfix doctor --json``."""
        return {"level": self.level, "subject": self.subject, "found": self.state, "advice": self.advice}


def examine(quick: bool = False) -> list[Answer]:
    """Answer every question about the environment of this interpreter.

    Args:
        quick: leave out checks that start other interpreters.
    """
    checks = [check for check in CHECKS if not (quick and check in SLOW)]
    return [finding for check in checks for finding in check()]


# ---------------------------------------------------------------------------------------------------------------------
# Below: this interpreter, and the way that hotfix is armed in it.


def python() -> Iterator[Answer]:
    """The version of Python, and its options that change the start-up code."""
    version = platform.python_version()
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        yield Answer("ok", "Python", f"{version} at {sys.executable}")
    else:
        first, last = (".".join(map(str, numbers)) for numbers in PYTHONS)
        sentence = f"{version} is not a tested version"
        yield Answer("warning", "Python", sentence, f"use Python {first} to {last}")
    for flag, letter, loses in (
        ("no_site", "-S", "start-up files and site-packages are not looked at"),
        ("isolated", "-I", "PYTHONPATH is not looked at, so `hotfix run` does not reach it"),
        ("ignore_environment", "-E", "PYTHONPATH is not looked at, so `hotfix run` does not reach it"),
    ):
        if getattr(sys.flags, flag):
            advice = "begin the program with `import hotfix.auto`"
            yield Answer("warning", f"python {letter}", f"this interpreter runs under {letter}: {loses}", advice)
    lazy = os.environ.get("PYTHON_LAZY_IMPORTS", "") or str(sys._xoptions.get("lazy_imports", ""))
    if lazy == "all":
        sentence = "PYTHON_LAZY_IMPORTS=all: from Python 3.15 on, a bare `import hotfix.auto` never runs"
        yield Answer(
            "warning", "lazy imports", sentence, "put it in a try block, use the start-up file or `hotfix run`"
        )


def injection() -> Iterator[Answer]:
    """The ways by which hotfix is armed, measured in fresh interpreters."""
    if os.environ.get("HOTFIX") == "0":
        yield Answer("warning", "switched on", "HOTFIX=0 turns hotfix off", "unset HOTFIX")
        return
    armed = {flag: _is_armed(flag) for flag in ("", "-I", "-S")}
    reached = ", ".join(f"python {flag}".strip() for flag, live in armed.items() if live)
    missed = ", ".join(f"python {flag}".strip() for flag, live in armed.items() if not live)
    ways = " and ".join(_ways())
    if armed[""]:
        sentence = f"by {ways or 'an unknown way'}: {reached}" + (f"; not {missed}" if missed else "")
        yield Answer("ok", "switched on", sentence)
    elif ways:
        yield Answer(
            "problem",
            "switched on",
            f"{ways} is installed, but a fresh interpreter does not arm hotfix",
            "`python -c 'import hotfix.auto'` says why",
        )
    else:
        advice = "make `import hotfix.auto` the first import, or use `hotfix run` or transformers-hotfix-autoload"
        yield Answer("note", "switched on", "no start-up file: hotfix runs only in programs that import it", advice)


def sitecustomize() -> Iterator[Answer]:
    """The ``sitecustomize`` and ``usercustomize`` that Python imports at start-up."""
    for name in ("sitecustomize", "usercustomize"):
        spec = installed.find_spec(name)
        origin = spec.origin if spec else None
        if origin and Path(origin).resolve().parent not in (launch.FOLDER, launch.AUDIT_FOLDER):
            sentence = f"{origin} is imported at every start-up"
            yield Answer("note", name, sentence, "none needed: `hotfix run` arms hotfix and then imports it")


def environments() -> Iterator[Answer]:
    """A virtual environment that was made from another one does not see the start-up files of the outer one."""
    home = ""
    config = Path(sys.prefix) / "pyvenv.cfg"
    if config.is_file():
        said = re.search(r"^home\s*=\s*(.*)$", config.read_text(encoding="utf-8", errors="replace"), re.M)
        home = said[1].strip() if said else ""
    if home and (Path(home).parent / "pyvenv.cfg").is_file():
        sentence = f"{sys.prefix} was made from the environment {Path(home).parent}"
        yield Answer(
            "note", "nested environment", sentence, "install hotfix in the inner one; the outer one is not seen"
        )


def ourselves() -> Iterator[Answer]:
    """Whether ``import hotfix`` imports this package: the index has another one of that name, of 2016."""
    here = Path(__file__).resolve().parents[2]
    first = installed.find_spec("hotfix")
    origin = Path(first.origin).resolve().parent if first and first.origin else None
    if origin != here:
        yield Answer(
            "problem", "hotfix", f"`import hotfix` finds {origin}", f"remove it; this command runs from {here}"
        )
    for folder in _path():
        for entry in folder.glob("hotfix-*.*-info"):
            sentence = f"{entry} is the unrelated package `hotfix` of 2016"
            advice = "pip uninstall hotfix, then install transformers-hotfix again, with --force-reinstall"
            yield Answer("problem", "hotfix", sentence, advice)
    copies = [folder for folder in _path() if _has_hotfix(folder)]
    if len(copies) > 1:
        sentence = f"{len(copies)} copies: {', '.join(map(str, copies))}"
        yield Answer("warning", "hotfix", sentence, "keep one; the first is imported")
    # A program searches its own folder first; the command `hotfix` does not.
    project = Path.cwd()
    if project not in copies and _has_hotfix(project) and (project / "hotfix").resolve() != here:
        sentence = f"{project} has another `hotfix`, which programs that start there import"
        advice = "rename it; until then nothing is repaired in those programs, which say so, or stop under a guard"
        yield Answer("problem", "hotfix", sentence, advice)


def switches() -> Iterator[Answer]:
    """The environment variables."""
    from ...engine.policy import Policy
    from ...errors import PolicyError

    said = {name: value for name, value in os.environ.items() if name == "HOTFIX" or name.startswith("HOTFIX_")}
    try:
        policy = Policy.from_environment(said)
    except PolicyError as error:
        yield Answer("problem", "switches", str(error), "correct it; until then nothing is repaired")
        return
    catalogue = session.current().catalogue
    for sentence in policy.unmatched(catalogue.ids, catalogue.groups):
        yield Answer("warning", "switches", sentence, "`hotfix list` shows the ids")
    for sentence in policy.unknown_variables():
        yield Answer("warning", "switches", sentence, "correct its name; it has no effect")
    if said:
        each = ", ".join(f"{shown(name)}={shown(value)}" for name, value in sorted(said.items()))
        yield Answer("note", "switches", each)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the libraries that hotfix repairs.


def transformers() -> Iterator[Answer]:
    """Whether there is one complete transformers, of one version, and whether that was examined."""
    from .. import bugs

    copies = [folder for folder in _path() if _is_package(folder / "transformers")]
    if not copies:
        halves = [entry for folder in _path() for entry in folder.glob("transformers-*.dist-info")]
        halves += [folder / "transformers" for folder in _path() if (folder / "transformers").is_dir()]
        if halves:
            sentence = f"a broken installation: {halves[0]} exists, but the code is missing"
            yield Answer("problem", "transformers", sentence, "pip install --force-reinstall transformers==...")
        else:
            yield Answer("note", "transformers", "not installed, so there is nothing to repair")
        return
    first = copies[0]
    if len(copies) > 1:
        sentence = f"{len(copies)} copies: {', '.join(map(str, copies))}"
        yield Answer("warning", "transformers", sentence, f"keep one; the one in {first} is imported")
    release = installed.version("transformers")
    if release is None:
        advice = "pip install --force-reinstall transformers==..."
        yield Answer("problem", "transformers", f"the copy in {first} has no version", advice)
        return
    recorded = {
        entry.name[len("transformers-") : -len(".dist-info")] for entry in first.glob("transformers-*.dist-info")
    }
    if recorded and recorded != {str(release)}:
        sentence = f"the code is {release}, but the metadata says {' and '.join(sorted(recorded))}"
        advice = f"pip install --force-reinstall transformers=={release}"
        yield Answer("warning", "transformers", sentence, advice)
    if release in bugs.examined():
        yield Answer("ok", "transformers", f"{release}, one of {len(bugs.examined())} examined releases")
    else:
        sentence = f"{release} is not among the {len(bugs.examined())} examined releases (up to {bugs.examined()[-1]})"
        advice = (
            "hotfix judges each function by its source: it repairs those that it knows, and leaves the others alone"
        )
        yield Answer("warning", "transformers", sentence, advice)


def known_bugs() -> Iterator[Answer]:
    """The known bugs of the installed release that hotfix does not repair, and the upgrade that helps."""
    from ..scan import affected, formats

    here = affected.of_environment()
    kinds = [finding.bug.kind for finding in here.findings if not finding.bug.repaired]
    if kinds:
        silent = kinds.count("silent")
        gives = "gives" if silent == 1 else "give"
        sentence = f"{len(kinds)} that hotfix does not repair; {silent} {gives} wrong results silently"
        upgrade = f"{formats.advice(here, here.steps[-1])} " if here.steps else ""
        yield Answer("note", "known bugs", sentence, f"{upgrade}`pip freeze | hotfix scan -` lists them.")


def neighbours() -> Iterator[Answer]:
    """Installed packages that do not work with this release of transformers, and the versions that do."""
    from .. import bugs

    release = installed.version(bugs.PACKAGE)
    if release is None:
        return
    for bug in bugs.known().values():
        if not bug.why_not.startswith("Only another version of") or not bug.is_in(release):
            continue
        found_here = {name: installed.version(name) for name in bug.needs}
        here = {name: version for name, version in found_here.items() if version is not None}
        if here.keys() == bug.needs.keys() and all(
            needed.contains(here[name], prereleases=True) for name, needed in bug.needs.items()
        ):
            sentence = " and ".join(f"{name} {version}" for name, version in here.items())
            yield Answer(
                "warning", "neighbours", f"{sentence} together with transformers {release}: {bug.error}", bug.why_not
            )


def flash_attention() -> Iterator[Answer]:
    """Whether flash-attn can be imported: built for another torch, it makes whole models unimportable."""
    version = installed.version("flash-attn")
    if version is None:
        return
    done = _python(["-c", "import torch, flash_attn"])
    if isinstance(done, str):
        yield Answer("warning", "flash-attn", f"importing it {done}", "import it by hand to see the error")
    elif done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        sentence = f"{version} cannot be imported: {lines[-1] if lines else 'no message'}"
        advice = "reinstall it for this torch (pip install --no-build-isolation), or uninstall it"
        yield Answer("problem", "flash-attn", sentence, advice)
    else:
        yield Answer("ok", "flash-attn", f"{version} can be imported")


def sources() -> Iterator[Answer]:
    """Whether the source of the targets can be read: hotfix cannot judge bytecode."""
    modules = {key.partition(":")[0] for entry in session.current().catalogue.entries.values() for key in entry.targets}
    missing = []
    for module in sorted(module for module in modules if "*" not in module):
        try:
            spec = installed.find_spec(module)
            gone = spec is not None and installed.source_of(spec) is None
        except OSError:
            gone = True  # it exists but may not be read
        if gone:
            missing.append(module)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        sentence = f"{missing[0]}{more} cannot be read as source"
        yield Answer("problem", "sources", sentence, "install the release from its wheel, readable for this user")


def foreign() -> Iterator[Answer]:
    """Other packages that replace functions of transformers."""
    for outcome in session.current().ledger.outcomes().values():
        if outcome.verdict is Verdict.FOREIGN:
            yield Answer(
                "warning", "replaced by others", f"{outcome.target}: {outcome.reason}", "check that their code is right"
            )
    for distribution, name in PATCHERS.items():
        version = installed.version(distribution)
        if version is not None:
            sentence = f"{name} {version} replaces functions of transformers when a program asks it to"
            advice = "what it replaced first is left alone and called foreign: print hotfix.report() in the program"
            yield Answer("note", "replaced by others", sentence, advice)


def extras() -> Iterator[Answer]:
    """Packages that the command lacks."""
    from ..screen import EXTRA

    wanted = ("rich", "rich_argparse", "shtab", "yaml")
    missing = [name for name in wanted if installed.find_spec(name) is None]
    if missing:
        yield Answer("note", "command", f"without {', '.join(missing)}: plain text, no completion", EXTRA)


CHECKS: tuple[Callable[[], Iterator[Answer]], ...] = (
    python,
    injection,
    sitecustomize,
    environments,
    ourselves,
    switches,
    transformers,
    known_bugs,
    neighbours,
    flash_attention,
    sources,
    foreign,
    extras,
)
SLOW = (injection, flash_attention)


# ---------------------------------------------------------------------------------------------------------------------
# Below: small helpers.


def _is_armed(flag: str) -> bool:
    code = "import sys; print(any(getattr(one, 'is_hotfix', False) for one in sys.meta_path))"
    done = _python([*([flag] if flag else []), "-c", code])
    return not isinstance(done, str) and done.stdout.strip() == b"True"


def _python(words: list[str]) -> Union[subprocess.CompletedProcess[bytes], str]:
    """Run this interpreter in a new process; the reason if that failed."""
    try:
        return subprocess.run([sys.executable, *words], capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"took more than {_SECONDS} seconds"


def _ways() -> list[str]:
    """The installed start-up files."""
    ways = []
    # Not sys.path: the entry of `hotfix run` removes itself from it.
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for command, home in (("run", launch.FOLDER), ("audit", launch.AUDIT_FOLDER)):
        if any(folder and Path(folder).resolve() == home for folder in folders):
            ways.append(f"`hotfix {command}`")
    for suffix in ("pth", "start"):
        ways += [str(file) for folder in _path() for file in folder.glob(f"hotfix_autoload.{suffix}")]
    return ways


def _path() -> list[Path]:
    """The folders from which Python imports, without repetitions."""
    folders = dict.fromkeys(Path(folder or ".").resolve() for folder in sys.path if isinstance(folder, str))
    return [folder for folder in folders if folder.is_dir()]


def _has_hotfix(folder: Path) -> bool:
    return (folder / "hotfix" / "__init__.py").is_file() or (folder / "hotfix.py").is_file()


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() or (folder / "__init__.pyc").is_file()
