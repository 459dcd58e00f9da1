"""Configurations, models and tables of others on a release that lost the names they use: the restored names, who sees
them, and a clean revert. The cases prove that the names work as before.
"""

from __future__ import annotations

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")

THERE = """
import hotfix.auto, json, logging, tempfile, torch
from pathlib import Path
from transformers import AutoConfig, GenerationMixin, LlamaConfig, LlamaForCausalLM, PretrainedConfig
from transformers.models.llama.modeling_llama import LLAMA_ATTENTION_CLASSES, LLAMA_START_DOCSTRING

class OurConfig(PretrainedConfig):
    model_type = "of-ours"

given = OurConfig(forced_bos_token_id=0, max_length=9)
assert (given.forced_bos_token_id, given.max_length, given.num_beams, OurConfig().max_length) == (0, 9, 1, 20)
# The library and its own configurations see none of it.
assert given._get_generation_parameters() == {}
assert not hasattr(LlamaConfig(), "max_length")
assert "_given_for_generation" not in given.to_dict()
with tempfile.TemporaryDirectory() as folder:
    given.save_pretrained(folder)
    written = json.loads((Path(folder) / "config.json").read_text())
    assert not {"max_length", "_given_for_generation"} & set(written), written
try:
    given.no_such_thing
except AttributeError as error:
    assert "'OurConfig' object has no attribute 'no_such_thing'" in str(error), error

assert isinstance(LLAMA_START_DOCSTRING, str) and "sdpa" in LLAMA_ATTENTION_CLASSES

class KnownConfig(PretrainedConfig):
    model_type = "llama"

AutoConfig.register("llama", KnownConfig)
assert type(AutoConfig.for_model("llama")) is KnownConfig

class Ours(LlamaForCausalLM):
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None,
                inputs_embeds=None, use_cache=None, return_dict=None):
        return super().forward(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                               past_key_values=past_key_values, inputs_embeds=inputs_embeds, use_cache=use_cache)

    def prepare_inputs_for_generation(self, input_ids, inputs_embeds=None, **kwargs):
        return super().prepare_inputs_for_generation(input_ids, inputs_embeds=inputs_embeds, **kwargs)

own = vars(Ours)["prepare_inputs_for_generation"]
theirs = vars(GenerationMixin)["prepare_inputs_for_generation"]
torch.manual_seed(0)
model = Ours(LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                         num_attention_heads=2, num_key_value_heads=2))
options = dict(max_new_tokens=3, do_sample=False, pad_token_id=0, eos_token_id=None)
prompt = torch.tensor([[5, 6, 7]])
assert model.generate(prompt, **options).shape == (1, 6)
assert model.generate(inputs_embeds=model.model.embed_tokens(prompt), **options).shape[1] == 3
assert vars(Ours)["prepare_inputs_for_generation"] is not own
assert vars(GenerationMixin)["prepare_inputs_for_generation"] is theirs
"""

GONE = """
import hotfix
hotfix.revert()
assert vars(Ours)["prepare_inputs_for_generation"] is own
assert not hasattr(given, "max_length")
try:
    from transformers.models.llama import modeling_llama
    modeling_llama.LLAMA_ATTENTION_CLASSES
except AttributeError:
    print("gone")
"""


@pytest.mark.testbed
def test_names_of_remote_code_are_restored_for_it_alone_and_reverted() -> None:
    everything = {"HOTFIX_OPTIN": "removed-names"}
    result = run_script("-c", [THERE + GONE], transformers="5.3.0", flash_attn=None, env=everything)
    assert result.require().stdout == "gone\n"
