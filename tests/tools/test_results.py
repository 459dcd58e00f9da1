"""The files of the matrix: one for each fix, sorted, and only those that have changed are written."""

from __future__ import annotations

from typing import Any

from tools import results

DATA: dict[str, Any] = {
    "versions": {"python": "3"},
    "fixes": {
        "one": {"m:f": {"4.9.0": {"result": "repaired"}, "4.10.0": {"result": "untouched"}}},
        "two": {"m:g": {"4.10.0": {"result": "failed"}}},
    },
}


def test_written_files_can_be_read(tmp_path):
    assert results.read(tmp_path / "none") == {"versions": {}, "fixes": {}}
    results.write(DATA, tmp_path)
    assert results.read(tmp_path) == DATA
    assert {path.name for path in tmp_path.iterdir()} == {"_versions.json", "one.json", "two.json"}


def test_releases_are_in_their_order_a_line_each(tmp_path):
    cells = DATA["fixes"]["one"]["m:f"]
    results.write({**DATA, "fixes": {"one": {"m:f": dict(reversed(cells.items()))}}}, tmp_path)
    lines = (tmp_path / "one.json").read_text().splitlines()
    assert [line.split(":")[0].strip() for line in lines if "result" in line] == ['"4.9.0"', '"4.10.0"']


def test_files_of_other_fixes_are_left_alone(tmp_path):
    results.write(DATA, tmp_path)
    (tmp_path / "two.json").write_text("{}")
    results.write({**DATA, "fixes": {}}, tmp_path, {"one"})
    assert {path.name for path in tmp_path.iterdir()} == {"_versions.json", "two.json"}
    assert (tmp_path / "two.json").read_text() == "{}"
    results.write({**DATA, "fixes": {}}, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"_versions.json"}
