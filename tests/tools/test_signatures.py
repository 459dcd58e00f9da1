"""The table of changed signatures: what is read from wheels, and that wrong rows are found."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hotfix.names import parameters_adapted
from tools import signatures
from tools.signatures import Change, Signature, changes

OLD = """
class Trainer:
    def log(self, logs): ...
    def save(self, model, trial, metrics=None): ...
    def plan(self, a, b=1, *, c="x"): ...
    def step(self):
        self.log({})
        return self.save(1, 2)
"""
MIDDLE = """
class Trainer:
    def log(self, logs, start_time=None): ...
    def save(self, model, trial): ...
    def plan(self, b=2, a=0, **kwargs): ...
    def step(self):
        while True:
            self.log({}, start_time=3)
        return self.save(1, 2)
"""
NEW = MIDDLE.replace("start_time=3", "3").replace("log({}", "log(dict()")
RELEASES = {"4.36.0": OLD, "4.40.0": MIDDLE, "5.0.0": NEW}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three releases, and a place for the written files."""
    for release, text in RELEASES.items():
        with zipfile.ZipFile(tmp_path / f"transformers-{release}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("transformers/__init__.py", "")
            wheel.writestr("transformers/trainer.py", text)
    for name, file in {"TABLE": "table.txt", "ROWS": "rows.txt", "PAGE": "page.md"}.items():
        monkeypatch.setattr(signatures, name, tmp_path / file)
    monkeypatch.setattr(signatures, "ROOT", tmp_path)
    monkeypatch.setattr(signatures, "REMOVED", {"trainer:Trainer.save": {"metrics": ""}})
    monkeypatch.setattr(signatures, "NEWER", {"trainer:Trainer.log": {"start_time": ""}})
    monkeypatch.setattr(signatures, "HOOKS", frozenset({"log"}))
    return tmp_path


def test_the_table_and_the_rows_of_three_releases(cache: Path) -> None:
    assert signatures.main(["--cache", str(cache)]) == 0
    assert signatures.TABLE.read_text().splitlines() == [
        "trainer:Trainer.log 4.40.0 added start_time=None at 1",
        "trainer:Trainer.plan 4.40.0 any **",
        "trainer:Trainer.plan 4.40.0 default a - 0",
        "trainer:Trainer.plan 4.40.0 default b 1 2",
        "trainer:Trainer.plan 4.40.0 moved a,b b,a",
        "trainer:Trainer.plan 4.40.0 removed c='x' at *",
        "trainer:Trainer.save 4.40.0 removed metrics=None at 2",
    ]
    assert signatures.ROWS.read_text().splitlines() == [
        "newer trainer:Trainer.log >=4.40.0 start_time 1 None trainer:Trainer.step self 1",
        "removed trainer:Trainer.save >=4.40.0 metrics 2 None",
    ]
    assert signatures.main(["--cache", str(cache), "--check"]) == 0


@pytest.mark.parametrize(
    ("right", "planted"),
    [
        (">=4.40.0 metrics 2", ">=4.36.0 metrics 2"),
        (">=4.40.0 metrics 2", ">=5.0.0 metrics 2"),
        ("metrics 2 None", "metrics 1 None"),
        ("metrics 2 None", "metrics 2 *"),
        ("start_time 1 None", "start_time 1 0"),
        ("Trainer.step self 1", "Trainer.step self 2"),
        ("Trainer.step self 1", "Trainer.save self 1"),
        ("removed trainer:Trainer.save", "removed trainer:Trainer.plan"),
        ("removed trainer:Trainer.save >=4.40.0 metrics 2 None\n", ""),
    ],
)
def test_a_planted_row_is_found(cache: Path, right: str, planted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert signatures.main(["--cache", str(cache)]) == 0
    text = signatures.ROWS.read_text()
    assert text.count(right) == 1
    signatures.ROWS.write_text(text.replace(right, planted))
    capsys.readouterr()
    assert signatures.main(["--cache", str(cache), "--check"]) == 1
    assert "rows.txt" in capsys.readouterr().out


def signature(parameters: str, text: str = "") -> Signature:
    """The signature of a function with these parameters."""
    return signatures.facts_of(f"{text}def f({parameters}): ...", frozenset()).signatures["f"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a, b", "a, b", []),
        ("a, b=1", "a, b=2", [("default", "b 1 2")]),
        ("inputs_ids", "input_ids", [("renamed", "inputs_ids input_ids")]),
        ("a", "b", [("removed", "a at 0"), ("added", "b at 0")]),
        ("a, *, b=None", "a", [("removed", "b=None at *")]),
        ("a", "a, **kwargs", [("any", "**")]),
        ("a, **kwargs", "a", [("no", "**")]),
        ("a, /, b", "a, b", []),
    ],
)
def test_what_counts_as_which_change(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert list(changes(signature(before), signature(after))) == expected


def test_an_old_name_that_a_decorator_translates_is_still_a_parameter() -> None:
    now = signature("b", '@deprecate_kwarg("a", new_name="b", version="5")\n')
    assert [kind for kind, _ in changes(signature("a"), now)] == ["added", "translated"]
    assert [kind for kind, _ in changes(now, signature("b"))] == ["removed"]


def test_the_fields_of_a_dataclass_are_parameters() -> None:
    fields = ("x: int = 1", "y: list = field(default_factory=list)", "z: int = field(init=False)")
    text = "\n    ".join(("@dataclass\nclass A:", *fields))
    parameters = signatures.facts_of(text, frozenset()).signatures["A.__init__"].parameters
    assert {name: value.default for name, value in parameters.items()} == {"x": "1", "y": "list()"}


def test_the_committed_table_has_the_functions_of_the_rows() -> None:
    listed = {line.split(" ")[0] for line in signatures.TABLE.read_text(encoding="utf-8").splitlines()}
    rows = [*parameters_adapted.rows("removed"), *parameters_adapted.rows("newer")]
    assert {row.function for row in rows} <= listed
    wanted = {
        (function, name)
        for table in (signatures.REMOVED, signatures.NEWER)
        for function in table
        for name in table[function]
    }
    assert {(row.function, row.parameter) for row in rows} == wanted


def test_rows_at_one_place_cover_releases_without_a_gap() -> None:
    """`parameters_newer` makes one target of them."""
    from packaging.version import Version

    spans: dict[tuple[str, int], list[list[str]]] = {}
    for row in parameters_adapted.rows("newer"):
        spans.setdefault((row.site, row.count), []).append(row.releases.removeprefix(">=").split(",<"))
    for place, ends in spans.items():
        reached = ""
        for begin, *end in sorted(ends, key=lambda pair: Version(pair[0])):
            assert not reached or Version(begin) <= Version(reached), place
            reached = end[0] if end else "999"


def test_every_state_of_a_change_has_a_meaning() -> None:
    lines = signatures.TABLE.read_text(encoding="utf-8").splitlines()
    kinds = {Change(*line.split(" ", 3)).kind for line in lines}
    assert kinds <= {"added", "removed", "renamed", "moved", "default", "any", "no", "translated"}
