"""What every examined release understands of configurations, without its wheel: distilled source for `forms`.

``by_release.json.xz`` is written by ``python -m tools.by_release`` from the wheels. Of each module that `forms` reads
it has what that goes by (the tables of model types, classes with the arguments that are asked for, the words that are
looked for), as a text that gives the same answers as the whole. What is looked for elsewhere is not there.

The standard library only. The file is read when it is first asked for.
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
    """The releases that are known, oldest first."""
    return tuple(map(Version, _data()["releases"]))


def reader(release: Version) -> Optional[Reader]:
    """How to get the distilled source of a module of a release; None for a release that is not known.

    Args:
        release: of transformers.
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
    """The same as what `forms` takes; kept, since it keeps what it has read.

    Args:
        release: one of `releases`.

    Raises:
        LookupError: nothing is known of it.
    """
    read = reader(release)
    if read is None:
        raise LookupError(f"nothing is known of {release}")
    return Release(read)


@memo
def model_types() -> dict[str, tuple[Version, Version]]:
    """Every model type that some release has: the first release that has it, and the last."""
    ranges: dict[str, tuple[Version, Version]] = {}
    known = releases()
    for model_type, runs in _data()["model_types"].items():
        ranges[model_type] = (known[runs[0][0]], known[runs[-1][1]])
    return ranges


def _tables(number: int) -> str:
    """The tables of model types of a release, as source: what `Release` looks for in it."""
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
