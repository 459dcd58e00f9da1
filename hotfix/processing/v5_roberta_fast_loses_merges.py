"""`RobertaTokenizerFast` reads the vocabulary of its files, and nothing else.

Symptom   Silent. With a tokenizer.json, text is split into single characters and spaces vanish. With vocab.json and
          merges.txt, ``ValueError: not enough values to unpack (expected 2, got 1)``, an ImportError about protobuf, or
          ``ValueError: Couldn't instantiate the backend tokenizer``.
Cause     The name belongs to a class of 4.x, for which the new way of reading files knows no model: it drops the merges
          and the pre-tokenizer.
Releases  5.0.0 to before 5.17.0; `AutoTokenizer` and `RobertaTokenizer` are right
Upstream  deepchem#4912 (5.17.0 deletes the class; the name means `RobertaTokenizer`)
Here      The class builds the tokenizer that `RobertaTokenizer` builds from the same files. A subclass with a
          constructor, or a model, of its own is left alone, and so is a tokenizer.json that is not RoBERTa's: one
          without merges, or with another pre-tokenizer or post-processor.
"""

from __future__ import annotations

import ast
import json
import os
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="RobertaTokenizerFast splits text into characters, or cannot be made from vocab.json and merges.txt",
    kind="silent",
    upstream=("deepchem#4912",),
    fixed_in="5.17.0",
    everyone="only for this class and subclasses that build nothing themselves, and for files of RoBERTa's kind, which "
    "the release cannot read rightly",
    exempt={
        "transformers.models.*_fast:*.__init__": "4.x reads its files itself",
        **{
            f"transformers.models.{model}.tokenization_{model}_fast:{name}TokenizerFast.__init__": "the same"
            for model, name in (("bloom", "Bloom"), ("gpt2", "GPT2"), ("gpt_neox", "GPTNeoX"), ("qwen2", "Qwen2"))
        },
    },
    errors=(
        "ValueError: not enough values to unpack (expected 2, got 1)",
        "ValueError: Couldn't instantiate the backend tokenizer from one of: …",
    ),
)

_OLD = "transformers.models.roberta.tokenization_roberta_old:RobertaTokenizerFast"
_FILES = ("tokenizer_file", "vocab_file", "merges_file")
_RELEASES = ">=5.0.0,<5.17.0"


@FIX.wraps(
    ("transformers.tokenization_utils_tokenizers:TokenizersBackend.convert_to_native_format", _RELEASES),
    fingerprint_of=(f"{_OLD}.__init__",),
)
def read_whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around what reads the files of a tokenizer."""

    def convert_to_native_format(cls: Any, trust_remote_code: bool = False, **kwargs: Any) -> Any:
        if not _is_old(cls):
            return original(cls, trust_remote_code, **kwargs)
        return _built(kwargs) or original(cls, trust_remote_code, **kwargs)

    return convert_to_native_format


@FIX.wraps((f"{_OLD}.__init__", _RELEASES), on_error=(*FIX.errors, "ImportError: …protobuf…"))
def from_two_files(original: Callable[..., Any]) -> Callable[..., Any]:
    """The constructor, which programs call with the two files."""

    def __init__(self: Any, vocab_file: Any = None, merges_file: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        made = args or kwargs.get("tokenizer_file") or kwargs.get("tokenizer_object") or kwargs.get("vocab")
        if not made and vocab_file and merges_file and _is_old(type(self)):
            kwargs = _built({**kwargs, "vocab_file": vocab_file, "merges_file": merges_file}) or kwargs
        original(self, vocab_file, merges_file, *args, **kwargs)

    return __init__


@FIX.recognises
def is_broken(constructor: ast.AST) -> bool:
    """Whether it is the constructor of the class of 4.x below the backend of 5.x."""
    return occurs("super().__init__(vocab_file, merges_file, tokenizer_file=tokenizer_file, **__WORDS)", constructor)


# ---------------------------------------------------------------------------------------------------------------------


def _is_old(cls: Any) -> bool:
    """Whether a class is the old one, or a subclass that builds nothing itself."""
    for base in cls.__mro__:
        if base.__module__ == _OLD.partition(":")[0]:
            return cls.model is None
        if "__init__" in vars(base):
            return False
    return False


def _built(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the tokenizer of `RobertaTokenizer` in the place of the files; empty if these are missing."""
    files = {name: kwargs[name] for name in _FILES if kwargs.get(name) is not None and os.path.isfile(kwargs[name])}
    if not _is_of_roberta(files["tokenizer_file"]) if "tokenizer_file" in files else len(files) < 2:
        return {}
    from transformers.models.roberta.tokenization_roberta import RobertaTokenizer

    read = RobertaTokenizer.convert_to_native_format(**files)
    settings = {name: kwargs[name] for name in ("add_prefix_space", "trim_offsets") if name in kwargs}
    whole = RobertaTokenizer(**{**read, **settings})
    return {**{name: kwargs[name] for name in kwargs if name not in _FILES}, "tokenizer_object": whole._tokenizer}


def _is_of_roberta(file: str) -> bool:
    """Whether a tokenizer.json has merges, and the pre-tokenizer and post-processor of `RobertaTokenizer`."""
    with open(file, encoding="utf-8") as opened:
        parts = json.load(opened)
    kinds = [(parts.get(name) or {}).get("type") for name in ("model", "pre_tokenizer", "post_processor")]
    kinds[0] = kinds[0] or "BPE"  # files of old releases of tokenizers do not name it, as that of roberta-base
    return kinds == ["BPE", "ByteLevel", "RobertaProcessing"] and bool(parts["model"].get("merges"))
