"""The files of a project that have pins, and readers for those kinds that are no plain list of requirements.

`find` looks for them by name, in a folder and in the few folders below it that usually have them. The readers here are
for setup.cfg, Pipfile, conda-lock.yml, a Dockerfile, and the table that ``pip list`` prints. As everywhere in
`hotfix.commands.pins.readers`, nothing is executed and nothing is quoted.
"""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import CommandError

NAMES = (
    "requirements*.txt", "requirements*.in", "constraints*.txt", "pyproject.toml", "pylock.toml", "pylock.*.toml",
    "uv.lock", "poetry.lock", "pdm.lock", "pipfile", "pipfile.lock", "setup.cfg", "environment*.yml",
    "environment*.yaml", "conda-lock.yml", "*.conda-lock.yml", "dockerfile", "dockerfile.*", "*.dockerfile",
)  # fmt: skip
"""The files of a project, in lower case."""

FOLDERS = ("requirements", "docker", "envs")
_MOST = 100  # files of one project
_PIP_LIST = re.compile(r"Package\s+Version(?:\s.*)?\n-+ -+.*\n")


def find(folder: Path) -> list[Path]:
    """The files of a project that may have pins, in the order of `NAMES`; also anything of such a name that is no file.

    Args:
        folder: the root of the project.

    Raises:
        CommandError: there are none.
    """
    places = [folder, *(folder / name for name in FOLDERS)]
    there = sorted(file for place in places if place.is_dir() for file in place.iterdir() if not file.is_dir())
    files = [file for pattern in NAMES for file in there if fnmatchcase(file.name.lower(), pattern)]
    files += [file for file in there if file.parent.name == "requirements" and file.suffix in (".txt", ".in")]
    if not files:
        raise CommandError(
            f"{folder}: no installed packages in this folder, and no file of a project that names any "
            "(requirements*.txt, pyproject.toml, a lock file, environment.yml, Pipfile, setup.cfg, Dockerfile)"
        )
    return list(dict.fromkeys(files))[:_MOST]


def is_pip_list(text: str) -> bool:
    """Whether a text is the table that ``pip list`` prints."""
    return bool(_PIP_LIST.search(text))


def of_pip_list(text: str) -> Iterator[tuple[int, str]]:
    """Number and requirement of each line of that table."""
    heading = _PIP_LIST.search(text)
    first = text[: heading.end()].count("\n") if heading else 0
    for number, line in enumerate(text.splitlines()[first:], first + 1):
        words = line.split()
        if len(words) < 2 or line.startswith("["):  # a notice of pip about itself
            break
        yield number, f"{words[0]}=={words[1]}"


def of_setup_cfg(text: str, source: str) -> Iterator[str]:
    """The requirements in a setup.cfg, those of its extras as well.

    Raises:
        CommandError: it cannot be read.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise CommandError(f"{source}: not a setup.cfg: {str(error).splitlines()[0]}; correct the file") from None
    lists = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        lists += [value for _, value in parser.items("options.extras_require")]
    yield from (line.strip() for listed in lists for line in listed.splitlines() if line.strip())


def of_pipfile(document: Mapping[str, Any]) -> Iterator[str]:
    """The requirements in a Pipfile."""
    for group in ("packages", "dev-packages"):
        entries = document.get(group)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            version = entry.get("version", "") if isinstance(entry, dict) else entry
            link = entry.get("git") or entry.get("file") if isinstance(entry, dict) else ""
            if link:
                yield f"{name} @ {link}@{entry.get('ref', '')}"
            else:
                yield name if version in ("", "*") else f"{name}{version}"


def of_conda_lock(document: Mapping[str, Any], source: str) -> Iterator[tuple[str, str]]:
    """Name and version of every package in a conda-lock.yml; the version is empty if the file has none.

    Raises:
        CommandError: a package has no name.
    """
    for entry in document["package"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise CommandError(f"{source}: a package has no name; write the lock file again with conda-lock")
        yield entry["name"], str(entry.get("version", ""))


def of_dockerfile(text: str) -> Iterator[tuple[int, str]]:
    """The requirements that a Dockerfile installs with pip or uv, each with the number of its line."""
    for number, line in _instructions(text):
        if not re.match(r"RUN\b", line, re.I):
            continue
        for command in re.split(r"&&|\|\||;", line[3:]):
            yield from ((number, requirement) for requirement in _installed_by(command))


# ---------------------------------------------------------------------------------------------------------------------
# Below: the lines of a Dockerfile.

_WITH_VALUE = ("-r", "-c", "-e", "-i", "-f", "-t", "--requirement", "--constraint", "--editable", "--index-url",
               "--extra-index-url", "--find-links", "--target", "--prefix", "--trusted-host", "--python")  # fmt: skip


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """The instructions, joined where they are continued, with the number of the first line."""
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        first = first if parts else number
        parts.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            yield first, " ".join(parts).strip()
            parts = []
    if parts:
        yield first, " ".join(parts).strip()


def _installed_by(command: str) -> Iterable[str]:
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that goes on in another instruction
        return []
    if "install" not in words or not any(re.fullmatch(r"(?:.*/)?(?:pip[\d.]*|uv)", word) for word in words):
        return []
    wanted, skipped = [], False
    for word in words[words.index("install") + 1 :]:
        if skipped:
            skipped = False
        elif word.startswith("-"):
            skipped = word in _WITH_VALUE
        elif re.match(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]*\])?(?:\s*[=<>!~@].*)?$", word) and "$" not in word:
            wanted.append(word)
    return wanted
