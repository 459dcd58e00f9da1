"""Read the packages and versions that a file or a folder names.

These are read: requirements files (with ``-r``, ``-c``, markers, hashes), the output of ``pip freeze``, pylock.toml,
uv.lock, poetry.lock, pdm.lock, Pipfile.lock, pyproject.toml, conda's environment.yml, a bill of materials (CycloneDX in
JSON), the folder of an environment, and the kinds of `hotfix.commands.pins.project_files`. Nothing is executed,
fetched or imported. An unreadable file is one `CommandError` that names file and line.

Pull requests from anybody can change pin files. Reading therefore takes linear time, and sizes and depths are limited.
A requirements file may include any file, or be a link to one: an error names a file that has no pins, and the line, and
never quotes its content.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional
from urllib.parse import unquote

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from ...reports.files import read_regular
from ...reports.trees import Refused, Tree, json_of, size_of
from .. import CommandError
from ..screen import EXTRA
from . import project_files

LIMIT = 16 * 1024 * 1024  # bytes; the lock files of the largest projects have a fifth of that
LIMIT_TOML = 4 * 1024 * 1024  # bytes; tomllib takes a second for each megabyte
HEAVIEST = 256 * 1024 * 1024  # bytes in memory of the objects in a file of JSON
LIMIT_YAML = 256 * 1024  # bytes; PyYAML takes a minute for the other limit
LIMIT_LOCK = 2 * 1024 * 1024  # bytes of a conda-lock.yml, which is read in some seconds
_REQUIREMENT = re.compile(r"[A-Za-z][\w.-]*(?:\[[\w.,-]*\])?\s*(?:[=!<>~]=|[<>])|transformers$")
_DEPTH = 20  # of files that include each other
_LINES = 200_000  # of requirements files, with all that they include; many of them are hashes
_REQUIREMENTS = 20_000
_TABLES = 50_000  # of a file in TOML
_DOTS = 250_000  # of a file in TOML; each may make a table
_KEY = 32  # parts of a key in TOML, which tomllib reads in quadratic time
_LONGEST = 500  # characters of a dependency of conda
_LONG = 10_000  # of a requirement without its hashes
_VERSION = 200  # characters
_CONDITIONS = 100  # markers of one package
_ASKED = 100  # versions, or conditions on the version, of one package


@dataclass(frozen=True)
class Pin:
    """One requested package.

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

    def __post_init__(self) -> None:
        if len(self.specifier) > _ASKED:
            raise CommandError(f"{self.where}: more than {_ASKED} conditions on {_excerpt(self.name)}; merge them")
        if any(len(clause.version) > _VERSION for clause in self.specifier):
            raise CommandError(f"{self.where}: a version of more than {_VERSION} characters; correct it")

    @property
    def version(self) -> Optional[Version]:
        """The version, if exactly one is allowed."""
        exact = [
            clause.version
            for clause in self.specifier
            if clause.operator in ("==", "===") and "*" not in clause.version
        ]
        return _version(exact[0]) if exact else None


