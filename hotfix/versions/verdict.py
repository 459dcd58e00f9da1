"""The verdict: is the source of this target, as it is installed here, broken?

Evidence decides, not the version number: the digest of the source is looked up in ``evidence/<fix>.json``, which the
sweep over all releases has written. Where the digest is not known, the verdict is `unknown` and nothing is touched.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from .._support.memo import memo, recent
from .._support.words import parts
from . import installed, ranges, source
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
        executed: name of a module whose source has just been executed, and so is Python. Python's import system still
            marks it as being initialised while we are called.
    """
    if target.method == "add":
        is_executed = target.module == executed or installed.is_executed(target.module)
        return _judge_addition(fix, target, read, is_executed)
    package = target.module.partition(".")[0]
    found = []
    for module, qualname in target.fingerprint_names():
        text = read(module)
        if text is None:
            return _without_source(package, module, qualname)
        definition = text and source.find(text, qualname)
        if not definition:
            return Judgement(Verdict.ABSENT, f"{_release(package)} has no {qualname} in {module}.")
        found.append(definition)
    nodes: list[source.Definition] = [definition.node for definition in found]
    digest = source.digest(*nodes)
    known = _known(fix, target, digest)
    verdict = known or _by_matcher(fix, target, nodes)
    looks = "is known to be" if known else "was never examined; by its shape it is"
    if verdict is Verdict.FIXED:
        return Judgement(verdict, f"This source ({digest}) {looks} good.", digest)
    lacking = _lacking(fix)
    if lacking:
        return Judgement(Verdict.UNAFFECTED, lacking, digest)
    if verdict is Verdict.BROKEN:
        return Judgement(verdict, f"This source ({digest}) {looks} broken.", digest)
    return _unknown(fix, target, digest, nodes)


def judge_installed(fix: Fix, target: Target) -> Judgement:
    """Judge one target from what is installed, without importing it."""
    return judge(fix, target, read_installed)


def judge_from_sweep(fix: Fix, target: Target) -> Optional[Judgement]:
    """What the sweep has found of one target in the release that is installed, if that is not broken.

    For reports only: modules that an examined release has right are not even watched, and hundreds of them would have
    to be read.
    """
    package = target.module.partition(".")[0]
    release = installed.version(package)
    entry = _file(evidence_file(fix)).get(target.key, {})
    if release is None:
        return None
    if _is_in(release, entry.get("absent", ())):
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {target.qualname} in {target.module}.")
    for digest, runs in entry.get("fixed", {}).items():
        if _is_in(release, runs):
            return Judgement(Verdict.FIXED, f"{_release(package)} was examined; its source ({digest}) is good.", digest)
    return None


