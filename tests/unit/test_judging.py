"""The report on one target, word for word, for every possible outcome; in one process, without imports.

The same through imports is in tests/engine/test_verdict.py.
"""

from __future__ import annotations

import ast
import json
import types
from dataclasses import replace
from typing import Any, Optional

import pytest

from hotfix._support import memo
from hotfix.fix import Fix, Target
from hotfix.versions import source, verdict
from hotfix.versions.judgement import Judgement, Verdict
from tests.hostile.conftest import TOY, Lab, digest_of, lab

__all__ = ["lab"]

BROKEN = TOY
FIXED = TOY.replace("x + factor", "x * factor")
STRANGE = TOY.replace("x + factor", "x + factor + 0")
DIGESTS = {text: digest_of(text, "scale") for text in (BROKEN, FIXED, STRANGE)}
HERE = source.digest_of_name("absent", True)
MISSING = source.digest_of_name("absent", False)


def absent():
    """The names that the release lacks."""


def written(lab: Lab, id: str, evidence: Any, **fields: Any) -> Fix:
    """A fix with the evidence for its targets."""
    file = lab.folder / f"{id}.json"
    file.write_text(evidence if isinstance(evidence, str) else json.dumps({"targets": evidence}), encoding="utf-8")
    return Fix(id=id, title=id, kind="crash", evidence=file, **fields)


def edited(lab: Lab, **fields: Any) -> tuple[Fix, Target]:
    """A fix that knows two sources of ``toys.toy:scale``, and its target."""
    known = {"broken": {DIGESTS[BROKEN]: ["1.0"]}, "fixed": {DIGESTS[FIXED]: ["2.0"]}}
    fix = written(lab, "a-bug", {"toys.toy:scale": known}, **fields)
    fix.edits("toys.toy:scale", old="x + factor", new="x * factor")
    return fix, fix.targets[0]


def added(lab: Lab, leaf: Optional[str] = None, name: str = "toys.toy:absent", releases: str = "==1.0", **fields: Any):
    """A fix that adds a name in 1.0, and its target."""
    fix = written(lab, "a-name", {}, **fields)
    if leaf is None:
        fix.adds((name, releases))(absent)
    else:
        fix.exports((name, releases), leaf=leaf)
    return fix, fix.targets[0]


def judgement_of(fix: Fix, target: Target, text: Optional[str], leaf: Optional[str] = None) -> Judgement:
    memo.forget()
    return verdict.judge(fix, target, lambda module: text if module == target.module else leaf)


def check(judgement: Judgement, verdict: Verdict, *named: str, source: str = "", harmless: bool = False) -> None:
    """The verdict and the digest are these, and the reason is a sentence that names these things."""
    assert (judgement.verdict, judgement.source, judgement.harmless) == (verdict, source, harmless)
    assert judgement.reason.endswith(".")
    assert [name for name in named if name not in judgement.reason] == []


# -- definitions ---------------------------------------------------------------------------------------------------


def test_a_source_that_is_known(lab: Lab) -> None:
    fix, target = edited(lab)
    digest = DIGESTS[BROKEN]
    check(judgement_of(fix, target, BROKEN), Verdict.BROKEN, digest, "to be broken", source=digest)
    digest = DIGESTS[FIXED]
    check(judgement_of(fix, target, FIXED), Verdict.FIXED, digest, "to be good", source=digest)


def test_a_source_that_nobody_has_seen(lab: Lab) -> None:
    fix, target = edited(lab)
    digest = DIGESTS[STRANGE]
    check(
        judgement_of(fix, target, STRANGE),
        Verdict.UNKNOWN,
        f"scale of toys 1.0 ({digest})",
        "looks broken",
        source=digest,
    )
    other = FIXED.replace("x * factor", "x * factor * 1")
    digest = digest_of(other, "scale")
    named = f"scale of toys 1.0 ({digest})", "does not look broken"
    check(judgement_of(fix, target, other), Verdict.UNKNOWN, *named, source=digest, harmless=True)


