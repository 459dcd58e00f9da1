"""``AttentionMaskConverter._unmask_unattended`` does not take the mask of the tokens any more.

Symptom   ``TypeError: AttentionMaskConverter._unmask_unattended() got an unexpected keyword argument 'unmasked_value'``
          from a custom attention written before 4.39 (llm2vec).
Cause     The function finds the rows in which nothing is attended to by their values alone.
Releases  4.39.0 to 4.47.1. Later releases lack the form as well, and are not repaired.
Upstream  llm2vec#24 (not put back)
Here      After the TypeError, the rows before the first token of a text get the value, in place, as in 4.38.2.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_NAMES = ("expanded_mask", "attention_mask", "unmasked_value")
_LACKS = "TypeError: …_unmask_unattended() got an unexpected keyword argument"

FIX = Fix(
    title="TypeError: _unmask_unattended() got an unexpected keyword argument 'unmasked_value'",
    kind="removed-api",
    upstream=("llm2vec#24",),
    group="removed-names",
    prefilter="mask",
    errors=(f"{_LACKS} 'unmasked_value'", f"{_LACKS} 'attention_mask'"),
)


@FIX.wraps(
    ("transformers.modeling_attn_mask_utils:AttentionMaskConverter._unmask_unattended", ">=4.39.0,<4.48.0"),
    fingerprint_of=("AttentionMaskConverter._unmask_unattended", "AttentionMaskConverter._make_causal_mask"),
    on_error=(
        f"{_LACKS} …",
        "TypeError: …_unmask_unattended() takes 2 positional arguments but 3 were given",
    ),
)
def by_the_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take the mask of the tokens, and the value."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) != 3 or not kwargs.keys() <= {*_NAMES[len(args) :]}:
            return original(*args, **kwargs)
        given = {**dict(zip(_NAMES, args)), **kwargs}
        return _unmasked(*(given[name] for name in _NAMES))

    return call


def _unmasked(mask: Any, tokens: Any, value: Any) -> Any:
    import torch

    width = tokens.shape[1]
    first = (tokens.cpu() * (width - torch.arange(width))).argmax(dim=1)
    texts, rows = (torch.arange(width) < first[:, None]).nonzero(as_tuple=True)
    if len(texts) and mask.dim() == 4:
        mask[texts, :, rows] = value
    elif len(texts):
        mask[texts, rows] = value
    return mask


@FIX.recognises
def takes_no_tokens(*definitions: ast.AST) -> bool:
    """The first wants the lowest value alone; the second is that of before 4.48.0."""
    if len(definitions) != 2:
        return False
    takes = [argument.arg for argument in definitions[0].args.args]  # type: ignore[attr-defined]
    return "min_dtype" in takes and "is_torchdynamo_compiling" not in ast.unparse(definitions[1])
