"""Read which packages, in which versions, a file or a folder names.

Read are requirements files (with ``-r``, ``-c``, markers, hashes), what ``pip freeze`` prints, pylock.toml, uv.lock,
poetry.lock, Pipfile.lock, pyproject.toml, conda's environment.yml, and the folder of an environment. Nothing is
executed, fetched or imported; what cannot be read is one `CommandError` that names file and line.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from . import CommandError
from .screen import EXTRA

LIMIT = 32 * 1024 * 1024  # bytes; the lock files of the largest projects have a tenth of that
_DEPTH = 20  # of files that include each other
_LONGEST = 500  # characters of a dependency of conda


@dataclass(frozen=True)
class Pin:
    """One package that was asked for.

    Attributes:
        name: canonical name.
        specifier: the versions that are allowed.
        where: file and line, or file alone.
        opaque: why the version is not known, as a sentence; else an empty string.
    """

    name: str
    specifier: SpecifierSet
    where: str
    opaque: str = ""

    @property
    def version(self) -> Optional[Version]:
        """The version, if exactly one is allowed."""
        exact = [one.version for one in self.specifier if one.operator in ("==", "===") and "*" not in one.version]
        return _version(exact[0]) if exact else None


@dataclass
class Pins:
    """What a file or folder names.

    Attributes:
        source: the file or folder.
        complete: whether what is not named is not installed: true of lock files, of ``pip freeze`` and of folders.
        packages: by canonical name; a lock file may have several versions of one package.
        notes: what was not read, and why.
    """

    source: str
    complete: bool = False
    packages: dict[str, list[Pin]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, pin: Pin) -> None:
        """Add one of several versions."""
        self.packages.setdefault(pin.name, []).append(pin)

    def narrow(self, pin: Pin) -> None:
        """Add what has to hold together with what was there."""
        before = self.packages.get(pin.name)
        if before is None or pin.opaque:
            self.packages[pin.name] = [pin]
        elif not before[0].opaque:
            self.packages[pin.name] = [Pin(pin.name, before[0].specifier & pin.specifier, before[0].where)]


def read(source: str, python: str = "") -> Pins:
    """Read a file, a folder, or with ``-`` what ``pip freeze`` prints on stdin.

    Args:
        source: path, or ``-``.
        python: version of Python for which markers hold, ``3.10``; the running one if empty.

    Raises:
        CommandError: it cannot be read.
    """
    markers = _environment(python)
    if source == "-":
        pins = Pins("<stdin>", complete=True)
        _Requirements(pins, markers).lines(_text(sys.stdin.buffer.read(LIMIT + 1), "<stdin>"), Path(), "<stdin>")
        return pins
    path = Path(source)
    try:
        if path.is_dir():
            return _of_folder(path)
        text = _text(_bytes(path), source)
    except OSError as error:
        raise CommandError(f"{source}: {error.strerror or error}") from None
    if not text.strip():
        raise CommandError(f"{source}: the file is empty")
    try:
        return _of_file(path, source, text, markers)
    except RecursionError:
        raise CommandError(f"{source}: nested too deeply") from None


# ---------------------------------------------------------------------------------------------------------------------
# Below: which kind of file it is.


def _of_file(path: Path, source: str, text: str, markers: dict[str, str]) -> Pins:
    name = path.name.lower()
    if name.endswith((".toml", ".lock")) and name != "pipfile.lock":
        return _of_toml(source, text, markers)
    if name == "pipfile.lock" or name.endswith(".json"):
        return _of_pipfile(source, text, markers)
    if name.endswith((".yml", ".yaml")):
        return _of_conda(source, text, markers, path.parent)
    if name.endswith((".txt", ".in")) or "requirements" in name or "constraints" in name or "freeze" in name:
        pins = Pins(source)
        _Requirements(pins, markers).lines(text, path.parent, source)
        return pins
    raise CommandError(
        f"{source}: not a kind of file that is known; read are *.txt, *.in, pylock.toml, uv.lock, poetry.lock, "
        f"Pipfile.lock, pyproject.toml, *.yml and folders of environments"
    )


def _bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise CommandError(f"{path}: not a regular file")
    with path.open("rb") as file:
        return file.read(LIMIT + 1)


def _text(data: bytes, source: str) -> str:
    if len(data) > LIMIT:
        raise CommandError(f"{source}: larger than {LIMIT // 1024 // 1024} MB")
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # what PowerShell's > writes
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise CommandError(f"{source}: not a text file in UTF-8") from None
    if "\0" in text:
        raise CommandError(f"{source}: not a text file")
    return text


# ---------------------------------------------------------------------------------------------------------------------
# Below: requirements files.

_OPTIONS_WITHOUT_EFFECT = (
    "-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--no-binary", "--only-binary",
    "--prefer-binary", "--require-hashes", "--pre", "--trusted-host", "--use-feature", "--no-build-isolation",
)  # fmt: skip
_OPTION = re.compile(r"(-[a-zA-Z](?![a-zA-Z-])|--[a-z-]+)(?:\s*=\s*|\s+|(?<=^-[a-zA-Z]))?(.*)")
_PER_REQUIREMENT = re.compile(r"\s--(?:hash|config-settings?|global-option|install-option|build-option)\b.*")


class _Requirements:
    def __init__(self, pins: Pins, markers: dict[str, str], numbered: bool = True) -> None:
        self.pins = pins
        self.numbered = numbered
        self.markers = markers
        self.constraints: list[Pin] = []
        self.seen: set[Path] = set()

    def lines(self, text: str, folder: Path, source: str) -> None:
        """Read a whole file, and those that it includes."""
        self._read(text, folder, source, constraint=False, depth=0)
        for pin in self.constraints:
            if pin.name in self.pins.packages:
                self.pins.narrow(pin)

    def _read(self, text: str, folder: Path, source: str, constraint: bool, depth: int) -> None:
        for number, line in _logical_lines(text):
            where = f"{source}:{number}" if self.numbered else source
            if line.startswith("-"):
                self._option(line, folder, where, constraint, depth)
                continue
            pin = self._pin(line, where)
            if pin is None:
                continue
            if constraint:
                self.constraints.append(pin)
            else:
                self.pins.narrow(pin)

    def _option(self, line: str, folder: Path, where: str, constraint: bool, depth: int) -> None:
        said = _OPTION.fullmatch(line)
        option, value = (said[1], said[2].strip()) if said else (line, "")
        if option in ("-r", "--requirement", "-c", "--constraint"):
            self._include(value, folder, where, constraint or option in ("-c", "--constraint"), depth)
        elif option in ("-e", "--editable"):
            self._link(value, where)
        elif option not in _OPTIONS_WITHOUT_EFFECT:
            raise CommandError(f"{where}: not an option of a requirements file: {_excerpt(line)}")

    def _include(self, value: str, folder: Path, where: str, constraint: bool, depth: int) -> None:
        if re.match(r"[a-z+]+://", value):
            self.pins.notes.append(f"{where}: {_excerpt(value)} is not fetched")
            return
        path = folder / value
        if depth >= _DEPTH:
            raise CommandError(f"{where}: files include each other more than {_DEPTH} deep")
        try:
            if path.resolve() in self.seen:
                return
            self.seen.add(path.resolve())
            text = _text(_bytes(path), str(path))
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CommandError(f"{where}: cannot include {_excerpt(value)}: {reason}") from None
        self._read(text, path.parent, str(path), constraint, depth + 1)

    def _pin(self, line: str, where: str) -> Optional[Pin]:
        line = _PER_REQUIREMENT.sub("", line)
        if re.match(r"[a-z+]+://|\.{0,2}/|.*\.(?:whl|tar\.gz|zip)$", line) and " @ " not in line:
            return self._link(line, where)
        return pin_of(line, where, self.markers)

    def _link(self, link: str, where: str) -> Optional[Pin]:
        """A requirement that is a link alone: its file name, or ``#egg=``, says what it is."""
        name = re.search(r"#(?:.*&)?egg=([\w.-]+)", link)
        pin = _of_link(name[1] if name else "", link, where)
        if pin is None:
            self.pins.notes.append(f"{where}: {_excerpt(link)} does not say which package it is")
        else:
            self.pins.narrow(pin)
        return None


