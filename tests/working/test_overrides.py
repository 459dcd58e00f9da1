"""Overrides that were written for 4.36 to 4.45, on later releases: they give what they gave in their own release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ._lines import lines_of, program_of

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

HERE = Path(__file__).parent
_, *PARTS = re.split(r"^== (\w+) \| (.+)\n", (HERE / "overrides.txt").read_text("utf-8"), flags=re.M)
EXPECTED = dict(zip(PARTS[::3], PARTS[1::3]))

# Those that are not as in their own release, in one of these releases, and why.
_BY_POSITION = "it passes arguments on by position, and another one has come between them"
DIFFER = {
    "autoset": "no release since 4.56 calls the method",
    "expand_inputs": _BY_POSITION,
    "logits_processor_listed": "the release passes the device, which the override lacks and the library needs",
    "prepare_cache": "the device is gone, and the mode of generation in the place of the assistant",
    "save_pretrained": _BY_POSITION,
    "tokenizer_decode_fast": "the release gives a whole batch to `decode`",
    "tokenizer_pad_public": _BY_POSITION,
    "tokenizer_specials": "5.x has fast tokenizers only, which add special tokens themselves",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.57.6", pytest.param("5.0.0", marks=pytest.mark.slow), "5.24.0"])
def test_overrides_do_what_they_did_in_their_own_release(release, tmp_path):
    program = program_of(dict(zip(PARTS[::3], PARTS[2::3])), tmp_path)
    armed = lines_of(program, release, hotfix=True)
    assert armed.keys() == EXPECTED.keys()
    differ = {name for name, line in armed.items() if line != f"runs {name} {EXPECTED[name]}"}
    assert not differ - DIFFER.keys(), [armed[name] for name in differ - DIFFER.keys()]
    page = (HERE.parents[1] / "docs" / "lines.md").read_text("utf-8")
    assert re.search(rf"\| {release} \| \d+ \| {len(armed) - len(differ)} \|", page.partition("overrides.txt")[2])
