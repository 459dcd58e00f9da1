"""Lines of programs for 4.x on other releases: what runs gives the same with hotfix, and most of what ends runs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

HERE = Path(__file__).parent
_, *PARTS = re.split(r"^== (\w+)\n", (HERE / "lines_of_4.txt").read_text("utf-8"), flags=re.M)
# Those that end with hotfix, too, in one of the releases, and why.
_CODE = "the code is gone, and a copy of it would be needed"
_MEANING = "the release has nothing that means the same"
_TUPLES = "caches as tuples: each model converted them itself"
_ATTENTIONS = "sdpa gives no attentions: output-attentions-under-sdpa"
_REMOTE = "the code is on the Hub"
_LAYOUT = "the tower has another layout: opt-in, clip-tower-attributes-removed"
STILL_END = {
    "apply_pos": "the fifth argument has another meaning",
    "attn_call": "an attention without a mask",
    "attn_no_idx": "layers have to know their number",
    "bart_attn": "an attention without a configuration",
    "bart_prep": _CODE,
    "bert_out": _ATTENTIONS,
    "bert_self": "a configuration without an attention implementation",
    "bert_transpose": _CODE,
    "c_len": "the release's own answer about an empty cache",
    "cfg_dict": "files and dicts are as the release writes them",
    "cfg_whisper": "4.57.6 has no such attribute either",
    "clip_ln": _LAYOUT,
    "clipv": _LAYOUT,
    "gen_beam_groups": _REMOTE,
    "gen_constraint": _REMOTE,
    "gen_crop": _TUPLES,
    "gen_dola": _REMOTE,
    "gen_logits_proc": "gone since 4.46",
    "gen_penalty": _REMOTE,
    "gen_prep": "5.0 asks for a cache there",
    "gen_reorder": _TUPLES,
    "gen_sample": "gone since 4.46",
    "gpt2_attn": _CODE,
    "gpt2_tuple_past": _TUPLES,
    "layer_no_idx": "layers have to know their number",
    "m_assisted": "gone since 4.46",
    "m_betterT": "the code is in optimum",
    "m_clip_text": _LAYOUT,
    "m_flags": _MEANING,
    "m_greedy": "gone since 4.46",
    "m_past_tuple_in": _TUPLES,
    "m_prune": _CODE,
    "m_reorder": "gone since 4.43",
    "m_rotary": _MEANING,
    "m_static": _MEANING,
    "p_conv": _CODE,
    "pipe_auth": "an argument of the model goes to the tokenizer",
    "rope_kwargs": _MEANING,
    "rot_dim": _MEANING,
    "rot_linear": _CODE,
    "rot_seqlen": _MEANING,
    "t5_blocks": "the mask of the stack is missing; 4.57.6 as well",
    "t_args2": "5.x writes safetensors only",
    "tok_basic": _CODE,
    "tok_convert": "4.57.6 has no such method of fast tokenizers either",
    "tok_mask": "4.57.6's own refusal",
    "tok_maxmodel": _CODE,
    "tok_slow_tokenize": _CODE,
    "trainer_mod": "FairScale is gone since 4.37",
    "trainer_opt": _MEANING,
    "trainer_parts": "FairScale is gone since 4.37",
    "update_causal": _CODE,
    "vit": "the model has another layout",
    "vit_attn": _ATTENTIONS,
}


def program(folder: Path) -> Path:
    functions = [
        f"def {name}():\n{textwrap.indent(body.strip(), '    ')}\n\n\n" for name, body in zip(PARTS[::2], PARTS[1::2])
    ]
    written = folder / "program.py"
    start = (HERE / "_lines.py").read_text("utf-8")
    written.write_text(f"{start}\n\n{''.join(functions)}main([{', '.join(PARTS[::2])}])\n", encoding="utf-8")
    return written


def lines(folder: Path, release: str, hotfix: bool) -> dict[str, str]:
    """What each case prints, by its name."""
    extras = ["accelerate==1.10.1", "pillow==11.3.0"]
    result = run(program(folder), transformers=release, flash_attn=None, extras=extras, hotfix=hotfix).require()
    every = (line for line in result.stdout.splitlines() if line.startswith(("runs ", "ends ")))
    return {line.split()[1]: line for line in every}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.57.6", "5.0.0", "5.23.0"])
def test_what_runs_stays_and_most_of_the_rest_runs(release, tmp_path):
    stock, armed = (lines(tmp_path, release, hotfix) for hotfix in (False, True))
    assert stock.keys() == armed.keys() == {*PARTS[::2]}
    differ = [(line, armed[name]) for name, line in stock.items() if line.startswith("runs") and armed[name] != line]
    assert not differ
    assert {name for name, line in armed.items() if line.startswith("ends")} <= STILL_END.keys()
    counts = [sum(line.startswith("runs") for line in every.values()) for every in (stock, armed)]
    page = (HERE.parents[1] / "docs" / "lines.md").read_text("utf-8")
    assert f"| {release} | {counts[0]} | {counts[1]} |" in page
