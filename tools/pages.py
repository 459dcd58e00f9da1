"""The generated parts of README and of the pages in docs/: the fixes, their conditions, limits and promises.

    python -m tools.pages            rewrites them
    python -m tools.pages --check    only reports which are stale

Each part is between two comments, ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->``, where NAME is one of
`SECTIONS`. The fixes, the catalogue of known bugs and the tests of the promises are its source; change it there.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from packaging.version import Version

from hotfix._support.words import KINDS
from hotfix.commands import bugs
from hotfix.fix import Condition, Fix
from hotfix.reports.tables import escaped_markdown, markdown_table
from tools.beside import CELLS, NEIGHBOURS, RELEASE, WATCHERS

from . import evidence
from .page import link

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/list-of-fixes.md", "docs/fixes.md", "docs/limits.md", "docs/trust.md", "docs/no-harm.md")
PROMISES = ROOT / "tests" / "hostile"
TRANSCRIPTS = ROOT / "docs" / "transcripts.md"
EXAMPLE = ("python hotfix/examples/first_run.py", "hotfix run -- python hotfix/examples/first_run.py")
_SECTION = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(<!-- end: (?P=name) -->)", re.S)
_RUNS = 3  # of releases, in one cell


@dataclass(frozen=True)
class Source:
    """The sources of the parts.

    Attributes:
        fixes: by the module that defines them.
        examined: the releases that the sweep has examined, oldest first.
    """

    fixes: Mapping[str, Fix]
    examined: Sequence[Version]

    def in_order(self) -> list[tuple[str, Fix]]:
        """The fixes with their modules: those that are on first, crashes before wrong numbers, then by id."""
        return sorted(
            self.fixes.items(),
            key=lambda item: (item[1].kind != "security", bool(item[1].optin), item[1].kind != "crash", item[1].id),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description="Write the generated parts of pages.")
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    chosen = parser.parse_args(arguments)
    problems: list[str] = []
    source = read(problems.append)
    for name in PAGES:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = rendered(before, source)
        if before == after:
            continue
        if chosen.check:
            problems.append(f"{name} is stale; run `python -m tools.pages`")
        else:
            path.write_text(after, encoding="utf-8")
            print(f"written: {name}")
    print("\n".join(problems) or "the pages are up to date")
    return int(bool(problems))


def read(problem: Callable[[str], None]) -> Source:
    """Read the sources of the parts.

    Args:
        problem: called with a sentence for each fix that cannot be read.
    """
    return Source(
        evidence.discover(problem),
        evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json")),
    )


def rendered(page: str, source: Source) -> str:
    """A page with its generated parts rewritten.

    Raises:
        KeyError: a part has a name that is not in `SECTIONS`.
    """
    return _SECTION.sub(lambda match: f"{match[1]}\n{SECTIONS[match['name']](source)}\n\n{match[4]}", page)


# ----------------------------------------------------------------------------------------------------------------------
# The parts.

_MEANING = {
    "security": "a model that you load can do what it must not",
    "crash": "an error that upstream has repaired since",
    "silent": "wrong numbers without a word",
    "loading": "what is downloaded or saved cannot be read, or is misread",
    "training": "the Trainer does not do what its arguments say",
    "removed-api": "names and ways to call that are gone, or not there yet",
    "api": "calls that do something else than they say",
    "performance": "slower or larger than it has to be",
}


def fixes(source: Source) -> str:
    """A row for each fix, in a table for each kind that is folded up."""
    return "\n\n".join(
        _of_kind(kind, source) for kind in KINDS if any(fix.kind == kind for _, fix in source.in_order())
    )


def _of_kind(kind: str, source: Source) -> str:
    columns = ("id", "default", "what you see", "broken in")
    mine = [fix for _, fix in source.in_order() if fix.kind == kind]
    rows = [
        (f"[`{fix.id}`](fixes.md#{fix.id})", default_of(fix), as_markdown(fix.title), broken_in(fix, source))
        for fix in mine
    ]
    off = sum(bool(fix.optin) for fix in mine)
    count = f"{len(mine)} fix{'es' * (len(mine) != 1)}{f', {off} of them off by default' * (off > 0)}"
    head = f"<b>{kind}</b>: {_MEANING[kind]} ({count})"
    return f"<details>\n<summary>{head}</summary>\n\n{markdown_table(columns, rows)}\n\n</details>"


def reports(source: Source) -> str:
    """The bug report of each fix: the docstring of its module."""
    return "\n\n".join("\n".join(_report(module, fix, source)) for module, fix in source.in_order())


def left_alone(source: Source) -> str:
    """A row for each bug that was examined and is not repaired."""
    rows = [
        (f"`{bug.id}`", escaped_markdown(bug.why_not), ", ".join(map(str, bug.fixed_in)) or "not repaired upstream")
        for bug in sorted(bugs.known().values(), key=lambda bug: bug.id)
        if bug.why_not
    ]
    return markdown_table(("bug", "why it is not repaired", "fixed in"), rows)


def conditions(source: Source) -> str:
    """A row for each fix that is on by default: when its repaired code runs."""
    rows = [
        (f"[`{fix.id}`](fixes.md#{fix.id})", fix.kind, *map(as_markdown, _condition(fix)))
        for _, fix in sorted(source.fixes.items(), key=lambda item: item[1].id)
        if not fix.optin
    ]
    return markdown_table(("fix", "kind", "trigger", "the repaired code runs"), rows)


def _condition(fix: Fix) -> tuple[str, str]:
    """The trigger of a fix's repaired code, in a word, and in full."""
    conditions = [target.condition for target in fix.targets]
    words, parts = [], []
    if any(condition.on_error for condition in conditions):
        words.append("error")
        parts.append("only after " + " or ".join(dict.fromkeys(_errors(conditions))))
    if any(condition.when for condition in conditions):
        words.append("condition")
        parts.append("only where " + " or ".join(dict.fromkeys(_expressions(conditions))))
    if own := dict.fromkeys(path for condition in conditions for path in condition.own):
        words.append("scope")
        parts.append(f"only where {', '.join(own)} {'is' if len(own) == 1 else 'are'} the library's own")
    if any(condition.along for condition in conditions):
        words.append("together")
        parts.append("only where the other places of the fix are repaired, too")
    if fix.everyone:
        words.append("condition" if fix.everyone.startswith("only") else "everyone")
        parts.append(fix.everyone)
    if any(target.way.adds_name for target in fix.targets):
        words.append("asking")
        parts.append("a name is there for code that would crash without it")
    if any(target.converts for target in fix.targets):
        words.append("file")
        parts.append("only for files that a later release wrote")
    parts += [
        f"`{target.qualname}` only if the fix is asked for, because {target.optin}"
        for target in fix.targets
        if target.optin
    ]
    return ", ".join(dict.fromkeys(words)), "; ".join(parts)


