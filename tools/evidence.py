"""The evidence files: how they are written, read, and compared with the fixes.

An evidence file records for each target of a fix which source is broken, which is fixed, and which releases have no
such target. Releases are written as runs (``4.50.0 - 4.52.4``) in the list of examined releases in ``index.json``. A
run that reaches the newest of them is written ``4.53.0 and later``, so that a new release without changes modifies one
line of one file.

A target whose module is a pattern (``*.basic_var``) belongs to repositories without releases. Its digests are written
by hand, each with the revisions that have it, and only the format is checked.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import decode_source
from itertools import groupby
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from hotfix.engine.catalogue import INDEX
from hotfix.engine.index import completed
from hotfix.engine.index import render as render_index
from hotfix.fix import Fix, Target
from hotfix.proofs import load as load_proof
from hotfix.reports.digest import RECORDED, cure_digest, sources_digest
from hotfix.versions import files
from hotfix.versions.verdict import deciding_modules

from . import wheels
from .wheels import SWEPT

FOLDER = INDEX.parent
PACKAGES = (
    "hotfix.models",
    "hotfix.training",
    "hotfix.processing",
    "hotfix.loading",
    "hotfix.names",
    "hotfix.neighbours",
)
VERDICTS = ("broken", "fixed")
FORMAT = 1  # of these files; docs/schemas/ describes it
_LATER = " and later"
_RUN = " - "


# -- the fixes ---------------------------------------------------------------------------------------------------------


def discover(problem: Callable[[str], None], proofs: bool = False) -> dict[str, Fix]:
    """Every module of the packages of fixes that defines ``FIX``, by the name of the module.

    Args:
        problem: called with a sentence for each module that cannot be imported and each id that is not unique.
        proofs: whether to load their cases as well.
    """
    fixes: dict[str, Fix] = {}
    for name in PACKAGES:
        try:
            package = import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue  # there are no fixes of this sort yet
        for info in pkgutil.iter_modules(package.__path__, name + "."):
            try:
                fix = getattr(import_module(info.name), "FIX", None)
                if proofs and isinstance(fix, Fix):
                    load_proof(info.name, fix)
            except Exception as error:
                problem(f"{info.name} cannot be imported: {type(error).__name__}: {error}")
                continue
            if isinstance(fix, Fix):
                twin = next((module for module, other in fixes.items() if other.id == fix.id), None)
                if twin:
                    problem(f"{fix.id}: defined twice, in {twin} and {info.name}")
                fixes[info.name] = fix
    return dict(sorted(fixes.items(), key=lambda item: item[1].id))


def has_releases(target: Target) -> bool:
    """Whether the sweep can examine it: a module, not a pattern, of a package whose releases are examined."""
    return "*" not in target.module and target.module.partition(".")[0] in SWEPT


# -- runs of releases --------------------------------------------------------------------------------------------------


def runs(members: Iterable[Version], examined: Sequence[Version]) -> list[str]:
    """Write some of the examined releases as runs."""
    position = {version: number for number, version in enumerate(examined)}
    numbers = sorted(position[version] for version in members)
    written = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        first, last = examined[run[0]], examined[run[-1]]
        if run[-1] == len(examined) - 1:
            written.append(f"{first}{_LATER}")
        else:
            written.append(str(first) if first == last else f"{first}{_RUN}{last}")
    return written


def members(
    written: Iterable[str], examined: Sequence[Version], position: Mapping[str, int] | None = None
) -> list[Version]:
    """Parse runs.

    Args:
        written: the runs.
        examined: the examined releases.
        position: the index of each among them, for callers that parse many runs.

    Raises:
        ValueError: one of them is not a run of examined releases.
    """
    position = position or _positions(examined)
    versions: list[Version] = []
    for run in written:
        first, _, last = run.removesuffix(_LATER).partition(_RUN)
        last = str(examined[-1]) if run.endswith(_LATER) else last or first
        if first not in position or last not in position or position[first] > position[last]:
            raise ValueError(f"{run!r} is not a run of examined releases")
        versions += examined[position[first] : position[last] + 1]
    return versions


def _positions(examined: Sequence[Version]) -> dict[str, int]:
    return {str(version): number for number, version in enumerate(examined)}


def specifier(members: Iterable[Version], examined: Sequence[Version]) -> str:
    """The version specifier that holds for exactly these of the examined releases."""
    chosen = sorted(members)
    if not chosen:
        return ""
    first, last = chosen[0], chosen[-1]
    if first == last != examined[-1]:
        return f"=={first}"
    parts = [f">={first}"]
    if last != examined[-1]:
        parts.append(f"<={last}")
    parts += [f"!={version}" for version in examined if first < version < last and version not in chosen]
    return ",".join(parts)


def declared(target: Target, examined: Iterable[Version]) -> list[Version]:
    """The examined releases in which the target is broken, as declared by the fix."""
    if not target.releases:
        return []
    allowed = SpecifierSet(target.releases)
    return [version for version in examined if allowed.contains(version)]


# -- files -------------------------------------------------------------------------------------------------------------


def write(path: Path, data: Mapping[str, Any]) -> bool:
    """Write an evidence file atomically. Returns whether it has changed."""
    text = render(data)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return True


def render(data: Mapping[str, Any]) -> str:
    """The text of a file of evidence, or of the index."""
    if "examined" in data:
        return render_index(data)
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read(path: Path) -> dict[str, Any]:
    """The data of a file of evidence; empty if there is none."""
    if not path.is_file():
        return {}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def examined_releases(index: Mapping[str, Any], package: str = "transformers") -> list[Version]:
    """The examined releases according to the index, oldest first."""
    return [Version(release) for release in index.get("examined", {}).get(package, ())]


def index_of(modules: Mapping[str, Fix], examined: Mapping[str, Sequence[Version]]) -> dict[str, Any]:
    """The content of ``index.json``."""
    content = {
        "format": FORMAT,
        "examined": {package: [str(version) for version in versions] for package, versions in examined.items()},
        "fixes": {
            fix.id: entry_of(fix, module) for module, fix in sorted(modules.items(), key=lambda item: item[1].id)
        },
    }
    return completed(content)


def entry_of(fix: Fix, module: str) -> dict[str, Any]:
    """The index line of one fix: the fields of `hotfix.engine.catalogue.Entry`, in their order."""
    targets = {target.key: target.releases for target in fix.targets}
    special = {"module": module, "optin": bool(fix.optin), "targets": targets}
    names = ("title", "kind", "module", "optin", "group", "fixed_in", "targets")
    entry = {name: special.get(name, getattr(fix, name, None)) for name in names}
    data: dict[str, Any] = json.loads(json.dumps(entry, default=_plain))
    return data


def cures_of(modules: Mapping[str, Fix]) -> dict[str, Any]:
    """The content of ``cures.json``: the digest of each cure, and that of the files for which they hold."""
    cures = {fix.id: cure_digest(fix) for fix in modules.values()}
    return {"sources": sources_digest(), "cures": dict(sorted(cures.items()))}


def files_of(
    modules: Mapping[str, Fix], library: wheels.Library, package: str, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One package's part of ``files.json``, as `hotfix.versions.files` reads it.

    Args:
        modules: all fixes, by the module that defines them.
        library: releases of the package.
        package: its name.
        known: this part as it is, with the other releases.
    """
    contents, digests = wheels.Reader(library), dict[int, str]()
    before = [] if known is None else known["releases"]
    releases = sorted({*library.releases, *map(Version, before)})
    recorded: dict[str, str] = {}
    for name in _deciding(modules, package):
        if known is not None and name not in known["modules"]:
            continue  # its other releases are not here; `stale_files` reports it
        kept = "" if known is None else known["modules"][name]
        of_release = {Version(release): files.at(kept, number) for number, release in enumerate(before)}
        for version in library.releases:
            number = library.modules[version].get(name)
            if number is not None and number not in digests:
                digests[number] = files.digest(decode_source(contents[number]))
            of_release[version] = files.NONE if number is None else digests[number]
        recorded[name] = " ".join(
            f"{position}:{of_release[release]}"
            for position, release in enumerate(releases)
            if position == 0 or of_release[release] != of_release[releases[position - 1]]
        )
    return {"releases": list(map(str, releases)), "modules": recorded}


