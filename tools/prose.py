"""Checks the English of documentation, docstrings and comments against a few patterns that make text hard to read.

    python -m tools.prose             the rates of each pattern, and the files with the most matches
    python -m tools.prose --check     exit with 1 if a rate is above its limit, a file has too many matches, or a
                                      variable has a forbidden name
    python -m tools.prose PATH …      every match in these files and folders, with its line

Each pattern in `PATTERNS` may match at most `LIMIT` times per 1,000 words of all files, and all patterns together as
often in each file, or `FEW` times in a short one: a few bad sentences do not disappear among the good ones. A question
may begin with "What". Code, tables and generated pages are not prose and are left out.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 2.0  # matches per 1,000 words
FEW = 2  # matches that any file may have
LONG = 30  # words in a sentence
GENERATED = {"docs/fixes.md", "docs/transcripts.md", "docs/deviations.md", "docs/working.md", "CHANGELOG.md", "LICENSE"}
FORBIDDEN_NAMES = {"one", "found", "told"}

_VERB = (
    "is|are|was|were|be|has|have|had|does|do|did|can|cannot|will|would|may|must|should|comes?|goes|runs?|reads?|writes?"
    "|asks?|gets?|gives?|takes?|makes?|needs?|wants?|stands?|follows|holds|keeps|uses|calls|loads|imports|raises|belongs"
    "|differs|changes|remains|happens|says|knows|lacks|decides|depends|repairs|imports|passes|returns|resumes|trains"
)
PATTERNS = {
    "a noun made of what/who and a verb": re.compile(
        rf"(?:^|[.;:,(—]\s+|\b(?:to|of|for|by|in|with|and|or|that|than|from|as|on|into|but|not|only|all)\s+)"
        rf"(?:what|who|whoever|whatever)\s+(?:{_VERB})\b",
        re.IGNORECASE,
    ),
    "stands": re.compile(r"\b(?:stands?|standing|stood)\b", re.IGNORECASE),
    "is said, told or asked": re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:said|told|asked)\b", re.IGNORECASE),
    "a sentence that begins with What": re.compile(r"^What\b"),
}
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[(])")
_WORD = re.compile(r"[A-Za-z][\w'\u2019-]*")


class Text(NamedTuple):
    """One paragraph of prose.

    Attributes:
        path: of its file, from the root of the repository.
        line: where it begins.
        words: the paragraph, without markup of code.
    """

    path: str
    line: int
    words: str


class Match(NamedTuple):
    """A place where a pattern matches."""

    text: Text
    pattern: str
    sentence: str


def texts(paths: Sequence[Path]) -> Iterator[Text]:
    """All prose of some files."""
    for path in paths:
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
        content = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".md":
            yield from _of_markdown(name, content)
        elif path.suffix == ".py":
            yield from _of_python(name, content)


def tracked() -> list[Path]:
    """The files of the repository that have prose."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [ROOT / name for name in listed if name not in GENERATED and (ROOT / name).is_file()]


def matches(text: Text) -> Iterator[Match]:
    """Every match of a pattern in a paragraph."""
    for sentence in _SENTENCE.split(text.words):
        for name, pattern in PATTERNS.items():
            if "hat" in name and sentence.rstrip().endswith("?"):  # a question
                continue
            for _ in pattern.finditer(sentence):
                yield Match(text, name, sentence.strip())