@dataclass
class Pins:
    """The packages that a file or folder names.

    Attributes:
        source: the file or folder.
        complete: whether every installed package is named: true of lock files, of ``pip freeze`` and of folders.
        packages: by canonical name; a lock file may have several versions of one package.
        notes: the parts that were not read, and why.
        requirements: how many were examined.
    """

    source: str
    complete: bool = False
    packages: dict[str, list[Pin]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    requirements: int = 0

    def count(self, where: str) -> None:
        """Count one requirement, also one that is left out later.

        Raises:
            CommandError: there are too many.
        """
        self.requirements += 1
        if self.requirements > _REQUIREMENTS:
            raise CommandError(f"{where}: more than {_REQUIREMENTS} requirements; split the file")

    def add(self, pin: Pin) -> None:
        """Add a pin; a lock file may have several versions of one package.

        Raises:
            CommandError: there are too many.
        """
        pins = self.packages.setdefault(pin.name, [])
        if len(pins) >= _ASKED:
            raise CommandError(
                f"{pin.where}: more than {_ASKED} versions of {_excerpt(pin.name)}; keep the one you use"
            )
        pins.append(pin)

    def narrow(self, pin: Pin) -> None:
        """Add a requirement that must be met together with the earlier ones on its package."""
        before = self.packages.get(pin.name)
        if before is None or pin.opaque:
            self.packages[pin.name] = [pin]
        elif not before[0].opaque:
            self.packages[pin.name] = [Pin(pin.name, before[0].specifier & pin.specifier, before[0].where)]


def read(source: str, python: str = "") -> Pins:
    """Read a file, a folder, a requirement, or with ``-`` the output of ``pip freeze`` on stdin.

    Args:
        source: path, requirement with a version, or ``-``.
        python: the Python version for which markers are evaluated, ``3.10``; the running one if empty.

    Raises:
        CommandError: it cannot be read.
    """
    markers = _environment(python)
    path, name = Path(source), "<stdin>" if source == "-" else source
    try:
        if source == "-":
            pins = Pins(name, complete=True)
            text = _text(sys.stdin.buffer.read(LIMIT + 1), name)
            if project_files.is_pip_list(text):
                return _of_lines(pins, project_files.of_pip_list(text), markers)
            _Requirements(pins, markers).lines(text, Path(), name)
            return pins
        if path.is_dir():
            return _of_folder(path)
        if _REQUIREMENT.match(source) and not path.exists():
            pins = Pins(source)
            _Requirements(pins, markers, numbered=False).lines(source, Path(), pins.source)
            return pins
        text = _text(_bytes(path), source)
        if not text.strip():
            raise CommandError(f"{source}: the file is empty; name the file that has the pins")
        return _with_lines(_of_file(path, source, text, markers), text)
    except OSError as error:
        raise CommandError(f"{source}: {error.strerror or error}") from None
    except RecursionError:
        raise CommandError(f"{name}: nested too deeply; name the file that has the pins") from None


# ---------------------------------------------------------------------------------------------------------------------
# Below: which kind of file it is.


def _of_file(path: Path, source: str, text: str, markers: dict[str, str]) -> Pins:
    name = path.name.lower()
    if name.endswith((".toml", ".lock")) and name != "pipfile.lock":
        return _of_toml(source, text, markers)
    if name == "pipfile":
        pins = Pins(source)
        return _of_lines(pins, ((0, line) for line in project_files.of_pipfile(toml(source, text))), markers)
    if name == "setup.cfg":
        pins = Pins(source)
        return _of_lines(pins, ((0, line) for line in project_files.of_setup_cfg(text, source)), markers)
    if re.fullmatch(r"dockerfile(\..*)?|.*\.dockerfile", name):
        return _of_lines(Pins(source), project_files.of_dockerfile(text), markers, lenient=True)
    if name == "pipfile.lock" or name.endswith(".json"):
        return _of_json(source, text, markers)
    if name.endswith((".yml", ".yaml")):
        return _of_conda(source, text, markers, path.parent)
    if name.endswith((".txt", ".in")) or "requirements" in name or "constraints" in name or "freeze" in name:
        if project_files.is_pip_list(text):
            return _of_lines(Pins(source, complete=True), project_files.of_pip_list(text), markers)
        pins = Pins(source)
        _Requirements(pins, markers).lines(text, path.parent, source)
        return pins
    raise CommandError(
        f"{source}: an unknown kind of file. Name one of these: *.txt, *.in, pylock.toml, uv.lock, poetry.lock, "
        f"pdm.lock, Pipfile, Pipfile.lock, pyproject.toml, setup.cfg, *.yml, Dockerfile, CycloneDX in *.json or "
        f"the folder of an environment; or pipe: pip freeze | hotfix scan -"
    )


def _of_lines(pins: Pins, lines: Iterable[tuple[int, str]], markers: dict[str, str], lenient: bool = False) -> Pins:
    """The requirements in a file that is no list of them.

    Args:
        pins: where they are put.
        lines: number of the line, if it has one, and requirement.
        markers: hold for the environment.
        lenient: whether other entries are left out, and several of one package are several installations.
    """
    for number, line in lines:
        where = f"{pins.source}:{number}" if number else pins.source
        pins.count(where)
        try:
            pin = pin_of(line, where, markers)
        except CommandError:
            if not lenient:
                raise
            continue
        if pin and lenient:
            pins.add(pin)
        elif pin:
            pins.narrow(pin)
    return pins


def _with_lines(pins: Pins, text: str) -> Pins:
    """The same pins with their lines, if the reader of this kind of file has not added these."""
    for name, entries in pins.packages.items():
        if name != "transformers" or any(pin.where != pins.source for pin in entries):
            continue  # no other package is ever shown with its line
        named = {number: line for number, line in enumerate(text.splitlines(), 1) if _names(line, name)}
        if named:
            lines = list(named)
            # A lock file has one entry for each version, and also names the package where other packages require it.
            own = [number for number, line in named.items() if re.search(r"^\s*-?\s*\"?name\"?\s*[=:]", line)]
            places = own if len(own) >= len(entries) else lines
            pins.packages[name] = [
                replace(pin, where=f"{pin.where}:{places[min(number, len(places) - 1)]}")
                for number, pin in enumerate(entries)
            ]
    return pins


def _names(line: str, package: str) -> bool:
    return bool(re.search(rf"(?<![\w.-]){re.escape(package)}(?![\w.-]*\w)", line, re.I))


def _bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise CommandError(f"{path}: not a regular file; copy its content into a file")
    if path.stat().st_size > LIMIT:
        raise CommandError(f"{path}: larger than {size_of(LIMIT)}; split the file")
    return read_regular(path, LIMIT)


def _text(data: bytes, source: str) -> str:
    if len(data) > LIMIT:
        raise CommandError(f"{source}: larger than {size_of(LIMIT)}; split the file")
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # the output of > in PowerShell
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise CommandError(f"{source}: not a text file in UTF-8; save it as UTF-8") from None
    if "\0" in text:
        raise CommandError(f"{source}: not a text file; name the file that has the pins")
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
        self.lines_read = 0

    def lines(self, text: str, folder: Path, source: str) -> None:
        """Read a whole file, and those that it includes."""
        self._read(text, folder, source, constraint=False, depth=0)
        for pin in self.constraints:
            if pin.name in self.pins.packages:
                self.pins.narrow(pin)

    def _read(self, text: str, folder: Path, source: str, constraint: bool, depth: int) -> None:
        self.lines_read += text.count("\n") + 1
        if self.lines_read > _LINES:
            raise CommandError(f"{source}: more than {_LINES} lines of requirements; split the file")
        for number, line in _logical_lines(text):
            where = f"{source}:{number}" if self.numbered else source
            self.pins.count(where)
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
        match = _OPTION.fullmatch(line)
        option, value = (match[1], match[2].strip()) if match else (line, "")
        if option in ("-r", "--requirement", "-c", "--constraint"):
            self._include(value, folder, where, constraint or option in ("-c", "--constraint"), depth)
        elif option in ("-e", "--editable"):
            pin = self._link(value, where)
            if pin is not None:
                self.pins.narrow(pin)
        elif option not in _OPTIONS_WITHOUT_EFFECT:
            raise CommandError(f"{where}: not an option of a requirements file; correct or remove this line")

    def _include(self, value: str, folder: Path, where: str, constraint: bool, depth: int) -> None:
        if re.match(r"[a-z+]+://", value):
            self.pins.notes.append(f"{where}: {_shown(value)} is not fetched")
            return
        path = folder / value
        if depth >= _DEPTH:
            raise CommandError(
                f"{where}: files include each other more than {_DEPTH} deep; name the inner file instead"
            )
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
        if len(line) > _LONG:
            raise CommandError(
                f"{where}: not a requirement: longer than {_LONG} characters; correct or remove this line"
            )
        if re.match(r"[a-z+]+://|\.{0,2}/|.*\.(?:whl|tar\.gz|zip)$", line) and " @ " not in line:
            return self._link(line, where)
        return pin_of(line, where, self.markers)

    def _link(self, link: str, where: str) -> Optional[Pin]:
        """The pin of a requirement that is only a link: its file name, or ``#egg=``, names the package."""
        name = re.search(r"#(?:.*&)?egg=([\w.-]+)", link)
        pin = _of_link(name[1] if name else "", link, where)
        if pin is None:
            self.pins.notes.append(f"{where}: {_shown(link)} does not name its package")
        return pin


def pin_of(text: str, where: str, markers: dict[str, str]) -> Optional[Pin]:
    """The pin of a requirement; None if its marker does not hold.

    Raises:
        CommandError: it is not a requirement.
    """
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, ValueError):  # a number of thousands of digits, for instance
        raise CommandError(f"{where}: not a requirement; write it as transformers==4.49.0") from None
    if requirement.marker and not _holds(requirement.marker, markers):
        return None
    name = canonicalize_name(requirement.name)
    if requirement.url:
        return _of_link(name, requirement.url, where)
    return Pin(name, requirement.specifier, where)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments; continued lines are joined and have the number of the first."""
    continued: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), start=1):
        whole = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        first = first if continued else number
        if whole.endswith("\\"):
            continued.append(whole[:-1])
            continue
        line, continued = " ".join([*continued, whole]).strip(), []
        if line:
            yield first, line
    if "".join(continued).strip():
        yield first, " ".join(continued).strip()


def _of_link(name: str, link: str, where: str) -> Optional[Pin]:
    path = link.partition("#")[0].partition("?")[0].rstrip("/")
    file = path.rpartition("/")[2].replace("%2B", "+")
    try:
        parsed = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
        return Pin(canonicalize_name(name or parsed[0]), SpecifierSet(f"=={parsed[1]}"), where)
    except ValueError:
        pass  # not a file with a version in its name
    tag = re.search(r"@v?(\d+(?:\.\d+)+)$", path)
    name = name or path.partition("@")[0].rpartition("/")[2].removesuffix(".git")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        return None
    if tag:
        return Pin(canonicalize_name(name), SpecifierSet(f"=={tag[1]}"), where)
    return Pin(canonicalize_name(name), SpecifierSet(), where, f"{name} comes from {_shown(link)}, without a release")


# ---------------------------------------------------------------------------------------------------------------------
# Below: lock files, pyproject.toml, Pipfile.lock.


def toml(source: str, text: str) -> dict[str, Any]:
    """Parse a text in TOML.

    Raises:
        CommandError: it is no TOML, or has keys that take too long to parse.
    """
    parser = _toml_parser()
    if parser is None:
        raise CommandError(f"{source}: reading TOML needs tomli on this Python: {EXTRA}")
    if len(text) > LIMIT_TOML:
        raise CommandError(f"{source}: larger than {size_of(LIMIT_TOML)}; split the file")
    if text.count(".") > _DOTS or len(_TABLE.findall(text)) > _TABLES:
        raise CommandError(f"{source}: more than {_TABLES} tables; split the file")
    for number, line in enumerate(text.splitlines(), start=1):
        if _longest_key(line) > _KEY:
            raise CommandError(f"{source}:{number}: a key of more than {_KEY} parts; shorten it")
    try:
        document: dict[str, Any] = parser.loads(text)
    except RecursionError:
        raise CommandError(f"{source}: nested too deeply; write it again with its tool") from None
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise CommandError(f"{source}: not TOML: {error}; correct the file") from None
    return document


def can_read_toml() -> bool:
    """Whether this Python can read TOML; before 3.11 it needs ``tomli``."""
    return _toml_parser() is not None


def _toml_parser() -> Any:
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        return None
    return tomllib


_TABLE = re.compile(r"^[ \t]*\[", re.M)


def _of_toml(source: str, text: str, markers: dict[str, str]) -> Pins:
    document = toml(source, text)
    packages = document.get("packages", document.get("package"))
    if isinstance(packages, list):
        pins = Pins(source, complete=True)
        for entry in packages:
            _add_locked(pins, entry, markers)
        return pins
    project = document.get("project")
    if isinstance(project, dict):
        return _of_project(source, project, markers)
    raise CommandError(
        f"{source}: neither a lock file nor a pyproject.toml with dependencies; name the file that has the pins"
    )


def _longest_key(line: str) -> int:
    """The number of parts of the longest key in a line of TOML, or a few more."""
    if line.count(".") < _KEY:
        return 0
    bare = re.sub(r""""[^"]*"|'[^']*'""", "", line)
    keys = bare.split("=")[:-1] + ([bare] if bare.lstrip().startswith("[") else [])
    return max((key.count(".") + 1 for key in keys), default=0)


