"""Names that are gone, in functions of the program that datasets, click, typer and the Trainer call."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

TOKENIZER = """
    import sys
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    words = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
    def with_labels(row):
        with tokenizer.as_target_tokenizer():
            return {"labels": tokenizer(row["text"])["input_ids"]}
"""
MAPS = """
    from datasets import Dataset
    data = Dataset.from_dict({"text": ["a b", "b", "c"]})
    print("batched", list(data.map(with_labels, batched=True)["labels"]))
    print("rows", list(data.map(with_labels)["labels"]), list(data.filter(lambda row: with_labels(row))["text"]))
    print("processes", list(data.map(with_labels, num_proc=2)["labels"]))
    print("lazy", data.with_transform(with_labels)[:2], next(iter(data.to_iterable_dataset().map(with_labels))))
    def rows():
        yield with_labels({"text": "a"})
    print("generated", Dataset.from_generator(rows)[0])
"""
HANDLED = """
    from datasets import Dataset
    data = Dataset.from_dict({"text": ["a b"]})
    def probing(row):
        try:
            return with_labels(row)
        except AttributeError:
            return {"labels": [7]}
    print(data.map(probing)[0])
    def outside():
        try:
            return data.map(with_labels)[0]
        except AttributeError as error:
            return type(error).__name__
    print(outside(), hasattr(tokenizer, "as_target_tokenizer"))
"""
COMMANDS = """
    import click
    import typer
    @click.group()
    def cli():
        pass
    @cli.command()
    @click.option("--text", default="a b")
    def train(text):
        click.echo(with_labels({"text": text}))
    cli(["train"], standalone_mode=False)
    app = typer.Typer()
    @app.command()
    def main(text: str = "b"):
        print(with_labels({"text": text}))
    app([], standalone_mode=False)
    cli(["train"])
"""
STEPS = """
    import torch
    from transformers import Trainer, TrainingArguments
    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(2, 1)
        def forward(self, x, labels=None):
            return {"loss": ((self.line(x)[:, 0] - labels[:, 0]) ** 2).mean()}
    class Mine(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch=num_items_in_batch)
            with tokenizer.as_target_tokenizer():
                print(self.args.past_index)
            return loss
    args = TrainingArguments("out", max_steps=1, use_cpu=True, report_to=[], disable_tqdm=True)
    data = [{"x": torch.ones(2), "labels": torch.ones(1)}] * 2
    Mine(Tiny(), args, train_dataset=data).train()
"""
SETTINGS = {
    "transformers": "5.23.0",
    "flash_attn": None,
    "extras": ["accelerate==1.12.0", "datasets", "pyarrow==19.0.1", "click", "typer"],
}


def _program(text, folder):
    program = folder / "program.py"
    program.write_text(textwrap.dedent(TOKENIZER) + textwrap.dedent(text), encoding="utf-8")
    return program


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", [MAPS, COMMANDS, STEPS], ids=["datasets", "commands", "steps"])
def test_they_are_there_where_the_program_would_end(text, tmp_path):
    program = _program(text, tmp_path)
    stock, armed = (run(program, hotfix=hotfix, **SETTINGS) for hotfix in (False, True))
    assert "as_target_tokenizer" in stock.stderr
    assert stock.returncode
    armed.require()


@pytest.mark.filterwarnings("ignore")
def test_handlers_of_the_program_come_first(tmp_path):
    program = _program(HANDLED, tmp_path)
    stock, armed = (run(program, hotfix=hotfix, **SETTINGS).require() for hotfix in (False, True))
    assert armed.stdout == stock.stdout
