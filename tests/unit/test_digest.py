"""The digest of a cure covers all code that the cure runs."""

from __future__ import annotations

import textwrap

import pytest

from hotfix._support import memo
from hotfix.fix import Fix
from hotfix.reports import digest
from hotfix.reports.digest import cure_digest


def test_what_a_rewrite_imports_counts_however_the_rewrite_is_indented():
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
def test_what_a_rewrite_imports_is_read_wherever_the_import_stands(monkeypatch, where):
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
def test_what_a_plugin_takes_from_its_own_package_counts_however_it_does(monkeypatch, line):
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
