"""The index of the fixes: a process has the facts about a fix before it imports it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotfix.engine.catalogue import INDEX, Catalogue
from hotfix.engine.index import Index, render


def fix(*targets: str, kind: str = "crash", optin: bool = False, group: str = "") -> dict[str, object]:
    return {
        "title": "It says “no”,\nand more",
        "kind": kind,
        "module": "somewhere",
        "optin": optin,
        "group": group,
        "fixed_in": "",
        "targets": dict.fromkeys(targets, "==1.0"),
    }


FIXES = {
    "first": fix("a.b:f", "a.b:g", "c:f"),
    "names": fix("c:h", kind="removed-api", optin=True, group="group"),
    "on": fix("c:i", kind="removed-api", group="group"),
    "pattern": fix("*.var:f", optin=True),
}


def written(folder: Path, content: object) -> Path:
    path = folder / "index.json"
    path.write_text(render({"format": 1, "examined": {"p": ["1.0"]}, "fixes": content}), encoding="utf-8")
    return path


@pytest.mark.parametrize("fixes", [FIXES, {}], ids=["three", "none"])
def test_it_is_json_with_the_written_files_of_each_fix(tmp_path: Path, fixes: dict[str, object]) -> None:
    path = written(tmp_path, fixes)
    index = Index(path)
    assert json.loads(path.read_text(encoding="utf-8"))["fixes"] == fixes
    assert {id: index.facts(id) for id in index.kinds} == fixes
    assert index.examined == {"p": ["1.0"]}


def test_its_head_has_all_that_switches_and_imports_need(tmp_path: Path) -> None:
    index = Index(written(tmp_path, FIXES))
    assert index.kinds == {"first": "crash", "names": "removed-api", "on": "removed-api", "pattern": "crash"}
    assert index.optin == {"names", "pattern"}
    assert index.groups == {"names": "group", "on": "group"}
    aiming = {module: index.aiming_at(module) for module in index.modules}
    assert aiming == {"*.var": ["pattern"], "a.b": ["first"], "c": ["first", "names", "on"]}
    assert index.aiming_at("elsewhere") == []


def test_an_index_without_an_entry_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, FIXES)
    whole = path.read_text(encoding="utf-8")
    for text in (whole.replace('"names": "removed-api", ', ""), whole[:-2], "", "{}", "[]", "[" * 100_000):
        assert text != whole
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="cannot be read as the index of the fixes"):
            Index(path)


def test_of_all_fixes_those_are_read_that_aim_at_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module, facts = "transformers.models.gemma3.modeling_gemma3", Index.facts
    read = []

    def noted(index: Index, id: str) -> dict[str, object]:
        read.append(id)
        return facts(index, id)

    monkeypatch.setattr(Index, "facts", noted)
    aiming = [entry.id for entry in Catalogue(print).aiming_at(module)]
    assert aiming == read
    whole = json.loads(INDEX.read_text(encoding="utf-8"))["fixes"]
    assert aiming == [id for id, fix in whole.items() if any(key.startswith(f"{module}:") for key in fix["targets"])]
    assert 0 < len(aiming) < len(whole) / 4
