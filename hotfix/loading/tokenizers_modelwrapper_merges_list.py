"""Exception: data did not match any variant of untagged enum ModelWrapper.

Symptom   A tokenizer whose tokenizer.json was written by tokenizers 0.20 or later raises this where an old transformers
          pins tokenizers below 0.20.
Cause     tokenizers 0.20 writes the merges of a BPE as pairs; before, they were words with a space between them.
Releases  4.36.0 to 4.44.2 with tokenizers<0.20
Upstream  ktransformers#433, open-instruct#738, LLaMA-Factory#5592 (transformers 4.45.0 asks for tokenizers 0.20)
Here      If the file cannot be read and its merges are pairs, it is read with words in their place. A part with a
          space has no such form: an error names it. Any other file that cannot be read raises upstream's error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import report
from hotfix.loading.tokenizer_forms import merges_in_words
from hotfix.patching import scope

FIX = Fix(
    title="Exception: data did not match any variant of untagged enum ModelWrapper",
    kind="loading",
    errors=("Exception: data did not match any variant of untagged enum …",),
    everyone="only where the file cannot be read: the new code waits for the error",
    needs={"tokenizers": "<0.20"},
    upstream=("ktransformers#433", "open-instruct#738", "transformers#31789", "LLaMA-Factory#5592"),
    fixed_in="4.45.0",
    exempt={
        "transformers.tokenization_utils_tokenizers:TokenizersBackend.__init__": "5.x asks for tokenizers after 0.20",
    },
)

FIX.edits(
    ("transformers.tokenization_utils_fast:PreTrainedTokenizerFast.__init__", ">=4.36.0,<=4.44.2"),
    old="fast_tokenizer = TokenizerFast.from_file(fast_tokenizer_file)",
    new="""
        from hotfix.loading.tokenizers_modelwrapper_merges_list import read_tokenizer
        fast_tokenizer = read_tokenizer(TokenizerFast, fast_tokenizer_file)
    """,
    unless="convert_slow_tokenizer(self, from_tiktoken=True)",  # came with the release that asks for tokenizers 0.20
)


def read_tokenizer(cls: Any, path: str) -> Any:
    """Read a tokenizer from a file, with its merges in either form.

    Args:
        cls: `tokenizers.Tokenizer`.
        path: of tokenizer.json.

    Raises:
        Unwritable: a merge has no form that these tokenizers can read.
    """
    try:
        return cls.from_file(path)
    except Exception as error:  # tokenizers raises no class of its own
        if not scope.is_declared(error, FIX.id, FIX.errors):
            raise
        content, findings = merges_in_words(json.loads(Path(path).read_text(encoding="utf-8")))
        if not findings:
            raise
        report(FIX, str(path), findings)
        return cls.from_str(json.dumps(content, ensure_ascii=False))
