"""The verdict: is the installed source of a target broken?

Evidence decides, not the version number. The digest of the source is looked up in ``evidence/<fix>.json``, which the
sweep over all releases has written. If the digest is not known, the verdict is `unknown` and nothing changes.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from .._support.memo import memo, recent
from .._support.words import parts
from . import files, installed, ranges, source
from .judgement import Judgement, Verdict

if TYPE_CHECKING:
    from packaging.version import Version

    from ..fix import Fix, Target

EVIDENCE = Path(__file__).parent / "evidence"

Reader = Callable[[str], Optional[str]]
"""Takes the name of a module and returns its source, or None."""


def judge(fix: Fix, target: Target, read: Reader, executed: str = "") -> Judgement:
    """Judge one target.

    Args:
        fix: the fix.
        target: one of its targets.
        read: how to get the source of a module.
        executed: name of a module that has just been executed, so its source is valid Python. While we are called,
            Python's import system still marks the module as being initialized.
    """
    known = _by_file(fix, target, read)
    if known is not None:
        return known
    if target.way.adds_name:
        is_executed = target.module == executed or installed.is_executed(target.module)
        return _judge_addition(fix, target, read, is_executed)
    package = target.module.partition(".")[0]
    definitions = []
    for module, qualname in target.fingerprint_names():
        text = read(module)
        if text is None:
            return _without_source(package, module, qualname)
        definition = text and source.find(text, qualname)
        if not definition:
            return Judgement(Verdict.ABSENT, f"{_release(package)} has no {qualname} in {module}.")
        definitions.append(definition)
    nodes: list[source.Definition] = [definition.node for definition in definitions]
    digest = source.digest(*nodes)
    verdict = _known(fix, target, digest)
    if verdict is not None:
        return _of_source(fix, verdict, digest, "is known to be")
    verdict = _by_matcher(fix, target, nodes)
    if verdict is not None:
        return _of_source(fix, verdict, digest, "was never examined; by its form it is")
    lacking = _lacking(fix)
    return Judgement(Verdict.UNAFFECTED, lacking, digest) if lacking else _unknown(fix, target, digest, nodes)


def deciding_modules(target: Target) -> list[str]:
    """The modules whose source decides the verdict about a target."""
    modules = [target.module, *(module for module, _ in target.fingerprint_names())]
    if target.way.adds_name:
        added = f"{target.module}.{target.qualname}"
        modules.append(added if target.implementation.is_module else target.implementation.leaf)
    return list(dict.fromkeys(modules))


def judge_installed(fix: Fix, target: Target) -> Judgement:
    """Judge one target in the installed release, without importing it."""
    return judge(fix, target, read_installed)


def judge_from_sweep(fix: Fix, target: Target) -> Optional[Judgement]:
    """The judgement of one target from the evidence alone, if the installed release is not broken.

    For reports only: hotfix does not watch modules that an examined release has right, and would have to read hundreds
    of them.
    """
    return _judge_from_sweep(evidence_file(fix), target.key, target.module, target.qualname)


def judge_name_from_sweep(id: str, name: str) -> Optional[Judgement]:
    """The same for a fix of hotfix's own that is not imported for it.

    Args:
        id: id of the fix.
        name: ``module:qualname``, as the index lists it.
    """
    return _judge_from_sweep(EVIDENCE / f"{id}.json", name, *name.split(":"))


def _judge_from_sweep(file: Path, key: str, module: str, qualname: str) -> Optional[Judgement]:
    package = module.partition(".")[0]
    release = installed.version(package)
    if release is None:
        return None
    entry = _file(file).get(key, {})
    if _is_in(release, entry.get("absent", ())):
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {qualname} in {module}.")
    for digest, runs in entry.get("fixed", {}).items():
        if _is_in(release, runs):
            return Judgement(Verdict.FIXED, f"{_release(package)} was examined; its source ({digest}) is good.", digest)
    return None


def judge_broken_from_sweep(fix: Fix, target: Target) -> Optional[Judgement]:
    """The judgement of one target from the evidence alone, if the installed release is broken.

    For reports only, like `judge_from_sweep`; the file must be unchanged since the installation. When the module is
    imported, its source decides.
    """
    package = target.module.partition(".")[0]
    release = installed.version(package)
    if release is None:
        return None
    entry = _file(evidence_file(fix)).get(target.key, {})
    for digest, runs in entry.get("broken", {}).items():
        if _is_in(release, runs):
            lacking = _lacking(fix)
            if lacking:
                return Judgement(Verdict.UNAFFECTED, lacking, digest)
            reason = f"This source ({digest}) is known to be broken."
            if target.way.adds_name:
                reason = f"{_release(package)} lacks {target.qualname} in {target.module}."
            return Judgement(Verdict.BROKEN, reason, digest)
    return None


def read_installed(name: str) -> Optional[str]:
    """The source of an installed module, or None."""
    return installed.source_of(installed.find_spec(name))


@memo
def evidence(path: Path) -> dict[str, dict[str, Verdict]]:
    """For each target of a fix, the known digests and their verdicts.

    Args:
        path: an evidence file; a missing file counts as empty.
    """
    return {
        target: {digest: Verdict(verdict) for verdict in ("broken", "fixed") for digest in entry.get(verdict, ())}
        for target, entry in _file(path).items()
    }


def evidence_file(fix: Fix) -> Path:
    """The evidence file of a fix."""
    return fix.evidence or EVIDENCE / f"{fix.id}.json"


# ---------------------------------------------------------------------------------------------------------------------
# Below: the steps of a judgement.


@memo
def _file(path: Path) -> dict[str, Any]:
    """The targets in an evidence file. An unreadable file is an error: it is part of the installation."""
    if not path.is_file():
        return {}
    try:
        targets: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["targets"]
        is_damaged = not all(isinstance(entry, dict) for entry in targets.values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path} cannot be read as evidence ({type(error).__name__}: {error}). Reinstall hotfix."
        ) from error
    if is_damaged:
        raise ValueError(f"{path} cannot be read as evidence (a target has no entry). Reinstall hotfix.")
    return targets


def _is_in(release: Version, runs: Iterable[str]) -> bool:
    """Whether one of ``4.36.0 - 4.52.4``, ``4.53.0`` or ``5.0.0 and later`` contains a release."""
    return any(_is_in_run(release, run) for run in runs)


@memo  # many targets have one range
def _is_in_run(release: Version, run: str) -> bool:
    from packaging.version import Version

    words = run.split()
    return Version(words[0]) <= release and (words[-1] == "later" or release <= Version(words[-1]))


def _by_file(fix: Fix, target: Target, read: Reader) -> Optional[Judgement]:
    """What the sweep has found in the files of the installed release, if these are the installed ones; else None."""
    modules = deciding_modules(target)
    if len({module.partition(".")[0] for module in modules}) > 1:
        return None
    entry = _file(evidence_file(fix)).get(target.key, {})
    release = files.release_of(modules, read) if entry else None
    if release is None:
        return None
    for verdict in (Verdict.BROKEN, Verdict.FIXED):
        for digest, runs in entry.get(verdict.value, {}).items():
            if _is_in(release, runs):
                if target.way.adds_name:
                    return _of_name(fix, target, verdict is Verdict.FIXED, digest)
                return _of_source(fix, verdict, digest, "is known to be")
    return None


def _of_source(fix: Fix, verdict: Verdict, digest: str, looks: str) -> Judgement:
    """The judgement of a source that is broken or fixed."""
    if verdict is Verdict.FIXED:
        return Judgement(verdict, f"This source ({digest}) {looks} good.", digest)
    lacking = _lacking(fix)
    if lacking:
        return Judgement(Verdict.UNAFFECTED, lacking, digest)
    return Judgement(verdict, f"This source ({digest}) {looks} broken.", digest)


def _known(fix: Fix, target: Target, digest: str) -> Optional[Verdict]:
    return evidence(evidence_file(fix)).get(target.key, {}).get(digest)


def _judge_addition(fix: Fix, target: Target, read: Reader, is_executed: bool) -> Judgement:
    """Judge a name: it is missing if the source lacks it and the release should have it."""
    package = target.module.partition(".")[0]
    text = read(target.module)
    if text is None:
        return _without_source(package, target.module, target.qualname)
    leaf = target.implementation.leaf
    try:
        if not is_executed and parts(target.qualname)[-1] in text:
            _check_syntax(text)  # a module that was executed is valid Python; another one may be anything
        there = source.has_name(text, target.qualname)
        if there is False and target.implementation.of_instances:
            there = source.is_set(text, target.qualname)
        if not there and target.implementation.is_module:
            there = source.is_submodule(text, read(f"{target.module}.{target.qualname}"))
        elif not there and leaf != target.module:
            is_added = any(
                f"{target.module}.{target.qualname}" == leaf for target in fix.targets
            )  # a module of the same fix
            if not is_added and installed.find_spec(leaf) is None:
                return Judgement(
                    Verdict.ABSENT, f"{_release(package)} has no {leaf}, the module for {target.qualname}."
                )
            there = source.is_exported(text, read(leaf), target.qualname)
    except (SyntaxError, ValueError) as error:
        return Judgement(Verdict.UNKNOWN, f"This Python cannot parse the source of {target.module}: {error}.")
    if there is None:
        owner = ".".join(parts(target.qualname)[:-1])
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {owner} in {target.module}.")
    return _of_name(fix, target, there, source.digest_of_name(target.qualname, there))


def _of_name(fix: Fix, target: Target, is_there: bool, digest: str) -> Judgement:
    """The judgement of a name that a release has or lacks."""
    package = target.module.partition(".")[0]
    if is_there:
        return Judgement(Verdict.FIXED, f"{_release(package)} has {target.qualname} in {target.module}.", digest)
    if not _is_among(package, target.releases):
        reason = f"{_release(package)} has no {target.qualname} in {target.module}"
        return Judgement(Verdict.ABSENT, f"{reason}, and {fix.id} does not add it to this release.")
    lacking = _lacking(fix)
    if lacking:
        return Judgement(Verdict.UNAFFECTED, lacking, digest)
    return Judgement(Verdict.BROKEN, f"{_release(package)} lacks {target.qualname} in {target.module}.", digest)


@recent(2)
def _check_syntax(text: str) -> None:
    source.parse(text)


def _is_among(package: str, releases: str) -> bool:
    """Whether the installed release is in a range; a pre-release counts as its release."""
    from packaging.version import Version

    release = installed.version(package)
    return release is None or ranges.contains(releases, Version(release.base_version))


def _by_matcher(fix: Fix, target: Target, nodes: list[source.Definition]) -> Optional[Verdict]:
    """The verdict of the fix's own matcher, for bugs in repositories without releases."""
    if not fix.matcher_decides:
        return None
    return Verdict.BROKEN if fix.is_broken(*nodes, target=target) else Verdict.FIXED


