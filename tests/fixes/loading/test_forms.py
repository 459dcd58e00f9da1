"""The rules for a configuration and a tokenizer that a later release wrote, on the source of releases made up here."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hotfix.loading import forms, tokenizer_forms
from hotfix.loading.forms import Outcome, Release, Rule

AUTO = """
CONFIG_MAPPING_NAMES = OrderedDict([
    ("llama", "LlamaConfig"), ("mistral", "MistralConfig"), ("gemma3", "Gemma3Config"), ("gpt_neox", "GPTNeoXConfig"),
    ("qwen2_vl", "Qwen2VLConfig"), ("phi3", "Phi3Config"), ("modernbert", "ModernBertConfig"), ("tower", "TowerConfig"),
])
SPECIAL_MODEL_TYPE_TO_MODULE_NAME = OrderedDict([("gemma3_text", "gemma3")])
"""
ROPE = '''
def _compute_yarn_parameters(config, device) -> tuple:
    """Of no account: "truncate"."""
    base = config.rope_theta
    factor = config.rope_scaling["factor"]
    attention_factor = config.rope_scaling.get("attention_factor")


def _compute_llama3_parameters(config, device) -> tuple:
    factor = config.rope_scaling["factor"], config.rope_scaling["low_freq_factor"]
    old = config.rope_scaling["high_freq_factor"], config.rope_scaling["original_max_position_embeddings"]


ROPE_INIT_FUNCTIONS = {
    "default": _compute_default_rope_parameters,
    "yarn": _compute_yarn_parameters,
    "llama3": _compute_llama3_parameters,
}
'''
READS = "if config.rope_scaling: rope_type = config.rope_scaling['rope_type']; ROPE_INIT_FUNCTIONS"


def _class(name: str, arguments: str, body: str = "pass") -> str:
    return f"class {name}(PretrainedConfig):\n    def __init__(self, {arguments}, **kwargs):\n        {body}\n\n"


SOURCES = {
    "configuration_utils": "class PretrainedConfig: pass",
    "modeling_rope_utils": ROPE,
    "models.auto.configuration_auto": AUTO,
    "models.llama.configuration_llama": _class("LlamaConfig", "rope_theta=10000.0, rope_scaling=None"),
    "models.llama.modeling_llama": READS,
    "models.mistral.configuration_mistral": _class("MistralConfig", "rope_theta=10000.0"),
    "models.mistral.modeling_mistral": "base=self.rope_theta",
    "models.gemma3.configuration_gemma3": _class(
        "Gemma3TextConfig", "rope_theta=1000000.0, rope_scaling=None, rope_local_base_freq=10000.0"
    )
    + _class("Gemma3Config", "text_config=None", "self.text_config = Gemma3TextConfig(**text_config)"),
    "models.gemma3.modeling_gemma3": READS,
    "models.modernbert.configuration_modernbert": _class(
        "ModernBertConfig", "global_rope_theta=160000.0, local_rope_theta=10000.0"
    ),
    "models.modernbert.modeling_modernbert": READS,
    "models.gpt_neox.configuration_gpt_neox": _class("GPTNeoXConfig", "rotary_pct=0.25, rotary_emb_base=10000"),
    "models.gpt_neox.modeling_gpt_neox": "",
    "models.tower.configuration_tower": _class("TowerConfig", "depth=2"),
    "models.tower.modeling_tower": "config.rope_theta of the text beside it",
    "models.qwen2_vl.configuration_qwen2_vl": _class(
        "Qwen2VLConfig", "vocab_size=9, hidden_size=9, num_hidden_layers=9, rope_theta=1.0, rope_scaling=None"
    ),
    "models.qwen2_vl.modeling_qwen2_vl": READS + "['mrope_section']",
    "models.phi3.configuration_phi3": _class(
        "Phi3Config",
        "rope_theta=10000.0, rope_scaling=None, original_max_position_embeddings=4096, max_position_embeddings=4096",
        'if len(self.rope_scaling) != 3: raise; rope_scaling_type = self.rope_scaling.get("type", None); '
        'assert "short_factor" and "long_factor"; rope_scaling_type not in ["su", "yarn"]',
    ),
    "models.phi3.modeling_phi3": "class Phi3SuScaledRotaryEmbedding: config.rope_scaling",
}
LAYERS = {
    "full_attention": {"rope_type": "default", "rope_theta": 5e5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
}


def _release(**changed: str) -> Release:
    sources = {**SOURCES, **changed}
    return Release(lambda name: sources.get(name.removeprefix("transformers.")))


def _read(config: dict[str, Any], **options: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    before = copy.deepcopy(config)
    converted, findings = forms.configuration(config, _release(), **options)
    assert config == before
    return converted, [(finding.key, finding.outcome.value) for finding in findings]


def _flat(model_type: str, **parameters: Any) -> dict[str, Any]:
    return {"model_type": model_type, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5, **parameters}}


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (_flat("llama"), {"rope_theta": 5e5}),
        (_flat("gpt_neox", partial_rotary_factor=0.5), {"rotary_emb_base": 5e5, "rotary_pct": 0.5}),
        (
            {"model_type": "modernbert", "rope_parameters": LAYERS},
            {"global_rope_theta": 5e5, "local_rope_theta": 2e4},
        ),
        (
            {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "rope_parameters": LAYERS}},
            {"text_config": {"model_type": "gemma3_text", "rope_theta": 5e5, "rope_local_base_freq": 2e4}},
        ),
        (
            _flat("llama", rope_type="yarn", factor=4.0, attention_factor=None, truncate=True),
            {"rope_theta": 5e5, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
        ),
        (_flat("mistral", rope_type="axial"), {"rope_theta": 5e5}),
    ],
)
def test_rotary_embedding_has_the_names_of_the_class(config, wanted):
    converted, findings = _read(config)
    assert converted == {"model_type": config["model_type"], **wanted}
    assert {outcome for _, outcome in findings} == {"translated"}


def test_phi3_takes_three_fields_and_the_first_length_beside_them():
    longrope = {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [2.0]}
    converted, _ = _read(_flat("phi3", **longrope, original_max_position_embeddings=64))
    assert converted["rope_scaling"] == {"type": "su", "short_factor": [1.0], "long_factor": [2.0]}
    assert converted["original_max_position_embeddings"] == 64


def test_text_keys_of_qwen_are_among_those_of_the_whole():
    text = {**_flat("qwen2_vl_text", mrope_section=[1, 2]), "hidden_size": 5, "bos_token_id": 8}
    converted, findings = _read({"model_type": "qwen2_vl", "bos_token_id": 7, "text_config": text})
    scaling = {"rope_type": "default", "mrope_section": [1, 2]}
    assert converted == {
        "model_type": "qwen2_vl",
        "bos_token_id": 7,
        "hidden_size": 5,
        "rope_theta": 5e5,
        "rope_scaling": scaling,
    }
    assert ("text_config", "translated") in findings


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (_flat("llama", rope_type="proportional"), "rope_parameters.rope_type"),
        (_flat("mistral", rope_type="yarn", factor=2.0), "rope_parameters.rope_type"),
        (_flat("llama", rope_type="yarn", factor=2.0, mscale=0.7), "rope_parameters.mscale"),
        (_flat("llama", something_new=1), "rope_parameters.something_new"),
        (_flat("mistral", partial_rotary_factor=0.5), "rope_parameters.partial_rotary_factor"),
        ({"model_type": "llama", "rope_parameters": LAYERS}, "rope_parameters"),
        ({"model_type": "llama", "rope_parameters": [1]}, "rope_parameters"),
    ],
)
def test_settings_that_the_release_cannot_compute_are_named(config, key):
    _, findings = _read(config)
    assert (key, "unreadable") in findings


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "llama", "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"model_type": "llama", "torch_dtype": "float16", "rope_theta": 10000.0},
        {"model_type": "nobody_knows_it", "rope_parameters": {"rope_theta": 5e5}},
        {"rope_parameters": {"rope_theta": 5e5}},
        {},
    ],
)
def test_keys_that_are_understood_or_have_no_class_stay(config):
    assert _read(config) == (config, [])


def test_no_window_is_none():
    config = {"model_type": "mistral", "sliding_window": 0, "use_sliding_window": False}
    assert _read(config)[0] == {**config, "sliding_window": None}
    used = {**config, "use_sliding_window": True}
    assert _read(used) == (used, [])


def test_a_fraction_that_a_model_has_anyway_is_nothing_to_say():
    config = _flat("mistral", partial_rotary_factor=0.5)
    release = _release(
        **{"models.mistral.modeling_mistral": "Rotary(dim=config.head_dim // 2, base=config.rope_theta)"}
    )
    assert forms.configuration(config, release)[0] == {"model_type": "mistral", "rope_theta": 5e5}


def test_a_base_that_a_tower_has_anyway_is_nothing_to_say():
    config = {"model_type": "tower", "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0}}
    assert _read(config) == ({"model_type": "tower"}, [])


def test_dtype_gets_its_old_name_unless_present():
    assert _read({"model_type": "llama", "dtype": "bfloat16"}) == (
        {"model_type": "llama", "torch_dtype": "bfloat16"},
        [("dtype", "translated")],
    )
    both = {"model_type": "llama", "dtype": "bfloat16", "torch_dtype": "float16"}
    assert _read(both) == ({"model_type": "llama", "torch_dtype": "float16"}, [])


def test_one_rule_leaves_the_keys_of_the_others():
    config = {**_flat("llama"), "dtype": "bfloat16"}
    converted, _ = _read(config, rules=frozenset({Rule.DTYPE}))
    assert converted["rope_parameters"] == config["rope_parameters"]
    assert "dtype" in _read(config, rules=frozenset({Rule.ROPE}))[0]


def test_a_release_that_knows_the_key_reads_it_itself():
    release = _release(configuration_utils='self.rope_parameters; "dtype"')
    config = {**_flat("llama"), "dtype": "bfloat16"}
    assert forms.configuration(config, release) == (config, [])


def test_repeated_keys_are_read_like_the_writers_read_them():
    config = {**_flat("llama"), "rope_theta": 1234.0}
    assert _read(config)[0]["rope_theta"] == 5e5
    scaled = {**_flat("llama"), "rope_theta": 1234.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    assert _read(scaled)[0] == {key: value for key, value in scaled.items() if key != "rope_parameters"}


def test_settings_of_a_tokenizer_get_the_names_of_4x():
    converted, findings = tokenizer_forms.tokenizer_class(
        {"tokenizer_class": "TokenizersBackend", "backend": "tokenizers"}
    )
    assert converted == {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    assert [finding.outcome for finding in findings] == [Outcome.TRANSLATED]
    listed = {"extra_special_tokens": ["a", "b"], "additional_special_tokens": ["b", "c"]}
    assert tokenizer_forms.extra_special_tokens(listed)[0] == {"additional_special_tokens": ["b", "c", "a"]}


@pytest.mark.parametrize(
    "settings", [{"tokenizer_class": "LlamaTokenizer"}, {"extra_special_tokens": {"image_token": "a"}}, {}]
)
def test_settings_that_4x_understands_stay(settings):
    for rule in (tokenizer_forms.tokenizer_class, tokenizer_forms.extra_special_tokens):
        assert rule(settings) == (settings, [])


def test_merges_become_words_only_where_that_is_exact():
    pairs = {"model": {"type": "BPE", "merges": [["a", "b"], ["ab", "c"]]}}
    assert tokenizer_forms.merges_in_words(pairs)[0] == {"model": {"type": "BPE", "merges": ["a b", "ab c"]}}
    words = {"model": {"type": "BPE", "merges": ["a b"]}}
    assert tokenizer_forms.merges_in_words(words) == (words, [])
    with pytest.raises(tokenizer_forms.Unwritable, match=r"merges\[1\]"):
        tokenizer_forms.merges_in_words({"model": {"merges": [["a", "b"], ["a ", "b"]]}})


def _template(*single: str) -> dict[str, Any]:
    def piece(name: str, of: str) -> dict[str, Any]:
        return {"Sequence": {"id": of}} if name == "A" else {"SpecialToken": {"id": name}}

    pieces = [piece(token, "A") for token in single], [piece(token, "B") for token in single]
    return {"post_processor": {"type": "TemplateProcessing", "single": pieces[0], "pair": pieces[0] + pieces[1]}}


WRITTEN_BY_5X = {"backend": "tokenizers", "bos_token": "<s>", "eos_token": {"content": "</s>"}}


@pytest.mark.parametrize(
    ("single", "wanted"),
    [(("A",), (False, False)), (("<s>", "A"), (True, False)), (("<s>", "A", "</s>"), (True, True))],
)
def test_tokens_around_a_text_come_from_the_template(single, wanted):
    converted, _ = tokenizer_forms.ends_of_template(WRITTEN_BY_5X, _template(*single))
    assert (converted["add_bos_token"], converted["add_eos_token"]) == wanted


def test_no_template_adds_nothing():
    converted, _ = tokenizer_forms.ends_of_template(WRITTEN_BY_5X, {"post_processor": None})
    assert (converted["add_bos_token"], converted["add_eos_token"]) == (False, False)


@pytest.mark.parametrize(
    ("settings", "tokenizer"),
    [
        (WRITTEN_BY_5X, _template("[CLS]", "A")),
        (WRITTEN_BY_5X, {"post_processor": {"type": "Sequence"}}),
        ({**WRITTEN_BY_5X, "add_bos_token": True}, _template("A")),
        ({"bos_token": "<s>"}, _template("A")),
    ],
)
def test_a_template_that_the_two_cannot_make_is_left_alone(settings, tokenizer):
    assert tokenizer_forms.ends_of_template(settings, tokenizer) == (settings, [])
