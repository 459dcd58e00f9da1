"""``hotfix explain`` reads messages out of logs of any size.

- It ends soon: time grows with the size of the text and no faster, however long a word is, and however often an error
  is repeated.
- It reads only the end of a log, and only the beginning of a line or a word; the limits are documented.
"""

from __future__ import annotations

import pytest

from hotfix.commands.explain import messages

from .limited import hotfix, require

pytestmark = pytest.mark.drawn(4)  # a process for each case

LINE = "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16"
FRAMES = "".join(
    f'  File "/opt/transformers/models/qwen2/modeling_qwen2.py", line {number}, in forward\n    return self(x)\n'
    for number in range(8)
)

TEXTS = {
    "a long word": "RuntimeError: " + "a" * 20_000,
    "a long word alone": "a" * 20_000,
    "a long dotted word": "RuntimeError: " + "a." * 10_000,
    "a long number": "1" * 20_000,
    "a long task": "KeyError: 'The task " + "_to" * 10_000 + "'",
    "a repeated error": f"{LINE}\n" * 1000,
    "many errors": "".join(LINE.replace("32", str(number)) + "\n" for number in range(1000)),
    "a repeated traceback": f"Traceback (most recent call last):\n{FRAMES}{LINE}\n" * 500,
    "an unknown launcher": "(" + "pid=1 " * 5000 + "\n",
    "no line ends": f"{LINE} " * 5000,
    "blanks": "ValueError: " + " " * 200_000 + "x",
    "escape sequences": "\x1b[1;31m" * 50_000 + LINE,
    "not text": "\udcff\udcfe\x00" * 50_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_answered_soon(name, tmp_path):
    text = TEXTS[name].encode(errors="surrogateescape")
    require(hotfix("explain", "-", "--json", stdin=text, cwd=tmp_path), 0, 1)


def test_a_long_argument_is_answered_soon_too(tmp_path):
    require(hotfix("explain", "--error", "a" * 100_000, cwd=tmp_path), 1)
    run = require(hotfix("explain", "a" * 100_000, cwd=tmp_path), 2)
    assert len(run.stderr) < 300


def test_the_end_of_a_log_counts(tmp_path):
    log = b"step 1\n" * 500_000 + f"Traceback (most recent call last):\n{FRAMES}{LINE}\n".encode()
    run = require(hotfix("explain", "-", stdin=log, cwd=tmp_path), 0)
    assert run.stdout.startswith("flash-rotary-dtype")


def test_endless_input_is_not_read_forever(tmp_path):
    run = require(hotfix("explain", "-", stdin=b"x" * 80 * 2**20, cwd=tmp_path), 2)
    assert "tail" in run.stderr


def test_a_repeated_error_is_one_error_and_the_first_ones_of_very_many_are_left_out():
    assert len(list(messages.messages_in(f"{LINE}\n\n" * 300))) == 1
    many = "".join(f"ValueError: number {number}\n\n" for number in range(300))
    read = [message.text for message in messages.messages_in(many)]
    assert read[0] == "ValueError: number 299"
    assert len(read) == messages._ERRORS


@pytest.mark.parametrize("word", ["translation_en_to_de", "'translation_xx_to_yy'", "translation"])
def test_the_languages_of_a_task_are_not_its_name(word):
    [message] = messages.messages_in(f"KeyError: Unknown task {word}, available tasks are")
    assert (message.form, message.key) == ("task", "translation")