def test_a_fix_may_trust_its_matcher_with_a_source_that_nobody_has_seen(lab: Lab) -> None:
    fix, target = edited(lab, matcher_decides=True)
    digest = DIGESTS[STRANGE]
    check(judgement_of(fix, target, STRANGE), Verdict.BROKEN, digest, "never examined", "broken", source=digest)
    other = FIXED.replace("x * factor", "x * factor * 1")
    digest = digest_of(other, "scale")
    check(judgement_of(fix, target, other), Verdict.FIXED, digest, "never examined", "good", source=digest)
    check(judgement_of(fix, target, FIXED), Verdict.FIXED, DIGESTS[FIXED], "known to be good", source=DIGESTS[FIXED])


def test_the_matcher_gets_the_judged_target(lab: Lab) -> None:
    fix, target = edited(lab, matcher_decides=True)
    asked = []
    object.__setattr__(fix, "is_broken", lambda *nodes, target: asked.append((len(nodes), nodes[0].name, target)))
    judgement_of(fix, target, STRANGE)
    assert asked == [(1, "scale", target)]
    object.__setattr__(fix, "matcher_decides", False)
    judgement_of(fix, target, STRANGE)
    assert asked == [(1, "scale", target)] * 2


def test_a_release_that_has_no_such_function(lab: Lab) -> None:
    fix, target = edited(lab)
    absent = Judgement(Verdict.ABSENT, "toys 1.0 has no scale in toys.toy.")
    for text in ("", TOY.replace("def scale", "def grow")):
        assert judgement_of(fix, target, text) == absent
    assert judgement_of(fix, target, None) == absent  # no such module, either
    fix, target = written(lab, "a-bug", {}), target._replace(module="nothing.toy")
    check(judgement_of(fix, target, None), Verdict.ABSENT, "nothing", "not installed")


