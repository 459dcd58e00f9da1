"""The report in a notebook is a table of text, whatever names, reasons and versions contain.

- No text of a fix, a package or a reason opens an element, an attribute or an entity; each is shown verbatim.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hotfix.engine.entry import Entry
from hotfix.engine.ledger import Outcome, State
from hotfix.reports.report import Report
from hotfix.versions.judgement import Verdict

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "'><svg/onload=alert(1)>", '" onmouseover="alert(1)',
    "</td></tr></table><h1>", "<!--", "]]>", "&lt;b&gt;", "&#x3c;b&#x3e;", "javascript:alert(1)", "\x00<b>", "\u202e",
    "${7*7}", "{{7*7}}", "<style>*{display:none}</style>", "<details open ontoggle=alert(1)>", "\ud800",
]  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text(max_size=12)
ALLOWED = {
    "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
}  # fmt: skip


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text: list[str] = []
        self.other: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def handle_decl(self, decl: str) -> None:
        self.other.append(decl)

    unknown_decl = handle_pi = handle_comment


outcomes = st.builds(
    Outcome, texts, texts, st.sampled_from(Verdict), st.sampled_from(State), st.booleans(), texts, texts, st.booleans()
)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.lists(outcomes, max_size=4), st.dictionaries(texts, texts, max_size=3), texts, texts, texts, texts)
def test_no_field_of_a_report_is_markup(sampled, packages, digest, title, kind, reason):
    entries: Any = {
        outcome.fix: Entry(outcome.fix, title, kind, "", False, "", reason, {}, None) for outcome in sampled
    }
    report = Report(
        tuple(sampled), {"transformers": reason, **packages}, digest, (title,), entries, left_alone={title: reason}
    )
    seen = _Seen()
    seen.feed(report._repr_html_())
    seen.close()
    assert seen.tags <= ALLOWED
    assert seen.attributes <= {("style", "text-align:left")}
    assert seen.other == []
    shown = "".join(seen.text)
    for outcome in sampled:
        assert all(_plain(text) in _plain(shown) for text in (outcome.fix, outcome.target, outcome.reason))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")
