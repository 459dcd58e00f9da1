"""Pipelines in a process that finds TensorFlow and Keras 3: folders with their names, as an installation has them."""

from __future__ import annotations

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

TENSORFLOW = """
__version__ = "2.16.1"
class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})
    def __call__(cls, *args, **kwargs):
        return args[0] if args and callable(args[0]) else Anything(cls.__name__, (), {})
class Tensor:
    pass
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything(name, (), {})
"""
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


@pytest.fixture
def runs(tmp_path):
    """Run a body on a release, with hotfix or without."""
    stubs = tmp_path / "stubs"
    for name, version, text in (("tensorflow", "2.16.1", TENSORFLOW), ("keras", "3.5.0", '__version__ = "3.5.0"')):
        (stubs / name).mkdir(parents=True)
        (stubs / name / "__init__.py").write_text(text)
        (stubs / f"{name}-{version}.dist-info").mkdir()
        (stubs / f"{name}-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )

    def run(body, release, armed):
        program = tmp_path / "program.py"
        first = "import hotfix.auto" if armed else ""
        program.write_text(PROGRAM.format(stubs=str(stubs), first=first, body=body))
        return run_script(program, transformers=release, flash_attn=None)

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
