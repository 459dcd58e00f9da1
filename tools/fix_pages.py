"""The site's pages about bugs: a list that readers narrow down, and a page for each fix.

The list has the bugs that `hotfix scan` counts, so both give the same numbers for a release. A page has what people
search for first: the title and the messages. git tracks none of it; `tools.site` adds it when the site is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
from packaging.version import Version

from hotfix._support.words import KINDS
from hotfix.commands import bugs
from hotfix.commands.bugs import PACKAGE, Bug
from hotfix.fix import Fix
from hotfix.reports.tables import markdown_table

from . import evidence
from .page import link, symptom
from .pages import Source, as_markdown, broken_in, default_of, linked

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = "fixes"  # of the pages, in the site
REPAIRS = {"on": "repaired by default", "opt-in": "repaired if asked for", "none": "not repaired by hotfix"}
_FUNCTIONS = 40  # rows of a page's table
_FEW_NAMES = 10
_DESCRIPTION = 200  # characters


def catalog(source: Source) -> str:
    """The list of all known bugs with its filters, as HTML."""
    fixes = {fix.id: (module, fix) for module, fix in source.fixes.items()}
    rows = [_row(bug, fixes.get(bug.id), source) for bug in _in_order(bugs.known().values())]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS), autoescape=True, undefined=jinja2.StrictUndefined
    )
    text: str = environment.get_template("fixes.html.jinja").render(
        rows=rows,
        releases=[str(release) for release in source.examined],
        kinds=[kind for kind in KINDS if any(row["kind"] == kind for row in rows)],
        models=sorted({model for row in rows for model in row["models"]}),
        repairs=REPAIRS,
    )
    return text


def pages(source: Source) -> Iterator[tuple[str, str]]:
    """The path of each fix's page in the site, and its Markdown."""
    for module, fix in source.fixes.items():
        yield f"{FOLDER}/{fix.id}.md", "\n".join(_page(module, fix, source)) + "\n"


def messages() -> str:
    """The declared messages of all bugs, for ``docs/search-messages.js``, as JSON."""
    rows = [
        {
            "id": bug.id,
            "title": _plain(bug.title),
            "page": f"{FOLDER}/{bug.id}/" if bug.repaired else f"{FOLDER}/#bug-{bug.id}",
            "messages": [*bug.errors, *bug.names],
        }
        for bug in bugs.known().values()
        if bug.errors or bug.names
    ]
    return json.dumps(rows, ensure_ascii=False)


def with_links_to_pages(markdown: str) -> str:
    """The Markdown of another page, with links to reports on the one page of all fixes turned to the fix's own page."""
    markdown = re.sub(r"\]\(fixes\.md#([\w-]+)\)", rf"]({FOLDER}/\1.md)", markdown)
    return markdown.replace("](list-of-fixes.md)", "](fixes.md)")


# ----------------------------------------------------------------------------------------------------------------------
# The list.


def _in_order(known: Iterable[Bug]) -> list[Bug]:
    return sorted(known, key=lambda bug: (KINDS.index(bug.kind), not bug.repaired, bug.optin, bug.id))


def _row(bug: Bug, cure: tuple[str, Fix] | None, source: Source) -> dict[str, Any]:
    releases = [release for release in source.examined if bug.is_in(release)]
    text = symptom(import_module(cure[0]).__doc__ or "") if cure else bug.why_not
    broken = broken_in(cure[1], source) if cure else "; ".join(evidence.runs(releases, source.examined))
    return {
        "id": bug.id,
        "title": bug.title.replace("`", ""),
        "page": f"{bug.id}/" if cure else "",
        "kind": bug.kind,
        "repair": "none" if not bug.repaired else "opt-in" if bug.optin else "on",
        "broken": broken.replace(" - ", " to "),
        "spans": _spans(releases, source.examined),
        "fixed": ", ".join(map(str, bug.fixed_in)),
        "needs": ", ".join(f"{name}{specifier}" for name, specifier in bug.needs.items()),
        "upstream": [(reference, link(reference)) for reference in bug.refs],
        "models": sorted({match[1] for place in bug.where if (match := _MODEL.match(place))}),
        "words": " ".join([text, *bug.errors, *bug.names, *bug.refs, *bug.where]),
    }


_MODEL = re.compile(rf"{PACKAGE}\.models\.(\w+)")


def _spans(releases: Sequence[Version], examined: Sequence[Version]) -> str:
    """The positions of some of the examined releases: ``3-7 9-9``."""
    place = {str(release): number for number, release in enumerate(examined)}
    spans = []
    for run in evidence.runs(releases, examined):
        first, _, last = run.removesuffix(" and later").partition(" - ")
        end = len(examined) - 1 if run.endswith(" and later") else place[last or first]
        spans.append(f"{place[first]}-{end}")
    return " ".join(spans)


# ----------------------------------------------------------------------------------------------------------------------
# The page of a fix.