def judge_broken_from_sweep(fix: Fix, target: Target) -> Optional[Judgement]:
    """What the sweep has found of one target that is broken in the release that is installed.

    For reports only, as `judge_from_sweep`; the file must be as its wheel has brought it. What is done when the module
    is imported rests on its source.
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
            if target.method == "add":
                reason = f"{_release(package)} lacks {target.qualname} in {target.module}."
            return Judgement(Verdict.BROKEN, reason, digest)
    return None


def read_installed(name: str) -> Optional[str]:
    """The source of a module that is installed, or None."""
    return installed.source_of(installed.find_spec(name))


@memo
def evidence(path: Path) -> dict[str, dict[str, Verdict]]:
    """For each target of a fix, the digests that are known and what they are.

    Args:
        path: an evidence file; one that does not exist is an empty one.
    """
    return {
        target: {digest: Verdict(verdict) for verdict in ("broken", "fixed") for digest in entry.get(verdict, ())}
        for target, entry in _file(path).items()
    }


def evidence_file(fix: Fix) -> Path:
    """Where the evidence of a fix is."""
    return fix.evidence or EVIDENCE / f"{fix.id}.json"


# ---------------------------------------------------------------------------------------------------------------------
# Below: the single questions.


@memo
def _file(path: Path) -> dict[str, Any]:
    """The targets in an evidence file. What cannot be read is named: it is a file of an installation."""
    if not path.is_file():
        return {}
    try:
        targets: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["targets"]
        broken_off = not all(isinstance(entry, dict) for entry in targets.values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as evidence ({type(error).__name__}: {error})") from error
    if broken_off:
        raise ValueError(f"{path} cannot be read as evidence (a target is not described)")
    return targets


def _is_in(release: Version, runs: Iterable[str]) -> bool:
    """Whether one of ``4.36.0 - 4.52.4``, ``4.53.0`` or ``5.0.0 and later`` contains a release."""
    from packaging.version import Version

    for words in (run.split() for run in runs):
        if Version(words[0]) <= release and (words[-1] == "later" or release <= Version(words[-1])):
            return True
    return False


def _known(fix: Fix, target: Target, digest: str) -> Optional[Verdict]:
    return evidence(evidence_file(fix)).get(target.key, {}).get(digest)


def _judge_addition(fix: Fix, target: Target, read: Reader, is_executed: bool) -> Judgement:
    """A name is missing where the source does not have it, in a release that should: others may never have had it."""
    package = target.module.partition(".")[0]
    text = read(target.module)
    if text is None:
        return _without_source(package, target.module, target.qualname)
    leaf = target.implementation.leaf
    try:
        if not is_executed and parts(target.qualname)[-1] in text:
            _check_syntax(text)  # what runs is Python; what does not may be anything
        there = source.has_name(text, target.qualname)
        if there is False and target.implementation.of_instances:
            there = source.is_set(text, target.qualname)
        if not there and target.implementation.is_module:
            there = source.is_submodule(text, read(f"{target.module}.{target.qualname}"))
        elif not there and leaf != target.module:
            is_added = any(f"{one.module}.{one.qualname}" == leaf for one in fix.targets)  # a module of the same fix
            if not is_added and installed.find_spec(leaf) is None:
                return Judgement(
                    Verdict.ABSENT, f"{_release(package)} has no {leaf}, which is to have {target.qualname}."
                )
            there = source.is_exported(text, read(leaf), target.qualname)
    except (SyntaxError, ValueError) as error:
        return Judgement(
            Verdict.UNKNOWN, f"The source of {target.module} is not Python that can be read here: {error}."
        )
    if there is None:
        owner = ".".join(parts(target.qualname)[:-1])
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {owner} in {target.module}.")
    digest = source.digest_of_name(target.qualname, there)
    if there:
        return Judgement(Verdict.FIXED, f"{_release(package)} has {target.qualname} in {target.module}.", digest)
    if not _is_among(package, target.releases):
        reason = f"{_release(package)} has no {target.qualname} in {target.module}"
        return Judgement(Verdict.ABSENT, f"{reason}, and is none of the releases to which {fix.id} gives it.")
    lacking = _lacking(fix)
    if lacking:
        return Judgement(Verdict.UNAFFECTED, lacking, digest)
    return Judgement(Verdict.BROKEN, f"{_release(package)} lacks {target.qualname} in {target.module}.", digest)


@recent(2)
def _check_syntax(text: str) -> None:
    source.parse(text)


def _is_among(package: str, releases: str) -> bool:
    """Whether the installed release is one of those; one that comes before a release counts as that."""
    from packaging.version import Version

    release = installed.version(package)
    return release is None or ranges.contains(releases, Version(release.base_version))


def _by_matcher(fix: Fix, target: Target, nodes: list[source.Definition]) -> Optional[Verdict]:
    """Some bugs live in repositories without releases; such a fix may trust its own matcher."""
    if not fix.matcher_decides:
        return None
    return Verdict.BROKEN if fix.is_broken(*nodes, target=target) else Verdict.FIXED


def _lacking(fix: Fix) -> Optional[str]:
    """Why the bug cannot happen with the other packages that are installed, as a sentence."""
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
    """What cannot be read is not absent: it runs all the same."""
    if installed.find_spec(package) is None:
        return Judgement(Verdict.ABSENT, f"{package} is not installed.")
    spec = installed.find_spec(module)
    if spec is None and module not in sys.modules:
        return Judgement(Verdict.ABSENT, f"{_release(package)} has no {qualname} in {module}.")
    where = (spec and spec.origin) or module
    return Judgement(Verdict.UNKNOWN, f"Its source cannot be read ({where}): whether it is broken cannot be told.")


def _unknown(fix: Fix, target: Target, digest: str, nodes: list[source.Definition]) -> Judgement:
    where = f"{target.qualname} of {_release(target.module.partition('.')[0])} ({digest})"
    if fix.is_broken(*nodes, target=target):
        return Judgement(Verdict.UNKNOWN, f"{where} looks broken, but was never examined: left as it is.", digest)
    return Judgement(Verdict.UNKNOWN, f"{where} was never examined, and does not look broken.", digest, harmless=True)


def _release(package: str) -> str:
    version = installed.version(package)
    return f"{package} {version}" if version else package