def _add_locked(pins: Pins, entry: Any, markers: dict[str, str]) -> None:
    pins.count(pins.source)
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise CommandError(f"{pins.source}: a package has no name; write the lock file again with its tool")
    name = canonicalize_name(entry["name"])
    conditions = entry.get("resolution-markers") or entry.get("marker") or entry.get("markers") or []
    if isinstance(conditions, dict):  # poetry, by group
        conditions = list(conditions.values())
    conditions = [conditions] if isinstance(conditions, str) else conditions
    if not isinstance(conditions, list) or len(conditions) > _CONDITIONS:
        raise CommandError(
            f"{pins.source}: the markers of {_excerpt(name)} must be a list of at most {_CONDITIONS} strings"
        )
    if conditions and not any(_holds_text(str(condition), markers) for condition in conditions):
        return
    pins.add(_exact(name, entry.get("version"), pins.source, "locked"))


def _exact(name: str, version: Any, source: str, how: str) -> Pin:
    """The pin of a package that is locked, or named, with one version, which may be missing."""
    known = _version(version)
    if known is None:
        return Pin(name, SpecifierSet(), source, f"{name} is {how} without a release")
    return Pin(name, SpecifierSet(f"=={known}"), source)


def _of_project(source: str, project: Mapping[str, Any], markers: dict[str, str]) -> Pins:
    pins = Pins(source)
    extras = project.get("optional-dependencies", {})
    wanted = [project.get("dependencies", []), *(extras.values() if isinstance(extras, dict) else [])]
    for requirement in _flat(wanted):
        pins.count(source)
        if not isinstance(requirement, str):
            raise CommandError(f'{source}: a dependency is no text; write each as "transformers==4.49.0"')
        if pin := pin_of(requirement, source, markers):
            pins.narrow(pin)
    return pins