def _expressions(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        if condition.when:
            *_, last = ast.parse(textwrap.dedent(condition.when)).body
            yield f"`{ast.unparse(last)}`"


def _errors(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        yield from condition.on_error


def promises(source: Source) -> str:
    """The docstrings of the test files for hostile conditions, and the number of tests."""
    files = [ast.parse(file.read_text(encoding="utf-8")) for file in sorted(PROMISES.glob("test_*.py"))]
    said = [(ast.get_docstring(file) or "").partition("\n\n") for file in files]
    tests = sum(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for file in files for node in file.body
    )
    return "\n\n".join(
        [
            f"There are {tests} of them, many with several inputs.",
            *(f"**{as_markdown(head)}**\n\n{as_markdown(rest)}" for head, _, rest in said),
        ]
    )


def beside_others(source: Source) -> str:
    """The behaviour next to other packages; each cell is a test."""
    names = dict.fromkeys(name for name, _ in CELLS)
    rows = []
    for name in names:
        first, last = CELLS[name, "hotfix first"], CELLS[name, "hotfix last"]
        release, together, alone = NEIGHBOURS[name].packages
        (package,) = [requirement for requirement in (*together, *alone) if requirement.startswith(name)]
        rows.append((f"{package.replace('==', ' ')}, which {first.does}", release or RELEASE, first.means, last.means))
    rows += [(who, "a toy", first, last) for who, first, last, _ in WATCHERS]
    return markdown_table(("beside", "transformers", "hotfix first", "hotfix last"), rows)


def scanned(source: Source) -> str:
    """The verdict of `hotfix scan` on a pin."""
    command = ["scan", "transformers==5.2.0"]
    printed = subprocess.run([sys.executable, "-m", "hotfix", *command], cwd=ROOT, capture_output=True, text=True)
    if printed.returncode:
        raise RuntimeError(f"hotfix {' '.join(command)} failed: {printed.stderr}")
    return _console(" ".join(["hotfix", *command]), *printed.stdout.splitlines()[:2])


def first_run(source: Source) -> str:
    """The example without hotfix and with it, from the page of transcripts."""
    page = TRANSCRIPTS.read_text(encoding="utf-8")
    screens = [re.search(rf"^\$ {command}$.*?(?=^```$)", page, re.M | re.S) for command in EXAMPLE]
    lines = [
        line for screen in screens if screen for line in screen[0].replace("hotfix/examples", "examples").split("\n")
    ]
    first, *others = [line for line in lines if line]
    return _console(first.removeprefix("$ "), *others)


def _console(command: str, *lines: str) -> str:
    return "\n".join(["```console", f"$ {command}", *lines, "```"])


SECTIONS: Mapping[str, Callable[[Source], str]] = {
    "fixes": fixes,
    "reports": reports,
    "left-alone": left_alone,
    "conditions": conditions,
    "promises": promises,
    "beside-others": beside_others,
    "scanned": scanned,
    "first-run": first_run,
}


# ----------------------------------------------------------------------------------------------------------------------
# Below: the texts about one fix.


def broken_in(fix: Fix, source: Source) -> str:
    """The releases in which any target of a fix is broken, as a few runs."""
    members = [
        set(evidence.declared(target, source.examined)) for target in fix.targets if evidence.has_releases(target)
    ]
    if not members:
        return f"revisions before {fix.fixed_in}" if fix.fixed_in else "the source decides"
    runs = evidence.runs(set().union(*members), source.examined)
    if len(runs) > _RUNS:
        runs = [f"{runs[0].partition(' - ')[0]} to {runs[-1].rpartition(' - ')[2]}, with gaps"]
    partly = ", depending on the function" if any(releases != members[0] for releases in members) else ""
    return "; ".join(runs).replace(" - ", " to ") + partly


def default_of(fix: Fix) -> str:
    """Whether a fix is on by default, or how to turn it on, as Markdown."""
    if not fix.optin:
        return "on"
    return f"opt-in, group `{fix.group}`" if fix.group else "opt-in"


def _report(module: str, fix: Fix, source: Source) -> Iterator[str]:
    yield f"## {fix.id}"
    yield ""
    yield f"{as_markdown(fix.title)}."
    yield ""
    said = bugs.sections(import_module(module).__doc__)
    facts = {
        "Kind": f"{fix.kind}; {default_of(fix)}",
        "Off by default because": as_markdown(fix.optin),
        **{name: as_markdown(said[name]) for name in bugs.SECTIONS if name in said and name != "Upstream"},
        "Broken in": broken_in(fix, source),
        "Fixed in": fix.fixed_in or "not repaired upstream",
        "Upstream": ", ".join(linked(reference) for reference in fix.upstream),
        "Source": f"`{module.replace('.', '/')}.py`",
    }
    for name, text in facts.items():
        if text:
            yield f"- **{name}:** {text}"


def as_markdown(text: str) -> str:
    """Text of a docstring in Markdown: text between backticks is code, all else is text."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    return "".join(
        f"`{part.strip('`')}`" if number % 2 else escaped_markdown(part) for number, part in enumerate(parts)
    )


def linked(reference: str) -> str:
    """An issue, a pull request or a commit as a link, in Markdown."""
    address = link(reference)
    return f"[{escaped_markdown(reference)}]({address})" if address else escaped_markdown(reference)


if __name__ == "__main__":
    sys.exit(main())
