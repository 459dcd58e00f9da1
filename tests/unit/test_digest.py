"""The digest of a fix covers all code that its repair runs."""

from __future__ import annotations

import json
import textwrap

import pytest

from hotfix._support import memo
from hotfix.fix import Fix
from hotfix.reports import digest
from hotfix.reports.digest import cure_digest
from hotfix.training.num_items_off_by_one import FIX

FIX_MODULE = "hotfix.training.num_items_off_by_one"


def test_imports_of_a_rewrite_count_at_any_indentation():
    text = """
        from hotfix.training._swallowed import divisor
        f(loss / divisor(self, number))
    """
    digests = set()
    for new in (text, textwrap.dedent(text)):
        fix = Fix(id="a", title="", kind="silent")
        fix.edits("m:f", old="f(loss)", new=new)
        digests.add(cure_digest(fix))
    assert len(digests) == 1


@pytest.mark.parametrize("where", ["", "if a:\n    "])
def test_imports_of_a_rewrite_count_at_any_place(monkeypatch, where):
    digests = set()
    for body in ("return a", "return b"):
        monkeypatch.setattr(digest, "read_installed", lambda name, body=body: f"def helper(a, b):\n    {body}\n")
        memo.forget()
        fix = Fix(id="a", title="", kind="silent")
        fix.edits("m:f", old="f(loss)", new=f"{where}from hotfix.training.somewhere import helper\nf(helper(loss))")
        digests.add(cure_digest(fix))
    memo.forget()
    assert len(digests) == 2


@pytest.mark.parametrize(
    "line",
    ["from plug.helpers import helper", "from .helpers import helper", "from . import helpers", "import plug.helpers"],
)
def test_code_that_a_plugin_takes_from_its_own_package_counts_however_it_is_imported(monkeypatch, line):
    digests = set()
    for body in ("return a", "return b"):
        texts = {
            "plug.cure": f"{line}\ndef cure(a):\n    return a\n",
            "plug.helpers": f"def helper(a, b):\n    {body}\n",
        }
        monkeypatch.setattr(digest, "read_installed", texts.get)
        memo.forget()
        digests.add(digest.code_digest("plug.cure"))
    memo.forget()
    assert len(digests) == 2


DECLARED = """
from hotfix.fix import Fix
FIX = Fix(
    id="a",
    title={title!r},
    kind="silent",
    errors=({error!r},),
    upstream=({issue!r},),
    fixed_in={issue!r},
    everyone={title!r},
    needs={{"flash-attn": {needs!r}}},
)
{reads}
"""


def proof_digest(monkeypatch, title="t", error="ValueError: v", issue="1", needs="<2.8", reads=""):
    """The digest of a proof that takes the declaration of its fix from the fix's module."""
    texts = {
        "plug.cure": DECLARED.format(title=title, error=error, issue=issue, needs=needs, reads=reads),
        "plug.proof": "from plug.cure import FIX\n@FIX.case\ndef case():\n    return 1\n",
    }
    monkeypatch.setattr(digest, "read_installed", texts.get)
    memo.forget()
    computed = digest.code_digest("plug.proof", proof=True)
    memo.forget()
    return computed


@pytest.mark.parametrize("changed", [{"title": "another"}, {"error": "KeyError: k"}, {"issue": "2"}])
def test_declarations_of_a_fix_do_not_change_the_digest_of_its_proof(monkeypatch, changed):
    assert proof_digest(monkeypatch) == proof_digest(monkeypatch, **changed)


def test_the_environment_of_a_proof_counts(monkeypatch):
    assert proof_digest(monkeypatch) != proof_digest(monkeypatch, needs="<2.9")


def digest_of_case(monkeypatch, head="", body="", module="plug.proof"):
    text = f"{head}\nfrom plug.cure import FIX\n@FIX.case\ndef case(testbed):\n    {body}\n    return torch.ones(1)\n"
    texts = {
        module: text,
        "plug.cure": "FIX = Fix(kind='silent')\n",
        "hotfix.proofs.testbed": "class Testbed:\n    a = 1\n",
    }
    monkeypatch.setattr(digest, "read_installed", texts.get)
    memo.forget()
    before = digest.code_digest(module, proof=True)
    memo.forget()
    return before


def test_where_a_proof_imports_torch_does_not_make_it_another(monkeypatch):
    at_the_top = digest_of_case(monkeypatch, head="import torch")
    assert digest_of_case(monkeypatch, body="import torch") == at_the_top
    assert digest_of_case(monkeypatch, body="import torch.fx") != at_the_top
    assert digest_of_case(monkeypatch, body="import torch as torch") != at_the_top


def test_the_testbed_is_no_part_of_a_proof(monkeypatch):
    alone = digest_of_case(monkeypatch, module="hotfix.proofs.some")
    taken = digest_of_case(monkeypatch, "from hotfix.proofs.testbed import Testbed", module="hotfix.proofs.some")
    assert taken == alone


def test_a_declaration_that_the_cure_reads_counts(monkeypatch):
    reads = "\ndef cure(error):\n    return error in FIX.errors\n"
    assert proof_digest(monkeypatch, reads=reads) != proof_digest(monkeypatch, reads=reads, error="KeyError: k")
    assert proof_digest(monkeypatch, reads=reads) == proof_digest(monkeypatch, reads=reads, title="another")


def test_acting_on_the_declared_errors_is_the_same_as_acting_on_these(monkeypatch):
    def with_condition(line, error):
        monkeypatch.setattr("tests.unit.test_digest.DECLARED", DECLARED.replace("    id=", f"    {line}\n    id="))
        before = proof_digest(monkeypatch, error=error)
        monkeypatch.undo()
        return before

    declared = with_condition("on_error=True,", "ValueError: v")
    assert declared == with_condition("on_error=('ValueError: v',),", "ValueError: v and more")
    assert declared != with_condition("on_error=True,", "ValueError: v and more")


def record(monkeypatch, tmp_path, sources):
    """A record that has another digest for a real fix."""
    path = tmp_path / "cures.json"
    path.write_text(json.dumps({"sources": sources, "cures": {FIX.id: "0" * 12}}))
    monkeypatch.setattr(digest, "RECORDED", path)
    memo.forget()
    taken = cure_digest(FIX, FIX_MODULE)
    memo.forget()
    return taken


def test_a_recorded_digest_holds_while_no_file_of_a_cure_has_changed(monkeypatch, tmp_path):
    assert record(monkeypatch, tmp_path, digest.sources_digest()) == "0" * 12
    assert record(monkeypatch, tmp_path, "of other files") == cure_digest(FIX)


def test_a_plugin_has_no_recorded_digest(monkeypatch, tmp_path):
    assert record(monkeypatch, tmp_path, digest.sources_digest()) != cure_digest(FIX, "plug.cure")


def test_the_record_is_that_of_these_cures():
    written = json.loads(digest.RECORDED.read_text())
    assert written["sources"] == digest.sources_digest()
    assert written["cures"][FIX.id] == cure_digest(FIX)


def test_every_file_of_a_cure_counts_for_the_record(monkeypatch, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "reports").mkdir()
    monkeypatch.setattr(digest, "_HOME", tmp_path)
    seen = {digest.sources_digest()}
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / "models" / "cure.py").write_text(text)
        seen.add(digest.sources_digest())
    (tmp_path / "models" / "cure.py").rename(tmp_path / "models" / "another.py")
    seen.add(digest.sources_digest())
    (tmp_path / "reports" / "report.py").write_text("of the library that runs it\n")
    seen.add(digest.sources_digest())
    assert len(seen) == 4