def pin_of(text: str, where: str, markers: dict[str, str]) -> Optional[Pin]:
    """The pin that a requirement is, or None where its marker does not hold.

    Raises:
        CommandError: it is not a requirement.
    """
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise CommandError(f"{where}: not a requirement: {_excerpt(text)}") from None
    if requirement.marker and not _holds(requirement.marker, markers):
        return None
    name = canonicalize_name(requirement.name)
    if requirement.url:
        return _of_link(name, requirement.url, where)
    return Pin(name, requirement.specifier, where)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, joined where they are continued, with the number of the first."""
    continued, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        whole = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        first = first if continued else number
        if whole.endswith("\\"):
            continued += whole[:-1] + " "
            continue
        line, continued = (continued + whole).strip(), ""
        if line:
            yield first, line
    if continued.strip():
        yield first, continued.strip()


def _of_link(name: str, link: str, where: str) -> Optional[Pin]:
    path = link.partition("#")[0].partition("?")[0].rstrip("/")
    file = path.rpartition("/")[2].replace("%2B", "+")
    try:
        found = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
        return Pin(canonicalize_name(name or found[0]), SpecifierSet(f"=={found[1]}"), where)
    except (InvalidWheelFilename, InvalidSdistFilename):
        pass  # not a file with a version in its name
    tag = re.search(r"@v?(\d+(?:\.\d+)+)$", path)
    name = name or path.partition("@")[0].rpartition("/")[2].removesuffix(".git")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        return None
    if tag:
        return Pin(canonicalize_name(name), SpecifierSet(f"=={tag[1]}"), where)
    return Pin(canonicalize_name(name), SpecifierSet(), where, f"{name} comes from {_excerpt(link)}, without a release")


# ---------------------------------------------------------------------------------------------------------------------
# Below: lock files, pyproject.toml, Pipfile.lock.


def _of_toml(source: str, text: str, markers: dict[str, str]) -> Pins:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise CommandError(f"{source}: reading TOML needs tomli on this Python: {EXTRA}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"{source}: not TOML: {error}") from None
    packages = document.get("packages", document.get("package"))
    if isinstance(packages, list):
        pins = Pins(source, complete=True)
        for entry in packages:
            _add_locked(pins, entry, markers)
        return pins
    project = document.get("project")
    if isinstance(project, dict):
        return _of_project(source, project, markers)
    raise CommandError(f"{source}: neither a lock file nor a pyproject.toml with dependencies")


def _add_locked(pins: Pins, entry: Any, markers: dict[str, str]) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise CommandError(f"{pins.source}: a package without a name: {_excerpt(str(entry))}")
    name = canonicalize_name(entry["name"])
    conditions = entry.get("resolution-markers") or entry.get("marker") or entry.get("markers") or []
    if isinstance(conditions, dict):  # poetry, by group
        conditions = list(conditions.values())
    conditions = [conditions] if isinstance(conditions, str) else conditions
    if conditions and not any(_holds_text(str(one), markers) for one in conditions):
        return
    version = _version(entry.get("version"))
    if version:
        pins.add(Pin(name, SpecifierSet(f"=={version}"), pins.source))
    else:
        pins.add(Pin(name, SpecifierSet(), pins.source, f"{name} is locked without a release"))


def _of_project(source: str, project: Mapping[str, Any], markers: dict[str, str]) -> Pins:
    pins = Pins(source)
    extras = project.get("optional-dependencies", {})
    wanted = [project.get("dependencies", []), *(extras.values() if isinstance(extras, dict) else [])]
    for requirement in _flat(wanted):
        if not isinstance(requirement, str):
            raise CommandError(f"{source}: not a requirement: {_excerpt(str(requirement))}")
        if pin := pin_of(requirement, source, markers):
            pins.narrow(pin)
    return pins


def _of_pipfile(source: str, text: str, markers: dict[str, str]) -> Pins:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{source}: not JSON: {error}") from None
    groups = [document.get(group) for group in ("default", "develop")] if isinstance(document, dict) else []
    if not any(isinstance(group, dict) for group in groups):
        raise CommandError(f"{source}: not a Pipfile.lock")
    pins = Pins(source, complete=True)
    for name, entry in [item for group in groups if isinstance(group, dict) for item in group.items()]:
        if not isinstance(entry, dict):
            raise CommandError(f"{source}: {_excerpt(name)} is not described")
        if not _holds_text(str(entry.get("markers", "")), markers):
            continue
        pins.add(
            _pin_with(canonicalize_name(name), str(entry.get("version", "")), source)
            if entry.get("version")
            else Pin(canonicalize_name(name), SpecifierSet(), source, f"{name} is locked without a release")
        )
    return pins


# ---------------------------------------------------------------------------------------------------------------------
# Below: conda, and folders.


def _of_conda(source: str, text: str, markers: dict[str, str], folder: Path) -> Pins:
    try:
        import yaml
    except ImportError:
        raise CommandError(f"{source}: reading YAML needs PyYAML, which is not installed: {EXTRA}") from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CommandError(f"{source}: not YAML: {str(error).splitlines()[0]}") from None
    wanted = document.get("dependencies") if isinstance(document, dict) else None
    if not isinstance(wanted, list):
        raise CommandError(f"{source}: not a conda environment: it has no list of dependencies")
    pins = Pins(source)
    for entry in wanted:
        if isinstance(entry, str):
            pins.narrow(_of_match_spec(entry, source))
        elif isinstance(entry, dict) and isinstance(entry.get("pip"), list):
            lines = [str(line) for line in entry["pip"] if isinstance(line, (str, int, float))]
            _Requirements(pins, markers, numbered=False).lines("\n".join(lines), folder, source)
        elif entry is not None and not isinstance(entry, dict):
            raise CommandError(f"{source}: not a dependency: {_excerpt(str(entry))}")
    return pins


_MATCH_SPEC = re.compile(r"(?:[^:\s]*::?)?([A-Za-z0-9_][\w.-]*)\s*(?:\[.*\])?\s*([^\[\s].*?)?\s*(?:\[.*\])?")


def _of_match_spec(text: str, source: str) -> Pin:
    """Conda's ``name=4.49``, which means 4.49.*, ``name==4.49.0``, ``name>=4,<5``, ``name=4.49.0=build``."""
    said = _MATCH_SPEC.fullmatch(text.strip()) if len(text) < _LONGEST else None
    if not said:
        raise CommandError(f"{source}: not a dependency: {_excerpt(text)}")
    name, versions = canonicalize_name(said[1]), (said[2] or "").strip()
    if versions.startswith("=") and not versions.startswith("=="):
        version = versions[1:].strip().partition("=")[0]
        exact = "=" in versions[1:] or "*" in version  # with a build string, the version is the whole version
        versions = f"=={version}" if exact else f"=={version}.*"
    elif versions[:1].isdigit():
        versions = "==" + versions.split()[0].partition("=")[0]
    elif versions == "*":
        versions = ""
    if "|" in versions:
        return Pin(name, SpecifierSet(), source, f"{_excerpt(text)} leaves the release open")
    return _pin_with(name, versions.split(" ")[0] if "," not in versions else versions, source)


