"""The line at the end of a process."""

from __future__ import annotations

import re

from hotfix import session
from hotfix.engine.ledger import Ledger, Outcome, State
from hotfix.engine.log import Log
from hotfix.engine.policy import Policy
from hotfix.patching.restoring import Received
from hotfix.reports import summary
from hotfix.versions.judgement import Verdict
from tests.facts import lacking


def test_repairs_are_counted_for_each_package():
    repaired = {
        "one": ("nowhere", "silent"),
        "two": ("nowhere", "crash"),
        "three": ("elsewhere", "silent"),
    }
    assert summary.sentence(repaired, {}) == (
        "2 repairs for nowhere, 1 for elsewhere, 2 of silent bugs; see hotfix status"
    )
    assert summary.sentence({"two": ("nowhere", "crash")}, {}) == "1 repair for nowhere; see hotfix status"


def test_names_and_other_messages_are_in_the_same_line():
    names = {"nowhere.part:gone": Received("fix", "script.py:6")}
    line = summary.sentence({"one": ("nowhere", "crash")}, names, 2)
    assert lacking(line, "1 repair", "restored 1 name", "gone for script.py:6") == []
    assert lacking(line, "HOTFIX_LOG=info", "2 messages") == []
    assert "\n" not in line


def test_a_process_without_repairs_has_no_line():
    assert summary.sentence({}, {}) == ""


def test_no_line_of_a_repair_looks_like_an_error(caplog):
    log = Log(Policy(log="info"))
    ledger = Ledger(Policy(), log)
    for entry in session.current().catalogue.entries.values():
        target = next(iter(entry.targets))
        applied = Outcome(entry.id, target, Verdict.BROKEN, State.APPLIED, False, "")
        ledger.say_applied(entry.id, entry.kind, [applied])
    lines = caplog.messages
    assert len(lines) > 100
    written_like_an_error = re.compile(r"\b[A-Z]\w*(Error|Exception)\b|Traceback|\b[Ww]rong\b|\b[Ff]ailed\b")
    assert [line for line in lines if written_like_an_error.search(line)] == []


def test_a_reverted_repair_is_not_counted_as_one():
    ledger = Ledger(Policy(), Log(Policy()))
    applied = {
        fix: Outcome(fix, f"nowhere.{fix}:function", Verdict.BROKEN, State.APPLIED, False, "") for fix in ("one", "two")
    }
    for fix, outcome in applied.items():
        ledger.keep(outcome)
        ledger.say_applied(fix, "silent", [outcome])
    ledger.forget("one", applied["one"].target)
    ledger.note_reverted({"one"})
    assert ledger.reverted == {"one"}
    assert summary.sentence({"two": ledger.repaired["two"]}, {}, reverted=1) == (
        "1 repair for nowhere, 1 of silent bugs; 1 repair reverted; see hotfix status"
    )
    assert summary.sentence({}, {}, reverted=2) == "2 repairs reverted"
    ledger.say_applied("one", "silent", [applied["one"]])
    assert ledger.reverted == set()
