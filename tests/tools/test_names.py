"""The table of removed names: what a machine decides, and that a program on a release finds wrong rows."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from hotfix.patching import tabled
from tools import names, symbols

OLD = {
    "transformers": "",
    "transformers.utils": "",
    "transformers.utils.import_utils": "",
    "transformers.convert_slow_tokenizer": "",
    "transformers.training_args": "",
    "transformers.training_args_seq2seq": "",
    "transformers.trainer": """
from .config import Config
LIMIT = 3
START_DOCSTRING = '''
a
'''
flag = True
made = dict()
""",
    "transformers.trainer_seq2seq": "",
    "transformers.config": "class Config:\n    size = 1\n",
    "transformers.shim": "from .config import Config\nclass Config(Config):\n    pass\n",
    "transformers.models.one.modeling_one": "class OneExperts:\n    size = 2\n\ndef turn(x):\n    return -x\n",
    "transformers.models.two.modeling_two": "class TwoExperts:\n    size = 2\n",
    "transformers.flash": """
if one():
    from .tokens import split
elif another():
    from .shim import Config as split
""",
    "transformers.tokens": "def split(text):\n    return text.split()\n\ndef lost(a):\n    return a\n",
    "transformers.layers": """
class XAttention:
    pass
class XSdpaAttention(XAttention):
    def f(self):
        pass
""",
}
NEW = {
    **OLD,
    "transformers.trainer": "",
    "transformers.tokens": "",
    "transformers.tokens_legacy": "def split(text):\n    return text.split()\n",
    "transformers.layers": "class XAttention:\n    pass\n",
    "transformers.models.one.modeling_one": "",
    "transformers.models.two.modeling_two": "class TwoExperts:\n    size = 2\n\ndef turn(x):\n    return -x\n",
    "transformers.flash": "",
}
del NEW["transformers.shim"]


def _releases() -> list[names.Release]:
    facts: dict[int, names.Facts] = {}
    releases = []
    for texts in (OLD, NEW):
        numbers = {}
        for module, text in texts.items():
            numbers[module] = len(facts)
            facts[len(facts)] = names.facts_of(text)
        releases.append(names.Release(numbers, facts))
    return releases


def test_the_rules_decide_clear_cases() -> None:
    decided = {f"{row.module}:{row.name}": row.decision for row in names.rows(_releases())}
    assert {name: (row.kind, row.value) for name, row in decided.items()} == {
        "transformers.trainer:Config": ("alias", "transformers.config:Config"),
        "transformers.trainer:LIMIT": ("constant", "3"),
        "transformers.trainer:START_DOCSTRING": ("constant", "''"),
        "transformers.trainer:flag": ("", "made"),
        "transformers.trainer:made": ("", "made"),
        "transformers.shim:Config": ("alias", "transformers.config:Config"),
        "transformers.flash:split": ("", "conditional"),
        "transformers.models.one.modeling_one:OneExperts": ("", "body"),
        "transformers.models.one.modeling_one:turn": ("alias", "transformers.models.two.modeling_two:turn"),
        "transformers.tokens:split": ("alias", "transformers.tokens_legacy:split"),
        "transformers.tokens:lost": ("", "body"),
        "transformers.layers:XSdpaAttention": ("hollow", "XAttention"),
        "transformers:shim": ("", "module"),
    }


def test_a_public_name_that_means_something_else_now_is_no_alias() -> None:
    origin = names.Origin("class", "transformers.quantization", "BitConfig", names.Bound("class", (1, ("Quantizer",))))
    for bases, decision in (
        (("PreTrainedConfig",), ("", "body")),
        (("Quantizer",), ("alias", "transformers.bit:BitConfig")),
    ):
        now = names.Origin("class", "transformers.bit", "BitConfig", names.Bound("class", (2, bases)))
        here: Any = SimpleNamespace(resolve=lambda *_, now=now: now)
        assert names._of_public(here, "BitConfig", origin) == decision


def test_the_table_is_read_as_it_is_written(tmp_path: object) -> None:
    releases, versions = _releases(), [Version("4.50.0"), Version("4.51.3")]
    every = [Version("4.50.0"), Version("4.51.0"), Version("4.51.3")]
    text = names.rendered(versions, releases, names.rows(releases), every)
    path = tmp_path / "removed.txt"  # type: ignore[operator]
    path.write_text(text)
    table = tabled.Removed((4, 51, 0), {}, path)
    assert table.rows("transformers.trainer")["LIMIT"] == tabled.Row("constant", "3")
    assert "transformers.shim!" in table.modules
    assert "transformers.config" not in table.modules
    assert not tabled.Removed((4, 50, 0), {}, path).modules
    asked = ["4.50.0", "4.51.0", "5.0.0"]
    assert tabled.kinds("transformers.tokens", "split", asked, path) == {"4.51.0": "alias", "5.0.0": "alias"}
    assert tabled.kinds("transformers.shim", "", asked, path) == {"4.51.0": "alias", "5.0.0": "alias"}
    assert tabled.kinds("transformers.tokens", "lost", asked, path) == {}


def test_planted_rows_are_found() -> None:
    pytest.importorskip("torch")
    bert = "transformers.models.bert.modeling_bert"
    right = [
        [
            "transformers.modeling_utils",
            "PretrainedConfig",
            "alias",
            "transformers.configuration_utils:PretrainedConfig",
        ],
        [bert, "_CHECKPOINT_FOR_DOC", "constant", "'google-bert/bert-base-uncased'"],
    ]
    wrong = [
        ["transformers.modeling_utils", "ModelOutput", "alias", "transformers.configuration_utils:PretrainedConfig"],
        [bert, "BERT_START_DOCSTRING", "constant", "'text'"],
        [bert, "_NEVER_THERE", "constant", "1"],
        ["transformers.models.bart.modeling_bart", "BartFlashAttention2", "hollow", "BartModel"],
    ]
    rejected = [line.split(": ")[0] for line in names.proved("5.23.0", right + wrong)]
    assert rejected == [f"{module}:{name}" for module, name, *_ in wrong]


def test_a_name_for_which_a_module_answers_is_not_gone() -> None:
    """5.23.0 has ``__getattr__ = deprecate_attr(…)`` in 77 modules; another ``__getattr__`` may answer for anything."""
    answers = (
        "__getattr__ = deprecate_attr(__name__, rename={'OldKwargs': (Kwargs, '6.0')}, remove={'Gone': (1, '6.0')})"
    )
    surface = symbols.Surface(ast.parse(answers))
    assert {"OldKwargs", "Gone"} <= surface.bound.keys()
    assert not surface.is_open
    assert symbols.Surface(ast.parse("__getattr__ = made(__name__)")).is_open
    assert not symbols.Surface(ast.parse("other.__getattr__ = made(__name__)")).is_open