def _of_json(source: str, text: str, markers: dict[str, str]) -> Pins:
    try:
        document = json_of(text.encode(), HEAVIEST)
    except Refused as error:
        raise CommandError(f"{source}: {error}") from None
    except ValueError as error:
        raise CommandError(f"{source}: not JSON: {error}; write it again with its tool") from None
    if isinstance(document, dict) and document.get("bomFormat") == "CycloneDX":
        return _of_bill(source, document)
    return _of_pipfile(source, document, markers)


def _of_bill(source: str, document: Mapping[str, Any]) -> Pins:
    """The packages of a bill of materials, by their package URLs (``pkg:pypi/transformers@4.49.0``)."""
    compositions = document.get("compositions")
    whole = isinstance(compositions, list) and any(
        isinstance(composition, dict) and composition.get("aggregate") == "complete" for composition in compositions
    )
    pins = Pins(source, complete=whole)
    metadata = document.get("metadata")
    described = metadata.get("component") if isinstance(metadata, dict) else None
    waiting, nameless = [described, document.get("components")], 0
    while waiting:
        component = waiting.pop()
        if isinstance(component, list):
            waiting += component
        if not isinstance(component, dict):
            continue
        waiting.append(component.get("components"))
        url = component.get("purl")
        nameless += not url and component.get("type") == "library"
        match = _PACKAGE_URL.match(url) if isinstance(url, str) and len(url) < _LONG else None
        if match:
            pins.count(source)
            version = unquote(match[2] or "")
            name = canonicalize_name(unquote(match[1]))
            pins.add(_exact(name, version if len(version) <= _VERSION else "", source, "named"))
    if not pins.packages:
        raise CommandError(f"{source}: this bill of materials has no package URL of Python (pkg:pypi/…)")
    if nameless:
        pins.notes.append(f"{source}: {nameless} libraries without a package URL were not read")
    return pins


