"""The commands get their data from the fixes; no command keeps its own list of fixes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from packaging.version import Version

import hotfix.checkpoints
from hotfix import commands, session
from hotfix.commands import bugs
from hotfix.commands.scan_code import missing

COMMANDS = Path(commands.__file__).parent


def ids_in(file):
    """The ids of known bugs that occur as a string in a module."""
    known = {*bugs.known(), *session.current().catalogue.entries}
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in known}


def test_no_command_has_the_id_of_a_fix_in_it():
    named = {str(file.relative_to(COMMANDS)): ids_in(file) for file in COMMANDS.rglob("*.py")}
    assert len(named) > 20
    assert not {file: ids for file, ids in named.items() if ids}


def test_a_command_that_names_a_fix_is_noticed(tmp_path):
    (tmp_path / "command.py").write_text('FIXES = {"flash-rotary-dtype": 1}\n')
    assert ids_in(tmp_path / "command.py") == {"flash-rotary-dtype"}


def test_every_rule_for_checkpoints_is_that_of_a_fix():
    rules = hotfix.checkpoints.by_fix()
    assert len(rules) >= 15
    assert rules.keys() <= session.current().catalogue.entries.keys()


@pytest.mark.parametrize(
    ("argument", "fix"),
    [
        (
            "transformers.training_args:TrainingArguments(evaluation_strategy=)",
            "training-args-evaluation-strategy-removed",
        ),
        ("transformers.training_args:TrainingArguments(eval_strategy=)", "training-args-eval-strategy-missing"),
        ("transformers.trainer_seq2seq:Seq2SeqTrainer(tokenizer=)", "trainer-tokenizer-kwarg-removed"),
        ("transformers.trainer:Trainer(processing_class=)", "trainer-processing-class-missing"),
        ("transformers.trainer:Trainer(model=)", None),
    ],
)
def test_the_fix_for_an_argument_is_the_one_that_declares_its_error(argument, fix):
    bug = missing._refusing(argument)
    assert (bug and bug.id) == fix


def test_a_rule_applies_to_the_releases_with_the_bug_and_to_builds_of_them():
    from hotfix.commands.checkpoints import checkpoint

    last = max(version for version in bugs.examined() if version < Version("5.0.0"))
    assert checkpoint._may_have("tokenizer-class-tokenizersbackend", last)
    assert checkpoint._may_have("tokenizer-class-tokenizersbackend", Version(f"{last.major}.{last.minor}.99"))
    assert not checkpoint._may_have("tokenizer-class-tokenizersbackend", Version("5.1.0"))