def _of_folder(folder: Path) -> Pins:
    places = [folder, *folder.glob("lib*/python3*/site-packages"), folder / "Lib" / "site-packages"]
    found = [entry for place in places if place.is_dir() for entry in sorted(place.glob("*-*.*-info"))]
    conda = sorted((folder / "conda-meta").glob("*-*-*.json"))
    if not found and not conda:
        raise CommandError(f"{folder}: no installed packages in this folder; name an environment or its site-packages")
    pins = Pins(str(folder), complete=True)
    named = [entry.name.rpartition(".")[0].split("-")[:2] for entry in found]
    named += [entry.stem.rsplit("-", 2)[:2] for entry in conda]
    for name, said in dict.fromkeys((canonicalize_name(name), version) for name, version in named):
        version = _version(said)
        if version:
            pins.add(Pin(name, SpecifierSet(f"=={version}"), pins.source))
        else:
            pins.notes.append(f"{folder}: {_excerpt(f'{name} {said}')} has no version that can be read")
    return pins


# ---------------------------------------------------------------------------------------------------------------------
# Below: small helpers.


def _environment(python: str) -> dict[str, str]:
    environment = {name: str(value) for name, value in default_environment().items()}
    if python:
        if not re.fullmatch(r"3\.\d{1,2}(\.\d{1,2})?", python):
            raise CommandError(f"--python {_excerpt(python)}: write it as 3.10")
        environment["python_version"] = ".".join(python.split(".")[:2])
        environment["python_full_version"] = python if python.count(".") == 2 else f"{python}.0"
    return {"extra": "", **environment}


def _holds_text(text: str, markers: dict[str, str]) -> bool:
    try:
        return not text or _holds(Marker(text), markers)
    except InvalidMarker:
        return True


def _holds(marker: Marker, markers: dict[str, str]) -> bool:
    try:
        return marker.evaluate(markers)
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion, KeyError):
        return True  # about extras and groups; what might be installed is looked at


def _pin_with(name: str, specifier: str, source: str) -> Pin:
    try:
        return Pin(name, SpecifierSet(specifier), source)
    except InvalidSpecifier:
        raise CommandError(f"{source}: {name} has a version that cannot be read: {_excerpt(specifier)}") from None


def _version(text: object) -> Optional[Version]:
    try:
        return Version(text) if isinstance(text, str) else None
    except InvalidVersion:
        return None


def _flat(lists: Iterable[Any]) -> Iterator[Any]:
    for one in lists:
        yield from one if isinstance(one, list) else [one]


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
