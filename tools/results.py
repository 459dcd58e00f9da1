"""The results of the matrix, one file for each fix: docs/data/matrix/ID.json, a cell in each line.

``_versions.json`` has the versions with which all cells were run. In memory they are one dictionary: ``versions``, and
``fixes`` by id, target and release.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "data" / "matrix"
VERSIONS = "_versions.json"  # no fix has such an id


def read(folder: Path = FOLDER) -> dict[str, Any]:
    """All results; none if there is no folder."""
    versions = folder / VERSIONS
    return {
        "versions": json.loads(versions.read_text(encoding="utf-8")) if versions.is_file() else {},
        "fixes": {
            path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[!_]*.json"))
        },
    }


def write(data: Mapping[str, Any], folder: Path = FOLDER, fixes: Collection[str] | None = None) -> None:
    """Write results, each file whole, so that an interruption leaves either the old or the new one.

    Args:
        data: all results, as `read` returns them.
        folder: of the files.
        fixes: ids of fixes whose results have changed; None: all, and there are no others. The file of a fix without
            results is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / VERSIONS, json.dumps(data["versions"], indent=1, sort_keys=True) + "\n")
    if fixes is None:
        fixes = {*data["fixes"], *(path.stem for path in folder.glob("[!_]*.json"))}
    for fix in fixes:
        path = folder / f"{fix}.json"
        if data["fixes"].get(fix):
            _replace(path, _rendered(data["fixes"][fix]))
        else:
            path.unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _rendered(targets: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with one cell a line, sorted: a new result changes one line."""
    blocks = []
    for key, cells in sorted(targets.items()):
        rows = ",\n".join(
            f"  {json.dumps(release)}: {json.dumps(cells[release], allow_nan=False)}"
            for release in sorted(cells, key=Version)
        )
        blocks.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"