def test_an_unreadable_source_is_not_absent(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fix, target = edited(lab)
    file = lab.write("toys/toy.py", TOY)
    check(judgement_of(fix, target, None), Verdict.UNKNOWN, f"cannot be read ({file})")
    file.unlink()
    monkeypatch.setitem(verdict.sys.modules, "toys.toy", object())  # in memory only
    check(judgement_of(fix, target, None), Verdict.UNKNOWN, "cannot be read (toys.toy)")


def test_a_module_that_only_passes_names_on_has_none_to_judge(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fix, target = edited(lab)
    lab.write("toys/toy.py", TOY).unlink()
    made = types.ModuleType("toys.toy")
    vars(made)["__getattr__"] = lambda name: 7
    monkeypatch.setitem(verdict.sys.modules, "toys.toy", made)
    check(judgement_of(fix, target, None), Verdict.ABSENT, "toys.toy")
    vars(made)[target.qualname.split(".")[0]] = 7
    check(judgement_of(fix, target, None), Verdict.UNKNOWN, "cannot be read (toys.toy)")


def test_the_verdict_is_made_on_everything_that_it_is_to_be_made_on(lab: Lab) -> None:
    first, second = source.find(BROKEN, "scale"), source.find(FIXED, "scale")
    assert first is not None
    assert second is not None
    digest = source.digest(first.node, second.node)
    fix = written(lab, "a-bug", {"toys.toy:scale": {"broken": {digest: ["1.0"]}}})
    fix.replaces("toys.toy:scale", fingerprint_of=("scale", "toys.other:scale"))(absent)
    (target,) = fix.targets
    assert judgement_of(fix, target, BROKEN, FIXED).verdict is Verdict.BROKEN
    assert judgement_of(fix, target, FIXED, BROKEN).verdict is Verdict.UNKNOWN
    check(judgement_of(fix, target, BROKEN, ""), Verdict.ABSENT, "toys 1.0", "no scale", "toys.other")


@pytest.mark.parametrize(
    ("needs", "lacking"),
    [
        ({"theirs": "<2"}, "The bug needs theirs <2; theirs is not installed."),
        ({"toys": "<1"}, "The bug needs toys <1; 1.0 is installed."),
        ({"transformers": "<1", "toys": ">1"}, "The bug needs toys >1; 1.0 is installed."),
        ({"toys": ">=1", "transformers": "<1"}, None),
    ],
)
def test_a_bug_that_needs_another_package(lab: Lab, needs: dict[str, str], lacking: Optional[str]) -> None:
    fix, target = edited(lab, needs=needs)
    if lacking is None:
        assert judgement_of(fix, target, BROKEN).verdict is Verdict.BROKEN
    else:
        for text in (BROKEN, STRANGE):
            assert judgement_of(fix, target, text) == Judgement(Verdict.UNAFFECTED, lacking, DIGESTS[text])
    assert judgement_of(fix, target, FIXED).verdict is Verdict.FIXED


def test_a_pre_release_keeps_its_own_version(lab: Lab) -> None:
    fix, target = edited(lab, needs={"toys": "<2"})
    lab.write("toys/__init__.py", '__version__ = "1.0rc1"\n')
    assert judgement_of(fix, target, BROKEN).verdict is Verdict.BROKEN


def test_the_package_is_named_however_deep_its_module_lies_and_without_a_version(lab: Lab) -> None:
    fix = written(lab, "a-bug", {})  # not examined yet
    fix.edits("toys.deep.toy:scale", old="x + factor", new="x * factor")
    (target,) = fix.targets
    check(judgement_of(fix, target, ""), Verdict.ABSENT, "toys 1.0", "no scale", "toys.deep.toy")
    assert "scale of toys" in judgement_of(fix, target, BROKEN).reason
    lab.write("toys/__init__.py", "")
    assert "toys has no" in judgement_of(fix, target, "").reason


# -- names that are gone -------------------------------------------------------------------------------------------


def test_a_name_that_is_there(lab: Lab) -> None:
    fix, target = added(lab)
    judged = Judgement(Verdict.FIXED, "toys 1.0 has absent in toys.toy.", HERE)
    assert judgement_of(fix, target, "absent = 1\n") == judged


def test_a_name_that_is_missing(lab: Lab) -> None:
    fix, target = added(lab)
    check(judgement_of(fix, target, TOY), Verdict.BROKEN, "toys 1.0", "absent", "toys.toy", source=MISSING)
    fix, target = added(lab, releases=">=2.0")
    check(judgement_of(fix, target, TOY), Verdict.ABSENT, "toys 1.0 has no absent in toys.toy", "a-name")
    fix, target = added(lab, needs={"theirs": "<2"})
    lacking = "The bug needs theirs <2; theirs is not installed."
    assert judgement_of(fix, target, TOY) == Judgement(Verdict.UNAFFECTED, lacking, MISSING)


def test_a_pre_release_lacks_the_names_that_the_release_lacks(lab: Lab) -> None:
    lab.write("toys/__init__.py", '__version__ = "1.0.dev0"\n')
    fix, target = added(lab)
    assert judgement_of(fix, target, TOY).verdict is Verdict.BROKEN


def test_a_member_of_a_class_that_is_gone(lab: Lab) -> None:
    fix, target = added(lab, name="toys.toy:Nobody.absent")
    check(judgement_of(fix, target, TOY), Verdict.ABSENT, "toys 1.0", "no Nobody", "toys.toy")
    fix, target = added(lab, name="toys.toy:Nobody.Inner.absent")
    check(judgement_of(fix, target, TOY), Verdict.ABSENT, "toys 1.0", "no Nobody.Inner", "toys.toy")


def test_a_name_in_a_module_that_is_gone(lab: Lab) -> None:
    fix, target = added(lab)
    check(judgement_of(fix, target, None), Verdict.ABSENT, "toys 1.0", "no absent", "toys.toy")


@pytest.mark.parametrize(("text", "why"), [("def absent(:\n", "invalid syntax"), ("absent = 1\0\n", "null bytes")])
def test_a_text_that_is_no_python(lab: Lab, text: str, why: str) -> None:
    fix, target = added(lab)
    judged = judgement_of(fix, target, text)
    check(judged, Verdict.UNKNOWN, "toys.toy", why)


def test_a_package_that_is_to_give_a_name_of_one_of_its_modules(lab: Lab) -> None:
    lab.write("toys/leaf.py", "absent = 1\n")
    fix, target = added(lab, leaf="toys.leaf", name="toys:absent")
    lacks = Judgement(Verdict.BROKEN, "toys 1.0 lacks absent in toys.", MISSING)
    assert judgement_of(fix, target, "from . import leaf\n", "absent = 1\n") == lacks
    assert judgement_of(fix, target, "from .leaf import absent\n", "absent = 1\n").verdict is Verdict.FIXED
    lazy = "define_import_structure(__file__)\n"
    assert judgement_of(fix, target, lazy, "__all__ = ['absent']\nabsent = 1\n").verdict is Verdict.FIXED
    assert judgement_of(fix, target, lazy, "__all__ = ['present']\nabsent = 1\n").verdict is Verdict.BROKEN
    fix, target = added(lab, leaf="toys.gone", name="toys:absent")
    check(judgement_of(fix, target, "from . import leaf\n"), Verdict.ABSENT, "toys 1.0 has no toys.gone", "absent")
    fix.adds_made(("toys:gone", "==1.0"))(absent)  # the same fix brings the module
    assert judgement_of(fix, target, "from . import leaf\n").verdict is Verdict.BROKEN


# -- results of the sweep ----------------------------------------------------------------------------------------------

RUNS = {
    "broken": {"b1": ["0.8 - 1.0"], "b2": ["3.0 and later"]},
    "fixed": {"f1": ["0.1", "1.1 - 1.3"], "f2": ["2.0"]},
    "absent": ["0.2 - 0.4"],
}


@pytest.mark.parametrize(
    ("release", "fixed", "broken"),
    [
        ("0.1", "f1", None),
        ("0.2", "", None),
        ("0.3", "", None),
        ("0.4", "", None),
        ("0.5", None, None),
        ("0.8", None, "b1"),
        ("1.0", None, "b1"),
        ("1.0.1", None, None),
        ("1.3", "f1", None),
        ("2.0", "f2", None),
        ("2.0.1", None, None),
        ("3.0", None, "b2"),
        ("40.0", None, "b2"),
    ],
)
def test_the_sweep_reports_a_release(lab: Lab, release: str, fixed: Optional[str], broken: Optional[str]) -> None:
    module = "toys.deep.toy"
    fix = written(lab, "a-bug", {f"{module}:scale": RUNS})
    fix.edits(f"{module}:scale", old="x + factor", new="x * factor")
    (target,) = fix.targets
    lab.write("toys/__init__.py", f'__version__ = "{release}"\n')
    memo.forget()
    good = bad = None
    if fixed == "":
        good = Judgement(Verdict.ABSENT, f"toys {release} has no scale in {module}.")
    elif fixed:
        good = Judgement(Verdict.FIXED, f"toys {release} was examined; its source ({fixed}) is good.", fixed)
    if broken:
        bad = Judgement(Verdict.BROKEN, f"This source ({broken}) is known to be broken.", broken)
    assert verdict.judge_from_sweep(fix, target) == good
    assert verdict.judge_broken_from_sweep(fix, target) == bad


def test_the_sweep_reports_a_name_and_a_bug_with_requirements(lab: Lab) -> None:
    known = {"toys.toy:absent": {"broken": {MISSING: ["1.0"]}}}
    lacks = Judgement(Verdict.BROKEN, "toys 1.0 lacks absent in toys.toy.", MISSING)
    needing = Judgement(Verdict.UNAFFECTED, "The bug needs theirs <2; theirs is not installed.", MISSING)
    for needs, expected in (({}, lacks), ({"theirs": "<2"}, needing)):
        fix = written(lab, "a-name", known, needs=needs)
        fix.adds(("toys.toy:absent", "==1.0"))(absent)
        memo.forget()
        assert verdict.judge_broken_from_sweep(fix, fix.targets[0]) == expected


def test_the_sweep_skips_missing_and_unexamined_packages(lab: Lab) -> None:
    fix = written(lab, "a-bug", {"theirs.toy:scale": RUNS})
    fix.edits("theirs.toy:scale", "toys.toy:scale", old="x + factor", new="x * factor")
    memo.forget()
    for target in fix.targets:
        assert verdict.judge_from_sweep(fix, target) is None
        assert verdict.judge_broken_from_sweep(fix, target) is None


# -- evidence ------------------------------------------------------------------------------------------------------


def test_evidence_is_of_a_file_of_its_own_or_of_ours(lab: Lab) -> None:
    fix = written(lab, "a-bug", {"m:f": RUNS})
    assert verdict.evidence_file(fix) == lab.folder / "a-bug.json"
    assert verdict.evidence_file(replace(fix, evidence=None)) == verdict.EVIDENCE / "a-bug.json"
    expected = dict.fromkeys(("b1", "b2"), Verdict.BROKEN) | dict.fromkeys(("f1", "f2"), Verdict.FIXED)
    assert verdict.evidence(lab.folder / "a-bug.json") == {"m:f": expected}
    assert verdict.evidence(lab.folder / "nothing.json") == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "JSONDecodeError: "),
        ("[]", "TypeError: "),
        ("{}", "KeyError: 'targets'"),
        ('{"targets": []}', "AttributeError: "),
        ('{"targets": {"m:f": []}}', "a target has no entry"),
        ("[" * 100_000, "RecursionError: "),
    ],
)
def test_a_file_that_is_no_evidence_is_named(lab: Lab, text: str, why: str) -> None:
    fix = written(lab, "a-bug", text)
    with pytest.raises(ValueError, match="cannot be read as evidence") as caught:
        verdict.evidence(verdict.evidence_file(fix))
    said = str(caught.value)
    assert f"{lab.folder / 'a-bug.json'} cannot be" in said
    assert why in said
    assert said.endswith("Reinstall hotfix.")


