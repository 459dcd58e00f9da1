"""A model that one repair lets be built is built a second time by another, under a handler that does not count."""

from __future__ import annotations

import json

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAM = """
import json, tempfile, torch
import hotfix.auto
from transformers import PretrainedConfig, PreTrainedModel

class Config(PretrainedConfig):
    model_type = "own"

class Model(PreTrainedModel):
    config_class = Config
    _tied_weights_keys = ["head.weight"]
    def __init__(self, config):
        super().__init__(config)
        self.words = torch.nn.Embedding(10, 8)
        self.head = torch.nn.Linear(8, 10, bias=False)
        self.register_buffer("steps", torch.arange(4.0), persistent=False)
        self.post_init()
    def get_input_embeddings(self):
        return self.words
    def get_output_embeddings(self):
        return self.head

with tempfile.TemporaryDirectory() as folder:
    Model(Config(tie_word_embeddings=True)).save_pretrained(folder)
    model = Model.from_pretrained(folder)
print(json.dumps([model.steps.tolist(), model.head.weight is model.words.weight]))
"""


@pytest.mark.parametrize("release", ["5.2.0", "5.24.0"])
def test_its_buffer_has_the_value_of_the_constructor(release, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    done = run_script(script, transformers=release, flash_attn=None).require()
    assert json.loads(done.stdout.splitlines()[-1]) == [[0.0, 1.0, 2.0, 3.0], True]