def forbidden_names(path: Path) -> Iterator[tuple[int, str]]:
    """Variables and parameters with a meaningless name: line and name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in FORBIDDEN_NAMES:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in FORBIDDEN_NAMES:
            yield node.lineno, node.arg


def _of_markdown(name: str, content: str) -> Iterator[Text]:
    content = re.sub(r"<!-- generated: .*?<!-- end: [^>]*-->", _blank, content, flags=re.DOTALL)
    content = re.sub(r"^(```|~~~).*?^\1", _blank, content, flags=re.DOTALL | re.MULTILINE)
    line = 1
    for paragraph in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) ))", content):
        if paragraph.strip() and not paragraph.lstrip().startswith(("|", "<", "    ", "!!!", "---")):
            yield Text(name, line + _leading_lines(paragraph), _plain(re.sub(r"^\s*(?:[-*#]+|\d+\.)\s", "", paragraph)))
        line += paragraph.count("\n")


def _of_python(name: str, content: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                line = node.body[0].lineno
                for paragraph in re.split(r"\n\s*\n", docstring):
                    yield Text(name, line, _plain(paragraph))
    comments = [
        (token.start[0], token.string.lstrip("# "))
        for token in tokenize.generate_tokens(io.StringIO(content).readline)
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# noqa", "# type:", "# mypy"))
    ]
    block: list[str] = []
    for number, (line, comment) in enumerate(comments):
        block.append(comment)
        if number + 1 == len(comments) or comments[number + 1][0] != line + 1:
            yield Text(name, line - len(block) + 1, _plain(" ".join(block)))
            block = []


def _is_in(path: Path, wanted: Sequence[Path]) -> bool:
    return any(path.is_relative_to(place.resolve()) for place in wanted)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _leading_lines(paragraph: str) -> int:
    return len(paragraph[: len(paragraph) - len(paragraph.lstrip())].splitlines())


def _plain(text: str) -> str:
    """The words of a text: code becomes one word, links their text."""
    text = re.sub(r"``?[^`]+``?", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print rates or matches; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description="Check the English of the repository.")
    parser.add_argument("files", nargs="*", type=Path, help="show every match in these files and folders")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    options = parser.parse_args(arguments)
    paths = [path for path in tracked() if not options.files or _is_in(path, options.files)]
    paragraphs = list(texts(paths))
    words = sum(len(_WORD.findall(text.words)) for text in paragraphs)
    matched = [match for text in paragraphs for match in matches(text)]
    names = [(path, line, name) for path in paths if path.suffix == ".py" for line, name in forbidden_names(path)]
    if options.files and not options.check:
        for match in matched:
            print(f"{match.text.path}:{match.text.line}: {match.pattern}: {match.sentence}")
        for path, line, name in names:
            print(f"{path}:{line}: a variable named {name}")
    counts = Counter(match.pattern for match in matched)
    too_many = []
    for pattern in PATTERNS:
        rate = 1000 * counts[pattern] / max(words, 1)
        if rate > LIMIT:
            too_many.append(pattern)
            print(
                "\n".join(
                    f"{match.text.path}:{match.text.line}: {match.sentence}"
                    for match in matched
                    if match.pattern == pattern
                )
            )
        print(f"{rate:6.2f} per 1,000 words  {pattern} ({counts[pattern]})")
    crowded = _crowded(paragraphs, matched)
    for match in matched:
        if options.check and match.text.path in crowded:
            print(f"{match.text.path}:{match.text.line}: {match.pattern}: {match.sentence}")
    if options.check and crowded:
        print(f"too many matches in {', '.join(crowded)}")
    for path, line, name in names if options.check else ():
        print(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: a variable named {name}")
    print(f"{len(names):6} variables named {', '.join(sorted(FORBIDDEN_NAMES))}")
    longest = _shares_of_long_sentences(paragraphs)
    if longest:
        print(f"{100 * statistics.median(longest):6.1f} % of the sentences of the median file have over {LONG} words")
    if not options.files:
        files = Counter(match.text.path for match in matched)
        print(f"{words} words. Most matches:", ", ".join(f"{path} ({count})" for path, count in files.most_common(12)))
    return 1 if options.check and (too_many or crowded or names) else 0


def _crowded(paragraphs: Sequence[Text], matched: Sequence[Match]) -> list[str]:
    """The files that have more matches than their length allows."""
    words = Counter[str]()
    for text in paragraphs:
        words[text.path] += len(_WORD.findall(text.words))
    counts = Counter(match.text.path for match in matched)
    return [path for path, count in counts.items() if count > max(FEW, LIMIT * words[path] / 1000)]


def _shares_of_long_sentences(paragraphs: Sequence[Text]) -> list[float]:
    lengths: dict[str, list[int]] = {}
    for text in paragraphs:
        for sentence in _SENTENCE.split(text.words):
            lengths.setdefault(text.path, []).append(len(_WORD.findall(sentence)))
    return [sum(length > LONG for length in each) / len(each) for each in lengths.values() if each]


if __name__ == "__main__":
    sys.exit(main())