def _lacking(fix: Fix) -> Optional[str]:
    """Why the bug cannot happen with the other installed packages, as a sentence."""
    for distribution, wanted in fix.needs.items():
        if distribution == "transformers":
            continue  # its source was judged
        version = installed.version(distribution)
        if version is None:
            return f"The bug needs {distribution} {wanted}; {distribution} is not installed."
        if not ranges.contains(wanted, version, prereleases=True):
            return f"The bug needs {distribution} {wanted}; {version} is installed."
    return None


def _without_source(package: str, module: str, qualname: str) -> Judgement:
    """The judgement of a module without readable source, which may still run."""
    if installed.find_spec(package) is None:
        return Judgement(Verdict.ABSENT, f"{package} is not installed.")
    spec = installed.find_spec(module)
    present = sys.modules.get(module)
    if spec is None and (present is None or _passes_on(present, qualname)):
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {qualname} in {module}.")
    where = (spec and spec.origin) or module
    return Judgement(
        Verdict.UNKNOWN, f"Its source cannot be read ({where}), so hotfix cannot tell whether it is broken."
    )


def _passes_on(module: object, qualname: str) -> bool:
    """Whether a module without a file has no such name itself: it passes on the names of another one, or lacks it."""
    return isinstance(module, types.ModuleType) and qualname.split(".")[0] not in vars(module)


def _unknown(fix: Fix, target: Target, digest: str, nodes: list[source.Definition]) -> Judgement:
    where = f"{target.qualname} of {_release(target.module.partition('.')[0])} ({digest})"
    if fix.is_broken(*nodes, target=target):
        return Judgement(Verdict.UNKNOWN, f"{where} looks broken, but was never examined; it stays as it is.", digest)
    return Judgement(Verdict.UNKNOWN, f"{where} was never examined and does not look broken.", digest, harmless=True)


def _release(package: str) -> str:
    version = installed.version(package)
    return f"{package} {version}" if version else package
