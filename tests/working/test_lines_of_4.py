"""Lines of programs for 4.x on other releases: what runs gives the same with hotfix, and most of what ends runs."""

from __future__ import annotations

import pytest

from ._lines import check

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

# Those that end with hotfix, too, in one of the releases, and why.
_CODE = "the code is gone, and a copy of it would be needed"
_MEANING = "the release has nothing that means the same"
_TUPLES = "caches as tuples: each model converted them itself"
_ATTENTIONS = "sdpa gives no attentions: output-attentions-under-sdpa"
_REMOTE = "the code is on the Hub"
_LAYOUT = "the tower has another layout: opt-in, clip-tower-attributes-removed"
STILL_END = {
    "attn_call": "an attention without a mask",
    "attn_no_idx": "layers have to know their number",
    "bart_attn": "an attention without a configuration",
    "bart_prep": _CODE,
    "beam_scorer": _CODE,
    "bert_out": _ATTENTIONS,
    "bert_self": "a configuration without an attention implementation",
    "c_len": "the release's own answer about an empty cache",
    "cfg_dict": "files and dicts are as the release writes them",
    "cfg_whisper": "4.57.6 has no such attribute either",
    "clip_ln": _LAYOUT,
    "clipv": _LAYOUT,
    "dinov2_attn": _ATTENTIONS,
    "gen_beam_groups": _REMOTE,
    "gen_constraint": _REMOTE,
    "gen_crop": _TUPLES,
    "gen_dola": _REMOTE,
    "gen_logits_proc": "gone since 4.46",
    "gen_penalty": _REMOTE,
    "gen_reorder": _TUPLES,
    "gen_sample": "gone since 4.46",
    "gpt2_attn": _CODE,
    "gpt2_bytes": _CODE,
    "layer_no_idx": "layers have to know their number",
    "m_assisted": "gone since 4.46",
    "m_betterT": "the code is in optimum",
    "m_clip_text": _LAYOUT,
    "m_flags": _MEANING,
    "m_greedy": "gone since 4.46",
    "m_past_tuple_in": _TUPLES,
    "m_prune": _CODE,
    "m_reorder": "gone since 4.43",
    "m_static": _MEANING,
    "p_conv": _CODE,
    "past_of_layers": "nothing in the loop says how many values it takes",
    "pipe_auth": "an argument of the model goes to the tokenizer",
    "rot_linear": _CODE,
    "t5_blocks": "the mask of the stack is missing; 4.57.6 as well",
    "t_args2": "5.x writes safetensors only",
    "t_subclass": "nothing of the library runs before the constructor that Python has generated",
    "text_dataset": _CODE,
    "tok_basic": _CODE,
    "tok_convert": "4.57.6 has no such method of fast tokenizers either",
    "tok_mask": "4.57.6's own refusal",
    "tok_maxmodel": _CODE,
    "tok_slow_tokenize": _CODE,
    "trainer_mod": "FairScale is gone since 4.37",
    "trainer_opt": _MEANING,
    "trainer_parts": "FairScale is gone since 4.37",
    "vit": "layers return no tuple",
    "vit_attn": _ATTENTIONS,
    "vit_methods": "methods for one picture take sizes of another class",
    "whisper_cfg_forced": "5.0.0 refuses generation parameters in a configuration",
}


@pytest.mark.drawn(1, "lines")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.57.6", "5.0.0", "5.23.0"])
def test_what_runs_stays_and_most_of_the_rest_runs(release, tmp_path):
    check("lines_of_4.txt", release, STILL_END.keys(), tmp_path)
