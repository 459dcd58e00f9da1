"""``DataCollatorForWholeWordMask`` dies of every batch, and is gone later.

Symptom   ``IndexError: too many indices for array: array is 0-dimensional, but 3 were indexed`` from the collator, with
          examples as programs have them (``input_ids``, for Chinese ``chinese_ref``); later ``ImportError: cannot
          import name 'DataCollatorForWholeWordMask' from 'transformers'``: scripts for BERT in Chinese and others.
Cause     5.0.0 finds words by ``offset_mapping``, which no earlier program puts into its examples, and the class became
          a deprecated name of ``DataCollatorForLanguageModeling(whole_word_mask=True)``; 5.20.0 removed it.
Releases  5.0.0 and later
Upstream  not repaired
Here      Examples without ``offset_mapping`` are masked as in 4.57.6: a word is a token and those after it that begin
          with ``##``, also by ``chinese_ref``; a random token takes the place of one in ten. The same seeds give the
          same tokens. Examples with it are masked as in 5.19.0. Tensors only: arrays (``return_tensors="np"``) still
          raise. Building a collator where the class is gone warns, as in 5.19.0.
"""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from hotfix.fix import Fix

_ERROR = "IndexError: too many indices for array: array is 0-dimensional, but 3 were indexed"

FIX = Fix(
    title="IndexError from every batch of DataCollatorForWholeWordMask, which is gone later",
    kind="removed-api",
    group="removed-names",
    errors=(
        _ERROR,
        "ImportError: cannot import name 'DataCollatorForWholeWordMask' from 'transformers'",
        "ImportError: cannot import name 'DataCollatorForWholeWordMask' from 'transformers.data.data_collator'",
        "AttributeError: module transformers has no attribute DataCollatorForWholeWordMask",
    ),
)

_MODULE = "transformers.data.data_collator"
_NAME = "DataCollatorForWholeWordMask"
_OLD_NAME = f"{_NAME} is an old name of DataCollatorForLanguageModeling(whole_word_mask=True)."
MOST = 512
"""No example gets more masks."""


@FIX.wraps(
    (f"{_MODULE}:DataCollatorForLanguageModeling.torch_call", ">=5.0.0,<5.20.0"),
    fingerprint_of=(f"{_MODULE}:{_NAME}",),
    on_error=(_ERROR,),
)
def by_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Find the words by their tokens, in the deprecated class alone."""

    def torch_call(self: Any, examples: Any) -> Any:
        from transformers.data import data_collator

        if isinstance(self, getattr(data_collator, _NAME)):
            return masked(data_collator, self, examples)
        return original(self, examples)

    return torch_call


@FIX.adds_made((f"{_MODULE}:{_NAME}", ">=5.20.0"), exported_by=("transformers",))
def collator(module: Any) -> type:
    """The class, which finds words by offsets or by tokens."""
    base: Any = module.DataCollatorForLanguageModeling

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(_OLD_NAME, FutureWarning, stacklevel=2)
        base.__init__(self, *args, **kwargs)
        vars(self).update(dict.fromkeys(("mlm", "whole_word_mask"), True))

    def torch_call(self: Any, examples: Any) -> Any:
        if isinstance(examples[0], Mapping) and "offset_mapping" in examples[0]:
            return base.torch_call(self, examples)
        if self.seed is not None and (self.generator is None or made_by(self) != os.getpid()):
            self.create_rng("pt")
        return masked(module, self, examples)

    def made_by(self: Any) -> int:
        return getattr(self, "_generator_pid", os.getpid())  # 5.20.0 does not note the process

    doc = f"{base.__name__} that masks whole words."
    return type(_NAME, (base,), {"__init__": made, "torch_call": torch_call, "__module__": _MODULE, "__doc__": doc})


def masked(module: Any, collator: Any, examples: Sequence[Any]) -> dict[str, Any]:
    """A batch in which whole words are masked.

    Args:
        module: that of the collators.
        collator: an object of the class.
        examples: lists of token ids, or mappings with ``input_ids`` and perhaps ``chinese_ref``, the positions of
            tokens that continue a word.

    Returns:
        ``input_ids`` and ``labels``, both (examples, longest), int64; labels are -100 wherever nothing is masked.
    """
    import torch

    tokenizer = collator.tokenizer
    rows = [example if isinstance(example, Mapping) else {"input_ids": example} for example in examples]

    def batch(of: list[Any]) -> Any:
        return module._torch_collate_batch(of, tokenizer, pad_to_multiple_of=collator.pad_to_multiple_of)

    inputs = batch([row["input_ids"] for row in rows])
    chosen = batch([_chosen(collator, row) for row in rows]).bool()
    special = [tokenizer.get_special_tokens_mask(row, already_has_special_tokens=True) for row in inputs.tolist()]
    chosen &= ~torch.tensor(special, dtype=torch.bool)
    if tokenizer.pad_token is not None:
        chosen &= inputs != tokenizer.pad_token_id
    labels = inputs.masked_fill(~chosen, -100)

    def drawn(share: float) -> Any:
        return torch.bernoulli(torch.full(inputs.shape, share), generator=collator.generator).bool()

    hidden = chosen & drawn(collator.mask_replace_prob)
    inputs = inputs.masked_fill(hidden, tokenizer.convert_tokens_to_ids(tokenizer.mask_token))
    if collator.mask_replace_prob < 1 and collator.random_replace_prob > 0:
        others = chosen & drawn(collator.random_replace_prob / (1 - collator.mask_replace_prob)) & ~hidden
        anything = torch.randint(len(tokenizer), inputs.shape, dtype=torch.int64, generator=collator.generator)
        inputs = torch.where(others, anything, inputs)
    return {"input_ids": inputs, "labels": labels}


def _chosen(collator: Any, row: Mapping[str, Any]) -> list[int]:
    """1 for each token of the words to mask, 0 for the others."""
    ids = [*map(int, row["input_ids"])]
    continued = {*map(int, row.get("chinese_ref", ()))}
    words: list[list[int]] = []
    for at, token in enumerate(map(collator.tokenizer._convert_id_to_token, ids)):
        if at not in continued and token in ("[CLS]", "[SEP]"):
            continue
        if words and (at in continued or token.startswith("##")):
            words[-1].append(at)
        else:
            words.append([at])
    left = min(MOST, max(1, round(len(ids) * collator.mlm_probability)))
    marks = [0] * len(ids)
    for word in _shuffled(collator, words):
        if len(word) <= left:
            left -= len(word)
            for at in word:
                marks[at] = 1
    return marks


def _shuffled(collator: Any, words: list[list[int]]) -> list[list[int]]:
    """The words in an order of chance, by the collator's seed or by Python's."""
    if collator.seed is None:
        random.shuffle(words)
        return words
    import torch

    order = torch.randperm(len(words), generator=collator.generator)
    return [words[at] for at in order]


@FIX.recognises
def leaves_it_to_another(definition: ast.AST) -> bool:
    """The class that only sets an option of ``DataCollatorForLanguageModeling``."""
    text = ast.unparse(definition)
    return isinstance(definition, ast.ClassDef) and "whole_word_mask = True" in text and "torch_call" not in text
