"""The source of every examined release that decides how it reads configurations, distilled for `forms`.

``python -m tools.by_release`` writes ``by_release.json.xz`` from the wheels. For each module that `forms` reads, it has
the relevant parts (tables of model types, classes with their arguments, words), as source that gives the same results
as the whole module. Everything else is left out.

This module needs only the standard library and reads the file at first use.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from pathlib import Path
from typing import Any, Optional

from packaging.version import Version

from hotfix._support.memo import memo
from hotfix.loading.forms import AUTO, Reader, Release

DATA = Path(__file__).with_suffix(".json.xz")


@memo
def releases() -> tuple[Version, ...]:
    """The known releases, oldest first."""
    return tuple(map(Version, _data()["releases"]))


def reader(release: Version) -> Optional[Reader]:
    """A function that returns the distilled source of a module; None for an unknown release.

    Args:
        release: a release of transformers.
    """
    if release not in releases():
        return None
    number = releases().index(release)

    def read(module: str) -> Optional[str]:
        if module in AUTO:
            return _tables(number) if module == AUTO[0] else None
        runs = _data()["modules"].get(module, [])
        at = bisect_right([first for first, _ in runs], number) - 1
        return str(_data()["texts"][runs[at][1]]) if at >= 0 else None

    return read


@memo
def source_of(release: Version) -> Release:
    """The same in the form that `forms` takes; cached, since it caches the modules that it has read.

    Args:
        release: one of `releases`.

    Raises:
        LookupError: the release is not known.
    """
    read = reader(release)
    if read is None:
        raise LookupError(f"transformers {release} is not in {DATA.name}")
    return Release(read)


@memo
def model_types() -> dict[str, tuple[Version, Version]]:
    """The first and the last release with each model type."""
    ranges: dict[str, tuple[Version, Version]] = {}
    known = releases()
    for model_type, runs in _data()["model_types"].items():
        ranges[model_type] = (known[runs[0][0]], known[runs[-1][1]])
    return ranges


def _tables(number: int) -> str:
    """The tables of model types of a release, as the source that `Release` reads."""
    names, folders, deprecated = {}, {}, []
    for model_type, runs in _data()["model_types"].items():
        for first, last, folder, name in runs:
            if first <= number <= last:
                names[model_type], folders[model_type] = name, folder.rpartition(".")[2]
                deprecated += [folders[model_type]] if folder.startswith("deprecated.") else []
    tables = {
        "CONFIG_MAPPING_NAMES": names,
        "SPECIAL_MODEL_TYPE_TO_MODULE_NAME": folders,
        "DEPRECATED_MODELS": deprecated,
    }
    return "\n".join(f"{name} = {table!r}" for name, table in tables.items())


@memo
def _data() -> dict[str, Any]:
    import lzma  # not every Python is built with it

    data: dict[str, Any] = json.loads(lzma.decompress(DATA.read_bytes()))
    return data
