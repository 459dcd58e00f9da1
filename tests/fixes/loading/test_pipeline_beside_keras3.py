"""The Trainer and pipelines in a process that finds TensorFlow and Keras 3: folders, as an installation has them."""

from __future__ import annotations

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed
PROGRAM = """
import sys, tempfile
sys.path.insert(0, {stubs!r})
{first}
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, pipeline
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({{"a": 0}}, unk_token="a")))
with tempfile.TemporaryDirectory() as folder:
    GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2)).save_pretrained(folder)
    {body}
"""
PLAIN = 'print(type(pipeline("text-generation", model=folder, tokenizer=tokenizer).model).__name__)'
OF_TENSORFLOW = 'pipeline("text-generation", model=folder, tokenizer=tokenizer, framework="tf")'
HANDLED = """
    try:
        pipeline("text-generation", model=folder, tokenizer=tokenizer)
        print("made")
    except (RuntimeError, ValueError):
        print("handled")
"""
TRAINING = """
import sys, tempfile
sys.path.insert(0, {stubs!r})
{first}
{body}
"""
TRAINED = """
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Linear):
    def forward(self, x, labels):
        return {"loss": (super().forward(x) - labels).square().mean()}
torch.manual_seed(0)
model = Model(2, 1)
with tempfile.TemporaryDirectory() as folder:
    settings = TrainingArguments(folder, max_steps=2, per_device_train_batch_size=1, use_cpu=True, report_to=[])
    Trainer(model, settings, train_dataset=[{"x": [1.0, 2.0], "labels": [3.0]}]).train()
print(model.weight.tolist())
"""
OWN_FALLBACK = """
try:
    from transformers import Trainer
    print("Trainer")
except (RuntimeError, ValueError, ImportError):
    print("a loop of its own")
"""
OWN_USE = """
import transformers
transformers.Trainer
try:
    print(transformers.TFPreTrainedModel)
except Exception as error:
    print(type(error).__name__, "Keras 3" in str(error))
"""
ACCELERATE = ["accelerate==1.15.0"]


@pytest.fixture
def runs(tmp_path):
    """Run a body on a release, with hotfix or without."""
    from hotfix.proofs.loading.trainer_tensorflow_beside_keras3 import PACKAGES

    stubs = tmp_path / "stubs"
    for name, (version, text) in PACKAGES.items():
        (stubs / name).mkdir(parents=True)
        (stubs / name / "__init__.py").write_text(text)
        (stubs / f"{name}-{version}.dist-info").mkdir()
        (stubs / f"{name}-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )

    def run(body, release, armed, program=PROGRAM):
        path = tmp_path / "program.py"
        first = "import hotfix.auto" if armed else ""
        path.write_text(program.format(stubs=str(stubs), first=first, body=body))
        return run_script(path, transformers=release, flash_attn=None, extras=ACCELERATE if program == TRAINING else ())

    return run


@pytest.mark.parametrize("release", ["4.44.2", "4.57.6"])
def test_pytorch_runs_the_pipeline(runs, release):
    stock = runs(PLAIN, release, armed=False)
    assert stock.returncode
    assert "Keras 3" in stock.stderr
    assert runs(PLAIN, release, armed=True).require().stdout.split() == ["GPT2LMHeadModel"]


def test_the_error_stays_where_tensorflow_is_wanted(runs):
    result = runs(OF_TENSORFLOW, "4.44.2", armed=True)
    assert result.returncode
    assert "Keras 3" in result.stderr


@pytest.mark.parametrize("armed", [False, True])
def test_a_program_that_handles_the_error_gets_it(runs, armed):
    assert runs(HANDLED, "4.44.2", armed).require().stdout.split() == ["handled"]


@pytest.mark.parametrize("release", ["4.44.2", "4.57.6"])
def test_the_trainer_trains(runs, release):
    stock = runs(TRAINED, release, armed=False, program=TRAINING)
    assert stock.returncode
    assert "Keras 3" in stock.stderr
    without = runs(TRAINED.replace("import torch", "sys.path.pop(0)\nimport torch", 1), release, False, TRAINING)
    armed = runs(TRAINED, release, armed=True, program=TRAINING)
    assert armed.require().stdout.splitlines()[-1] == without.require().stdout.splitlines()[-1]


@pytest.mark.parametrize("release", ["4.44.2", "4.57.6"])
def test_a_program_with_its_own_loop_uses_it(runs, release):
    assert runs(OWN_FALLBACK, release, True, TRAINING).require().stdout.strip() == "a loop of its own"


def test_the_stand_in_is_for_the_library_alone(runs):
    assert runs(OWN_USE, "4.44.2", True, TRAINING).require().stdout.split() == ["RuntimeError", "True"]
