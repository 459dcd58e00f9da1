"""The page of the stacks, and what counts as a failure."""

from __future__ import annotations

import json

import pytest

from tools import months


def proof(fix: str, result: str, target: str = "a:b") -> dict[str, str]:
    return {"fix": fix, "target": target, "result": result, "reason": "it raises | E", "before": "", "after": ""}


def stack(name: str, *proofs: dict[str, str], **program: object) -> dict[str, object]:
    chosen = next(item for item in months.STACKS if item.transformers == name)
    runs = {"stock": {"losses": [1.0], "tokens": [2]}, "armed": {"losses": [1.0], "tokens": [2]}, **program}
    versions = {"transformers": name, "torch": chosen.torch, "numpy": "1.26.4"}
    return {
        "stack": chosen._asdict(),
        "versions": versions,
        "proofs": proofs,
        "seconds": 9,
        "core": "3 passed",
        "program": runs,
    }


def row_of(page: str, begin: str) -> list[str]:
    [line] = [line for line in page.splitlines() if line.startswith(f"| {begin}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_fix_has_the_worst_result_of_its_functions():
    old = stack("4.36.2", proof("x", "verified"), proof("x", "failed", "a:c"), proof("y", "not here"))
    new = stack("4.49.0", proof("x", "verified"), proof("z", "not shown"))
    page = months.rendered({"4.36.2": old, "4.49.0": new})
    assert row_of(page, "[`x`]")[1:] == ["**X**", "v"]
    assert row_of(page, "[`y`]")[1:] == ["·", ""]
    assert row_of(page, "[`z`]")[1:] == ["", "n"]
    assert row_of(page, "`x`")[1:] == ["4.36.2", "failed", "it raises / E"]
    assert row_of(page, "4.36.2 | 2.1.2")[3:] == ["numpy 1.26.4", "1", "1", "0", "1", "9"]


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ({}, "same"),
        ({"armed": {"losses": [2.0], "tokens": [2]}}, "losses"),
        ({"stock": {"error": "TypeError"}}, "ends in stock"),
        ({"armed": {"error": "TypeError"}}, "with hotfix: TypeError"),
    ],
)
def test_the_program_is_compared(program, word):
    page = months.rendered({"4.49.0": stack("4.49.0", **program)})
    assert word in row_of(page, "4.49.0 | 3 passed")[2]


def test_a_failed_proof_is_the_exit_status(tmp_path, monkeypatch):
    monkeypatch.setattr(months, "FOLDER", tmp_path)
    monkeypatch.setattr(months, "PAGE", tmp_path / "months.md")
    path = tmp_path / "4.49.0.json"
    for result, status in (("verified", 0), ("not shown", 0), ("failed", 1)):
        path.write_text(json.dumps(stack("4.49.0", proof("x", result))))
        assert months.main(["--page"]) == status


def test_an_unknown_stack_is_refused(capsys):
    with pytest.raises(SystemExit):
        months.main(["--stack", "4.20.0"])
    assert "4.20.0" in capsys.readouterr().err
