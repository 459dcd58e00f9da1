"""The rotary settings that 4.x gives to code for 5.x are those of 5.0.0, for each kind of scaling."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAM = """
from transformers import LlamaConfig, MistralConfig, Phi3Config, Qwen2Config

sizes = {"hidden_size": 32, "num_attention_heads": 2, "max_position_embeddings": 128, "rope_theta": 5000.0}
bands = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
for scaling in (
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 2.0},
    {"type": "linear", "factor": 2.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 64, **bands},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64},
    {"rope_type": "yarn", "factor": 2.0},
    {"rope_type": "longrope", "factor": 2.0, **factors},
):
    for kind in (LlamaConfig, MistralConfig, Qwen2Config):
        config = kind(**sizes, rope_scaling=dict(scaling))
        print(kind.__name__, sorted(config.rope_parameters.items()))
print(sorted(Phi3Config(**sizes, pad_token_id=0).rope_parameters.items()))
"""

READ_ONLY = """
import copy, json, pickle
from transformers import LlamaConfig, Phi3Config

config = LlamaConfig(hidden_size=32, num_attention_heads=2)
before = config.to_dict()
parameters = config.rope_parameters
print(type(copy.deepcopy(parameters)) is dict, pickle.loads(pickle.dumps(parameters)) == parameters)
for change in (lambda: parameters.update(rope_theta=1.0), lambda: parameters.pop("rope_theta")):
    try:
        change()
    except TypeError:
        print("refused")
factors = {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [1.0] * 4}
phi = Phi3Config(hidden_size=16, num_attention_heads=2, rope_scaling=factors, pad_token_id=0)
parameters_of_phi = phi.rope_parameters
kept = parameters_of_phi["long_factor"]
def replace(values):
    values[:] = [8.0] * 4
def add(values):
    values += [8.0]
for change in (replace, add, lambda values: values.clear(), lambda values: values.append(8.0)):
    try:
        change(kept)
    except TypeError:
        print("refused")
plain = copy.deepcopy(parameters_of_phi)["long_factor"]
print(kept == [1.0] * 4, type(plain) is list, phi.rope_scaling["long_factor"], json.dumps(kept))
print(json.dumps(parameters), config.to_dict() == before, config == copy.deepcopy(config))
print("rope_parameters" in str(config))
"""


def test_rotary_settings_are_those_of_the_first_release_that_has_them(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    before = run(program, transformers="4.57.6", flash_attn=None, hotfix=True).require()
    after = run(program, transformers="5.0.0", flash_attn=None, hotfix=False).require()
    assert before.stdout == after.stdout


def test_they_cannot_be_changed_and_are_not_saved(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(READ_ONLY, encoding="utf-8")
    result = run(program, transformers="4.53.3", flash_attn=None, hotfix=True).require()
    settings = '{"rope_theta": 10000.0, "rope_type": "default"} True True'
    of_phi = "True True [1.0, 1.0, 1.0, 1.0] [1.0, 1.0, 1.0, 1.0]"
    assert result.stdout.split("\n")[:10] == ["True True", *["refused"] * 6, of_phi, settings, "False"]
