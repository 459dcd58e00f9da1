"""Commands that a new user mistypes: the answer is one line, and says what to type instead."""

from __future__ import annotations

import sys

import pytest

from tests.commands.cli_runs import hotfix


def test_without_a_command_the_help_is_shown():
    done = hotfix()
    assert (done.status, done.stdout) == (2, "")
    assert "check-model" in done.stderr
    assert len(done.stderr.splitlines()) <= 40
    assert hotfix("help", "scan").stdout == hotfix("scan", "--help").stdout


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["scann"], "did you mean scan?"),
        (["scan", "--jsn"], "did you mean --json?"),
        (["scan", "--jsn"], "hotfix scan --help"),
        (["explain", "flash-rotary"], "did you mean flash-rotary-dtype?"),
        (["audit", ".", "train.py"], "hotfix audit -- . train.py"),
        (["run"], "hotfix run -- torchrun train.py"),
    ],
)
def test_the_answer_says_what_to_type(words, hint):
    done = hotfix(*words)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("hotfix: ")
    assert line.count("hotfix: ") == 1
    assert hint in line


def test_a_script_needs_its_interpreter(tmp_path):
    (tmp_path / "train.py").write_text("print('trained')\n")
    done = hotfix("run", "--", "train.py", cwd=tmp_path)
    assert done.status == 127
    assert "python train.py" in done.stderr
    assert hotfix("run", "--", sys.executable, "train.py", cwd=tmp_path).stdout == "trained\n"


def test_a_requirement_is_scanned_without_a_file(tmp_path):
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n")
    from_file = hotfix("scan", "requirements.txt", cwd=tmp_path).stdout.splitlines()
    from_word = hotfix("scan", "transformers==4.49.0", cwd=tmp_path).stdout.splitlines()
    assert from_file[0] == f"requirements.txt:1: {from_word[0]}"
    assert from_word[1:] == from_file[1:]


def test_words_without_quotes_are_one_message():
    message = "Input and cos/sin must have the same dtype"
    quoted = hotfix("explain", "--error", message).stdout
    assert "flash-rotary-dtype" in quoted
    assert hotfix("explain", "--error", *message.split()).stdout == quoted
    assert hotfix("explain", *message.split()).stdout == quoted


def test_a_message_that_nothing_is_like_leads_to_the_list():
    done = hotfix("explain", "--error", "hello")
    assert done.status == 1
    assert "hotfix list" in done.stdout


def test_a_thread_names_its_bug():
    report = hotfix("explain", "flash-rotary-dtype").stdout
    for thread in ("#36065", "transformers#36065", "https://github.com/huggingface/transformers/pull/36065"):
        assert hotfix("explain", thread).stdout == report
    assert "flash-rotary-dtype" in hotfix("list", "36065").stdout
    assert "no known bug is about #99999999" in hotfix("explain", "#99999999").stderr


def test_the_options_of_pip_are_understood(tmp_path):
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n")
    scanned = hotfix("scan", "requirements.txt", cwd=tmp_path).stdout
    assert hotfix("scan", "-r", "requirements.txt", cwd=tmp_path).stdout == scanned