_PACKAGE_URL = re.compile(r"pkg:pypi/([^/@?#]+)(?:@([^?#]*))?", re.I)


def _of_pipfile(source: str, document: Any, markers: dict[str, str]) -> Pins:
    groups = [document.get(group) for group in ("default", "develop")] if isinstance(document, dict) else []
    if not any(isinstance(group, dict) for group in groups):
        raise CommandError(f"{source}: not a Pipfile.lock; write it again with pipenv lock")
    pins = Pins(source, complete=True)
    for name, entry in [item for group in groups if isinstance(group, dict) for item in group.items()]:
        pins.count(source)
        if not isinstance(entry, dict):
            raise CommandError(
                f"{source}: the entry of {_excerpt(name)} is not an object; write the file again with pipenv lock"
            )
        if not _holds_text(str(entry.get("markers", "")), markers):
            continue
        package, version = canonicalize_name(name), entry.get("version")
        pins.add(_pin_with(package, str(version), source) if version else _exact(package, "", source, "locked"))
    return pins


# ---------------------------------------------------------------------------------------------------------------------
# Below: conda, and folders.


def _of_conda(source: str, text: str, markers: dict[str, str], folder: Path) -> Pins:
    try:
        import yaml
    except ImportError:
        raise CommandError(f"{source}: reading YAML needs PyYAML, which is not installed: {EXTRA}") from None
    limit = LIMIT_LOCK if "conda-lock" in Path(source).name else LIMIT_YAML
    if len(text) > limit:
        raise CommandError(f"{source}: larger than {limit // 1024} kB, the limit for an environment of conda")

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it comes without types
        def compose_node(self, parent: Any, index: Any) -> Any:
            # A few lines that name each other can expand to billions of entries.
            if self.check_event(yaml.AliasEvent):
                raise CommandError(f"{source}: YAML aliases are not read; write the entries out")
            return super().compose_node(parent, index)

    try:
        document = yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise CommandError(f"{source}: not YAML: {str(error).splitlines()[0]}") from None
    if isinstance(document, dict) and isinstance(document.get("package"), list):
        pins = Pins(source, complete=True)
        for name, version in project_files.of_conda_lock(document, source):
            pins.count(source)
            pins.add(_pin_with(canonicalize_name(name), f"=={version}" if version else "", source))
        return pins
    wanted = document.get("dependencies") if isinstance(document, dict) else None
    if not isinstance(wanted, list):
        raise CommandError(f"{source}: not a conda environment: it has no list named dependencies")
    pins = Pins(source)
    for entry in wanted:
        if isinstance(entry, str):
            pins.narrow(_of_match_spec(entry, source))
        elif isinstance(entry, dict) and isinstance(entry.get("pip"), list):
            lines = [str(line) for line in entry["pip"] if isinstance(line, (str, int, float))]
            _Requirements(pins, markers, numbered=False).lines("\n".join(lines), folder, source)
        elif entry is not None and not isinstance(entry, dict):
            raise CommandError(f"{source}: a dependency is not a string; write each as transformers=4.49.0")
    return pins