def test_evidence_is_read_in_utf8_under_any_locale(lab: Lab) -> None:
    lab.folder.joinpath("a-bug.json").write_bytes('{"targets": {"m:ƒ": {"broken": {"b1": []}}}}'.encode())
    assert verdict.evidence(lab.folder / "a-bug.json") == {"m:ƒ": {"b1": Verdict.BROKEN}}


def test_installed_packages_are_judged_without_importing_them(lab: Lab) -> None:
    fix, target = edited(lab)
    lab.write("toys/toy.py", TOY)
    memo.forget()
    assert verdict.judge_installed(fix, target).verdict is Verdict.BROKEN
    assert "toys.toy" not in verdict.sys.modules
    assert verdict.read_installed("toys.toy") == (lab.folder / "toys" / "toy.py").read_text()
    assert verdict.read_installed("toys.nothing") is None


def test_a_module_that_was_executed_is_python_and_not_parsed_to_see_whether_it_is(lab, monkeypatch):
    fix = Fix(id="names", title="names", kind="removed-api")
    fix.adds("transformers.toy:absent", "transformers.toy:lost")(absent)
    text = f"# absent, lost\n{TOY}"
    parsed = []

    def parse(text):
        parsed.append(text)
        return ast.parse(text)

    monkeypatch.setattr(source, "parse", parse)

    def judged(**how):
        parsed.clear()
        memo.forget()
        for target in fix.targets:
            judgement = verdict.judge(fix, target, {"transformers.toy": text}.get, **how)
            assert judgement.verdict is Verdict.BROKEN
        return parsed.count(text)

    assert judged(executed="transformers.toy") == 0
    assert judged() == 1  # once for both