def _page(module: str, fix: Fix, source: Source) -> Iterator[str]:
    bug = bugs.known()[fix.id]
    said = bugs.sections(import_module(module).__doc__)
    text = said.get("Symptom", "")
    title = fix.title.rstrip(".")
    description = _plain(next(iter(fix.errors), "") or text or title)
    yield "---"
    yield f"title: {json.dumps(_plain(title))}"
    yield f"description: {json.dumps(_shortened(f'{PACKAGE} {broken_in(fix, source)}: {description}'))}"
    # A long list of names matches the beginning of many words, so it must not come before the page with the message.
    yield f"search: {{ boost: {4 if len(bug.names) <= _FEW_NAMES else 2} }}"
    yield "---"
    yield f"# {as_markdown(title)}"
    yield ""
    yield f"`{fix.id}` · {fix.kind} · broken in {broken_in(fix, source)} · [all fixes](../{FOLDER}.md)"
    yield ""
    if text:
        yield f"**What you see.** {as_markdown(text)}"
        yield ""
    messages = [message for message in fix.errors or bug.names[:1] if message not in _plain(text)]
    if messages:
        yield "The message:" if text else "**What you see.**"
        yield ""
        yield from (f"- {_as_code(message)}" for message in messages)
        yield ""
    # Each heading starts another entry of the search: the first has the words of the error, and few others.
    for name, heading in (("Cause", "Cause"), ("Here", "What hotfix does")):
        if name in said:
            yield from (f"## {heading}", "", as_markdown(said[name]), "")
    if len(bug.names) > 1:
        yield from ("## Messages by name", "")
        yield from (f"- {message}" for message in _messages(bug.names))
        yield ""
    yield from _how_to_get_it(fix)
    facts = {
        "Releases": as_markdown(said.get("Releases", "")) or broken_in(fix, source),
        "Needs": ", ".join(f"{name}{specifier}" for name, specifier in fix.needs.items()),
        "Fixed upstream in": fix.fixed_in or "no release yet",
        "Upstream": ", ".join(map(linked, fix.upstream)),
        "Default": default_of(fix) + (f": {as_markdown(fix.optin)}" if fix.optin else ""),
        "Source": f"`{module.replace('.', '/')}.py`",
        "Matrix": f"[each release](../matrix.html#{fix.id})",
    }
    yield from ("## Facts { data-search-exclude }", "")
    yield from (f"- **{name}:** {value}" for name, value in facts.items() if value)
    yield ""
    yield from _functions(fix, source)


_IMPORT = re.compile(r"ImportError: cannot import name '(.+)' from '(.+)'")
_ATTRIBUTE = re.compile(r"AttributeError: '(.+)' object has no attribute '(.+)'")


def _messages(messages: Iterable[str]) -> Iterator[str]:
    """Messages as Markdown; of those that differ in a name only, the first, and the other names."""
    modules: dict[str, list[str]] = {}  # by the name that cannot be imported
    attributes: dict[str, list[str]] = {}  # by the class that lacks them
    for message in messages:
        if match := _IMPORT.fullmatch(message):
            modules.setdefault(match[1], []).append(match[2])
        elif match := _ATTRIBUTE.fullmatch(message):
            attributes.setdefault(match[1], []).append(match[2])
        else:
            yield _as_code(message)
    names: dict[tuple[str, ...], list[str]] = {}
    for name, of_name in modules.items():
        names.setdefault(tuple(of_name), []).append(name)
    for of_names, together in names.items():
        first = f"`ImportError: cannot import name '{together[0]}' from '{of_names[0]}'`"
        yield first + _and(together[1:], "the same for") + _and(of_names[1:], "also from")
    for owner, lacking in attributes.items():
        yield f"`AttributeError: '{owner}' object has no attribute '{lacking[0]}'`" + _and(lacking[1:], "the same for")


def _and(names: Sequence[str], words: str) -> str:
    return f"; {words} {', '.join(f'`{name}`' for name in names)}" if names else ""


def _how_to_get_it(fix: Fix) -> Iterator[str]:
    switch = f"HOTFIX_OPTIN={fix.group or fix.id} " if fix.optin else ""
    yield "## Repair it { data-search-exclude }"
    yield ""
    yield "```console"
    yield f"$ {switch}hotfix run -- python train.py"
    yield f"$ hotfix explain {fix.id}"
    yield f"$ hotfix verify {fix.id}"
    yield "```"
    yield ""
    if switch:
        yield "The first command repairs your program, since the setting asks for this fix. "
    else:
        yield "The first command repairs your program, as `import hotfix.auto` in its first line does. "
    yield "`explain` says whether your installation has the bug, and `verify` runs the proof on your machine."
    yield ""


def _functions(fix: Fix, source: Source) -> Iterator[str]:
    targets = list({target.key: target for target in reversed(fix.targets)}.values())[::-1]
    rows = []
    for target in targets[:_FUNCTIONS]:
        broken = "the source decides"
        if evidence.has_releases(target):
            broken = "; ".join(evidence.runs(evidence.declared(target, source.examined), source.examined))
        rows.append((f"`{target.key}`", broken.replace(" - ", " to ")))
    yield "## Functions { data-search-exclude }"
    yield ""
    yield markdown_table(("function", "broken in"), rows)
    yield ""
    if len(targets) > _FUNCTIONS:
        yield f"And {len(targets) - _FUNCTIONS} more: [the matrix](../matrix.html#{fix.id}) has all of them."
        yield ""


def _as_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()


def _shortened(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else text[: _DESCRIPTION - 1].rstrip() + "…"