_MATCH_SPEC = re.compile(r"(?:[^:\s]*::?)?([A-Za-z0-9_][\w.-]*)\s*(?:\[.*\])?\s*([^\[\s].*?)?\s*(?:\[.*\])?")


def _of_match_spec(text: str, source: str) -> Pin:
    """Conda's ``name=4.49``, which means 4.49.*, ``name==4.49.0``, ``name>=4,<5``, ``name=4.49.0=build``."""
    match = _MATCH_SPEC.fullmatch(text.strip()) if len(text) < _LONGEST else None
    if not match:
        raise CommandError(f"{source}: an entry is not a dependency; write it as transformers=4.49.0")
    name, versions = canonicalize_name(match[1]), (match[2] or "").strip()
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


def is_environment(folder: Path) -> bool:
    """Whether packages are installed in a folder."""
    return any(_installed_in(folder))


def _installed_in(folder: Path) -> tuple[list[Path], list[Path]]:
    tree = Tree(folder)
    places = [folder, *folder.glob("lib*/python3*/site-packages"), folder / "Lib" / "site-packages"]
    places = [place for place in places if place.is_dir() and tree.contains(place)]
    entries = [entry for place in places for entry in sorted(place.glob("*-*.*-info"))]
    conda = folder / "conda-meta"
    return entries, sorted(conda.glob("*-*-*.json")) if tree.contains(conda) else []


def _of_folder(folder: Path) -> Pins:
    entries, conda = _installed_in(folder)
    if not entries and not conda:
        raise CommandError(
            f"{folder}: no packages are installed in this folder; name an environment or its site-packages"
        )
    pins = Pins(str(folder), complete=True)
    named = [entry.name.rpartition(".")[0].split("-")[:2] for entry in entries]
    named += [entry.stem.rsplit("-", 2)[:2] for entry in conda]
    for name, text in dict.fromkeys((canonicalize_name(name), version) for name, version in named):
        version = _version(text)
        if version:
            pins.add(Pin(name, SpecifierSet(f"=={version}"), pins.source))
        else:
            pins.notes.append(f"{folder}: {_excerpt(f'{name} {text}')} has no version that can be read")
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
        return not text or len(text) > _LONG or _holds(Marker(text), markers)
    except InvalidMarker:
        return True


def _holds(marker: Marker, markers: dict[str, str]) -> bool:
    try:
        return marker.evaluate(markers)
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion, KeyError):
        return True  # about extras and groups; a package that may be installed is examined


def _pin_with(name: str, specifier: str, source: str) -> Pin:
    try:
        return Pin(name, SpecifierSet(specifier), source)
    except InvalidSpecifier:
        raise CommandError(f"{source}: the version of a dependency cannot be read; write it as ==4.49.0") from None


def _version(text: object) -> Optional[Version]:
    try:
        return Version(text) if isinstance(text, str) else None
    except ValueError:  # InvalidVersion, and a number of thousands of digits
        return None


def _flat(lists: Iterable[Any]) -> Iterator[Any]:
    for value in lists:
        yield from value if isinstance(value, list) else [value]


def _shown(link: str) -> str:
    """A link without the name and the token that it may hold."""
    return _excerpt(re.sub(r"(?<=//)[^/@\s]*@", "", link))


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
