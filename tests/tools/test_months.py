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
    assert row_of(page, "4.36.2 | 2.1.2")[3:] == ["numpy 1.26.4", "1", "0", "1", "0", "1", "9"]


def test_a_stand_in_takes_the_place_of_a_missing_part_and_a_failure_stays_one(monkeypatch):
    """Of four proofs that verify could not try, the testbed has three, one of them with a failure."""
    proofs = [proof(name, "not here") for name in ("x", "y", "z", "w")] + [proof("v", "verified")]
    cells = {"x": "repaired", "y": "untouched", "z": "wrong"}
    fixes = {name: {"a:b": {"4.49.0": {"result": word, "reason": "R"}}} for name, word in cells.items()}
    commands: list[list[str]] = []
    monkeypatch.setattr(months, "_add", lambda python, ours: None)
    monkeypatch.setattr(months, "_output", lambda command, **_: commands.append(command))
    monkeypatch.setattr(months.matrix_results, "read", lambda folder: {"fixes": fixes})
    chosen = next(item for item in months.STACKS if item.transformers == "4.49.0")
    months._try_stand_ins(months.Path("python"), chosen, proofs)
    assert [item["result"] for item in proofs] == ["stand-in", "stand-in", "failed", "not here", "verified"]
    assert [word for word in commands[0] if len(word) == 1] == ["w", "x", "y", "z"]
    old = [proof("x", "not here")]
    months._try_stand_ins(months.Path("python"), months.STACKS[0], old)
    assert (old[0]["result"], old[0]["reason"]) == ("not here", "it raises | E; the testbed's stand-in needs torch 2.5")
    page = months.rendered({"4.49.0": stack("4.49.0", *proofs)})
    assert [row_of(page, f"[`{name}`]")[1] for name in "xyzwv"] == ["s", "s", "**X**", "·", "v"]


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
