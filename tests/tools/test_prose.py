"""The check of the English: it finds the patterns in prose, and neither in code nor in questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import prose

OLD_SENTENCES = [
    "What is aimed at cannot be forgotten by another thread.",
    "Its head is of other fixes than its lines, and who asks is told nothing.",
    "The new code takes the place of what stands there.",
    "Nothing is said of a release that was never examined.",
    "What a quiet process loads is what it had not loaded before.",
]


def matched(text, name="page.md"):
    return [match.pattern for each in prose._of_markdown(name, text) for match in prose.matches(each)]


@pytest.mark.parametrize("sentence", OLD_SENTENCES)
def test_old_sentences_are_found(sentence):
    assert matched(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "What does it change? A function.",
        "```console\n$ what stands here is said\n```",
        "`what is said` is a word.",
        "| what stands | is said |",
        "The source decides, not the version number.",
        "<!-- generated: x -->\nWhat is said stands here.\n<!-- end: x -->",
    ],
)
def test_questions_code_tables_and_generated_parts_are_not(text):
    assert matched(text) == []


def test_docstrings_and_comments_are_prose_and_code_is_not(tmp_path):
    source = '"""What is said."""\n\n# It stands here.\nstands = "what is said"\n'
    patterns = {match.pattern for each in prose._of_python("a.py", source) for match in prose.matches(each)}
    assert patterns == set(prose.PATTERNS)
    assert len(list(prose._of_python("a.py", source))) == 2


def test_names_that_mean_nothing_are_found(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("found = [one for one in ()]\ndef f(told): pass\ntarget = 1\n")
    assert sorted(name for _, name in prose.forbidden_names(file)) == ["found", "one", "told"]


def test_the_check_fails_above_the_limit(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("\n\n".join(OLD_SENTENCES))
    monkeypatch.setattr(prose, "tracked", lambda: [page])
    assert prose.main(["--check"]) == 1
    page.write_text("The source decides, not the version number.\n")
    assert prose.main(["--check"]) == 0


@pytest.mark.parametrize("name", ["README.md", "docs/how-it-works.md", "hotfix/session.py"])
def test_the_check_fails_if_old_sentences_are_put_back_into_a_file(name, tmp_path, monkeypatch, capsys):
    page = tmp_path / Path(name).name
    text = (prose.ROOT / name).read_text(encoding="utf-8")
    page.write_text(text)
    good = [path for path in prose.ROOT.glob("docs/*.md") if path.name in ("audit.md", "command.md", "trust.md")]
    monkeypatch.setattr(prose, "tracked", lambda: [page, *good])
    assert prose.main(["--check", str(page)]) == 0
    old = "".join(f"\n\n# {sentence}\n" if page.suffix == ".py" else f"\n\n{sentence}\n" for sentence in OLD_SENTENCES)
    page.write_text(text + old)
    assert prose.main(["--check"]) == 1
    assert f"too many matches in {page}" in capsys.readouterr().out
