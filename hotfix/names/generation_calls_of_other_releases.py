"""Private methods of generation, called as in another release.

Symptom   ``TypeError: GenerationMixin._get_initial_cache_position() takes 3 positional arguments but 4 were given``
          from a ``_sample`` for 4.52 and later (MOSS-TTSD); ``TypeError: isin() received an invalid combination of
          arguments - got (test_elements=int, …``, and since 4.45.0 that a number has no ``device``, from a ``generate``
          of one's own of before 4.41 (XTTS).
Cause     The first wants the tokens in place of their length and device. The second wants the ids of the padding and of
          the end as tensors, where it took numbers.
Releases  4.46.1 to 4.51.3; 4.41.0 to 4.46.3
Upstream  MOSS-TTSD#10, epub2tts#243 (not put back)
Here      After the error, the positions are counted from a length and a device, and kept if the arguments have them, as
          in 4.57.6. Numbers become tensors; the mask is that of 4.40.2. For `_get_initial_cache_position` with tokens
          in later releases see `calls-of-other-releases`.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_MIXIN = "transformers.generation.utils:GenerationMixin"
_TAKES = "takes 3 positional arguments but 4 were given"

FIX = Fix(
    title=f"TypeError: GenerationMixin._get_initial_cache_position() {_TAKES}",
    kind="removed-api",
    upstream=("MOSS-TTSD#10", "epub2tts#243"),
    group="removed-names",
    prefilter="torch.ones",
    errors=(
        f"TypeError: …_get_initial_cache_position() {_TAKES}",
        "TypeError: isin() received an invalid combination of arguments - got (test_elements=int, elements=Tensor, …",
    ),
)


@FIX.wraps(
    (f"{_MIXIN}._get_initial_cache_position", ">=4.46.1,<4.52.0"),
    on_error=(f"TypeError: …_get_initial_cache_position() {_TAKES}",),
)
def of_a_length(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take a length and a device for the tokens."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != 3 or not isinstance(args[0], int) or not isinstance(args[2], dict):
            return original(self, *args, **kwargs)
        length, device, inputs = args
        if inputs.get("cache_position") is not None:
            return inputs
        import torch

        return original(self, torch.empty(1, length, dtype=torch.int64, device=device), inputs)

    return call


@FIX.wraps(
    (f"{_MIXIN}._prepare_attention_mask_for_generation", ">=4.41.0,<4.47.0"),
    on_error=(
        "TypeError: isin() received an invalid combination of arguments …",
        "AttributeError: 'int' object has no attribute 'device'",
        "AttributeError: 'list' object has no attribute 'device'",
    ),
)
def of_numbers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take the numbers of the padding and of the end."""

    def call(self: Any, inputs: Any, pad_token_id: Any, eos_token_id: Any) -> Any:
        import torch

        def tensor(ids: Any) -> Any:
            is_number = isinstance(ids, int) or (isinstance(ids, list) and all(isinstance(each, int) for each in ids))
            return torch.tensor(ids, dtype=torch.int64, device=inputs.device) if is_number else ids

        return original(self, inputs, tensor(pad_token_id), tensor(eos_token_id))

    return call


@FIX.recognises
def lacks_the_other_form(function: ast.AST) -> bool:
    """One of the two, with the arguments of these releases alone."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = [argument.arg for argument in function.args.args]
    if function.name == "_prepare_attention_mask_for_generation":
        return "pad_token_id" in names and "test_elements" in ast.unparse(function)
    # 4.46.1 and later look at the embeddings of a decoder as 4.52.1 does
    is_positions = function.name == "_get_initial_cache_position" and "input_ids" in names
    return is_positions and "decoder_inputs_embeds" in ast.unparse(function)