def stale_files(modules: Mapping[str, Fix], examined: Mapping[str, Sequence[Version]]) -> Iterator[str]:
    """The packages for which ``files.json`` has other modules or releases than it should."""
    recorded = read(beside(files.RECORDED))
    for package, releases in examined.items():
        entry = recorded.get(package, {})
        is_complete = list(entry.get("modules", ())) == _deciding(modules, package)
        if not is_complete or entry["releases"] != list(map(str, releases)):
            yield package


def beside(recorded: Path) -> Path:
    """A record next to the evidence, wherever that is."""
    return FOLDER.parent / recorded.name


def _deciding(modules: Mapping[str, Fix], package: str) -> list[str]:
    """The modules of a package that decide a verdict."""
    names = {name for fix in modules.values() for target in fix.targets for name in deciding_modules(target)}
    return sorted(name for name in names if name.partition(".")[0] == package)


def by_release(entry: Mapping[str, Any], examined: Sequence[Version]) -> dict[Version, tuple[str, str]]:
    """Verdict and digest of one target for each release.

    Args:
        entry: the target's entry in the evidence file.
        examined: the examined releases.
    """
    position = _positions(examined)
    states = dict.fromkeys(members(entry.get("absent", ()), examined, position), ("absent", ""))
    for verdict in VERDICTS:
        for digest, written in entry.get(verdict, {}).items():
            states.update(dict.fromkeys(members(written, examined, position), (verdict, digest)))
    return dict(sorted(states.items()))


