"""The published releases of a package: their list, their wheels in a cache, and the source in those wheels.

Nothing is unpacked to disk and nothing is imported. Yanked releases and pre-releases are left out.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import parse_wheel_filename
from packaging.version import Version

SWEPT = {"transformers": Version("4.36.0")}
"""Packages whose releases are examined, and the first release that is."""


class CannotFetch(Exception):
    """The package index cannot be reached, or has no wheel of a release that it lists."""


def default_cache() -> Path:
    """The folder of the wheels."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "transformers-hotfix" / "wheels"


def cached(package: str, cache: Path) -> dict[Version, Path]:
    """The cached wheels, oldest release first."""
    wheels = {}
    for path in cache.glob(f"{package}-*.whl"):
        version = parse_wheel_filename(path.name)[1]
        if version >= SWEPT[package] and not version.is_prerelease:
            wheels[version] = path
    return dict(sorted(wheels.items()))


def published(package: str) -> list[Version]:
    """The releases on the package index that pip is configured for, oldest first.

    Raises:
        CannotFetch: pip cannot list them.
    """
    done = _pip("index", "versions", package)
    line = re.search(r"^Available versions: (.+)$", done.stdout, re.M)
    if line is None:
        raise CannotFetch(f"pip cannot list the releases of {package}: {done.stderr.strip()}")
    versions = map(Version, line[1].replace(",", " ").split())
    return sorted(version for version in versions if version >= SWEPT[package] and not version.is_prerelease)


def fetch(package: str, versions: Iterable[Version], cache: Path) -> list[Version]:
    """Download wheels into the cache.

    Returns:
        Those that the index lists but has withdrawn (yanked); they are not in the cache.

    Raises:
        CannotFetch: pip could not download one.
    """
    cache.mkdir(parents=True, exist_ok=True)
    withdrawn = []
    for version in versions:
        marker = cache / f"{package}-{version}.withdrawn"  # avoids another download with the same result
        if marker.exists():
            withdrawn.append(version)
            continue
        with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as folder:
            done = _pip(
                "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder, f"{package}=={version}"
            )
            wheels = list(Path(folder).glob("*.whl"))
            if done.returncode or len(wheels) != 1:
                raise CannotFetch(f"{package} {version} cannot be downloaded: {done.stderr.strip()}")
            if "yanked version" in done.stderr + done.stdout:
                withdrawn.append(version)
                marker.touch()
            else:
                wheels[0].replace(cache / wheels[0].name)
    return withdrawn


@dataclass(frozen=True)
class Content:
    """One text of a Python file, however many releases carry it.

    Attributes:
        number: index among the contents.
        wheel: a wheel that has it.
        member: its name in that wheel.
        modules: every module, in any release, that has this text.
    """

    number: int
    wheel: Path
    member: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Library:
    """Every release of a package, as texts that several releases may share.

    Attributes:
        releases: the releases, oldest first.
        modules: for each of them, the number of the content by module name.
        contents: the distinct texts.
    """

    releases: list[Version]
    modules: dict[Version, dict[str, int]]
    contents: list[Content]


def catalogue(package: str, wheels: Mapping[Version, Path]) -> Library:
    """List the modules of all wheels; two files with the same checksum and size are one text."""
    numbers: dict[tuple[int, int], int] = {}
    first: list[tuple[Path, str]] = []
    names: list[dict[str, None]] = []
    modules: dict[Version, dict[str, int]] = {}
    for version, wheel in sorted(wheels.items()):
        here = modules[version] = {}
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                module = _module_name(info.filename, package)
                if module is None:
                    continue
                number = numbers.setdefault((info.CRC, info.file_size), len(numbers))
                if number == len(first):
                    first.append((wheel, info.filename))
                    names.append({})
                module = sys.intern(module)
                names[number][module] = None
                here[module] = number
    contents = [Content(number, *first[number], tuple(names[number])) for number in range(len(first))]
    return Library(sorted(wheels), modules, contents)


def texts(contents: Iterable[Content]) -> Iterator[tuple[Content, bytes]]:
    """Read contents of one wheel, opening it once."""
    wanted = list(contents)
    if wanted:
        with zipfile.ZipFile(wanted[0].wheel) as archive:
            for content in wanted:
                yield content, archive.read(content.member)


class Reader:
    """Reads single contents of a library, and keeps the last wheels open, because opening one takes longer.

    Args:
        library: the library.
    """

    def __init__(self, library: Library) -> None:
        self._contents = library.contents
        self._opened = functools.lru_cache(maxsize=16)(zipfile.ZipFile)

    def __getitem__(self, number: int) -> bytes:
        content = self._contents[number]
        return self._opened(content.wheel).read(content.member)


# ---------------------------------------------------------------------------------------------------------------------


def _module_name(member: str, package: str) -> str | None:
    """The module name of a file in the wheel, or None.

    ``modular_*.py`` is what upstream generates modeling files from; it is in the wheel, but nothing imports it.
    """
    if not member.startswith(package + "/") or not member.endswith(".py"):
        return None
    if member.rpartition("/")[2].startswith("modular_"):
        return None
    return member.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip"]
    if subprocess.run([*command, "--version"], capture_output=True).returncode:
        pip = shutil.which("pip")
        if pip is None:
            raise CannotFetch("pip is not installed; --offline examines the wheels that are in the cache")
        command = [pip]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)
