"""The digest of a cure covers all code that the cure runs."""

from __future__ import annotations

import textwrap

from hotfix.fix import Fix
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
