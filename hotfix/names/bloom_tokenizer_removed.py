"""``BloomTokenizerFast`` is gone, though the tokenizer of Bloom is still read.

Symptom   ``ImportError: cannot import name 'BloomTokenizerFast' from 'transformers'`` from scripts that name the
          tokenizers of several models, such as the library's own ``run_generation.py`` before 5.0.0.
Cause     5.0.0 removed the class; ``AutoTokenizer`` reads files that name it with ``TokenizersBackend``.
Releases  5.0.0 and later
Upstream  not put back
Here      A subclass of `PreTrainedTokenizerFast` with the special tokens and ``add_prefix_space`` of 4.57.6, and its
          module. Importing from the module warns.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.modules import given_back

FIX = Fix(
    title="ImportError: cannot import name 'BloomTokenizerFast' from 'transformers'",
    kind="removed-api",
    group="removed-names",
)

_PACKAGE = "transformers.models.bloom"
_LEAF = "tokenization_bloom_fast"
_NAME = "BloomTokenizerFast"
_TOKENS = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


@FIX.adds_modules((f"{_PACKAGE}:{_LEAF}", ">=5.0.0"))
def module(package: Any) -> ModuleType:
    """The module with the class; it imports nothing before first use."""
    return given_back(f"{_PACKAGE}.{_LEAF}", [_NAME], "transformers (PreTrainedTokenizerFast)", _make)


FIX.exports((f"transformers:{_NAME}", ">=5.0.0"), leaf=f"{_PACKAGE}.{_LEAF}")


def _make(name: str) -> type:
    base: Any = import_module("transformers").PreTrainedTokenizerFast

    def made(
        self: Any, vocab_file: Any = None, merges_file: Any = None, tokenizer_file: Any = None, **given: Any
    ) -> None:
        with_space = given.setdefault("add_prefix_space", False)
        files = {"vocab_file": vocab_file, "merges_file": merges_file, "tokenizer_file": tokenizer_file}
        base.__init__(self, **files, **{**_TOKENS, "clean_up_tokenization_spaces": False, **given})
        for part in ("pre_tokenizer", "decoder"):
            if with_space:
                setattr(self._tokenizer, part, _with_space(getattr(self._tokenizer, part)))
        self.add_prefix_space = with_space

    def as_in_the_file(cls: Any, /, **given: Any) -> Any:
        return given  # a class with a constructor of its own would be built of vocabulary and merges alone

    members = {
        "__init__": made,
        "convert_to_native_format": classmethod(as_in_the_file),
        "__module__": f"{_PACKAGE}.{_LEAF}",
        "__doc__": base.__doc__,
        "model_input_names": ["input_ids", "attention_mask"],
        "vocab_files_names": {"tokenizer_file": "tokenizer.json"},
        "slow_tokenizer_class": None,
    }
    kind: type = type(base)(name, (base,), members)
    return kind


def _with_space(part: Any) -> Any:
    """A part of a tokenizer that puts a space in front of the first word."""
    import pickle

    return pickle.loads(pickle.dumps(part).replace(b'"add_prefix_space":false', b'"add_prefix_space": true'))