# -- checks without a wheel --------------------------------------------------------------------------------------------


def disagreements(modules: Mapping[str, Fix], folder: Path = FOLDER) -> Iterator[str]:
    """The differences between the committed evidence and the fixes, a sentence each."""
    index = read(folder / "index.json")
    examined = examined_releases(index)
    examined_of = {package: examined_releases(index, package) for package in index.get("examined", {})}
    if {name: value for name, value in index.items() if name != "digest"} != index_of(modules, examined_of):
        if index.get("format") != FORMAT:
            yield "index.json is of another format; run the sweep with --index"
        known, there = set(index.get("fixes", {})), {fix.id for fix in modules.values()}
        entries = {fix.id: entry_of(fix, module) for module, fix in modules.items()}
        for id in sorted(known | there):
            if id not in there:
                yield f"index.json has {id}, and no module defines it"
            elif id not in known:
                yield f"{id}: not in index.json; run the sweep"
            elif index["fixes"][id] != entries[id]:
                yield f"{id}: index.json is stale; run the sweep with --index"
    if list(index.get("fixes", {})) != sorted(index.get("fixes", {})):
        yield "index.json is not sorted; run the sweep with --index"
    if index.get("fixes") and (folder / "index.json").read_text(encoding="utf-8") != render_index(index):
        yield "index.json has another digest or layout than the sweep writes; run the sweep with --index"
    if folder == FOLDER and read(beside(RECORDED)) != cures_of(modules):
        yield f"{RECORDED.name} is stale; run the sweep with --index"
    if folder == FOLDER and any(stale_files(modules, examined_of)):
        yield f"{files.RECORDED.name} is stale; run the sweep with --index"
    for fix in modules.values():
        for sentence in _file_disagreements(fix, folder / f"{fix.id}.json", examined):
            yield f"{fix.id}: {sentence}"
    ids = {fix.id for fix in modules.values()}
    for path in sorted(folder.glob("*.json")):
        if path.stem not in ids | {"index"}:
            yield f"{path.name} is evidence of no fix"


# ----------------------------------------------------------------------------------------------------------------------


def _file_disagreements(fix: Fix, path: Path, examined: Sequence[Version]) -> Iterator[str]:
    data = read(path)
    if not data:
        yield "has no evidence; run the sweep"
        return
    if data.get("fix") != fix.id or set(data) != {"fix", "targets"}:
        yield f'{path.name} does not consist of "fix": "{fix.id}" and "targets"'
        return
    targets = {target.key: target for target in fix.targets}
    if set(data["targets"]) != set(targets):
        yield f"{path.name} has other targets than the fix; run the sweep"
    if path.read_text(encoding="utf-8") != render(data):
        yield f"{path.name} is not in the form that the sweep writes; run the sweep"
    for key, entry in data["targets"].items():
        yield from (f"{path.name}: {key}: {sentence}" for sentence in malformed(entry))
        if key in targets and has_releases(targets[key]) and not any(malformed(entry)):
            try:
                states = by_release(entry, examined)
            except ValueError as error:
                yield f"{path.name}: {key}: {error}"
                continue
            if list(states) != list(examined):
                yield f"{path.name}: {key}: does not cover the examined releases; run the sweep"
            broken = [version for version, (verdict, _) in states.items() if verdict == "broken"]
            if broken != declared(targets[key], examined):
                yield (
                    f"{key} declares {targets[key].releases!r}, the evidence says {specifier(broken, examined)!r}; "
                    "run the sweep"
                )


def malformed(entry: Mapping[str, Any]) -> Iterator[str]:
    """The format errors in the evidence of one target."""
    if not set(entry) <= {"absent", *VERDICTS}:
        yield f"unknown entries {sorted(set(entry) - {'absent', *VERDICTS})}"
    for verdict in VERDICTS:
        for digest, where in entry.get(verdict, {}).items():
            if len(digest) != 20 or not set(digest) <= set("0123456789abcdef"):
                yield f"{digest!r} is not a digest"
            if not where or not all(isinstance(text, str) and text for text in where):
                yield f"{digest} names no release or revision"
    twice = set(entry.get("broken", ())) & set(entry.get("fixed", ()))
    if twice:
        yield f"{', '.join(sorted(twice))} is broken and fixed"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{value!r} cannot stand in the index")
