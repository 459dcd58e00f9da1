"""Buffers that a custom model computes in its constructor are uninitialized after from_pretrained.

Symptom   Silent. After ``from_pretrained``, a model of remote code or of a class of your own has rotary frequencies (or
          other buffers with ``persistent=False``) of 1e-45, NaN or other uninitialized memory; logits are NaN or subtly
          wrong.
Cause     Models are built on the meta device, where nothing is computed. Buffers that no checkpoint has are allocated
          afterwards, and get values only from ``_init_weights``, as in the library's own models.
Releases  5.0.0 and later
Upstream  transformers#45902, transformers#48892, transformers#48932; not changed: custom models should set such
          buffers in ``_init_weights``. So this is opt-in.
Here      A custom model is built on the CPU, without initializing weights, as under DeepSpeed ZeRO-3, and its buffers
          keep their values, as in 4.57. Memory for the weights is allocated, but not written to, until they are loaded.
          The library's own models are built as before.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

RELEASES = ">=5.0.0,<=5.23.0"
FIX = Fix(
    title="Non-persistent buffers of custom models are random memory after from_pretrained",
    kind="silent",
    upstream=("transformers#45902", "transformers#48892", "transformers#48932"),
    optin="it changes how models are built, also those that load",
    group="removed-names",  # code that runs again because of them has to compute the same
    prefilter="is_deepspeed_zero3_enabled",
    errors=("RuntimeError: Tensor.item() cannot be called on meta tensors",),
)

_EMPTY = "value = torch.empty_like(buffer, device=buffer_device)"

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._move_missing_keys_from_meta_to_device", RELEASES),
    old=_EMPTY,
    new=f"""
        if buffer.device.type == "meta":
            {_EMPTY}
        else:
            value = buffer.to(buffer_device)
        """,
)


@FIX.wraps(("transformers.modeling_utils:PreTrainedModel.get_init_context", RELEASES))
def on_the_cpu(original: Any) -> Any:
    """Build custom models without the meta device."""

    def get_init_context(cls: Any, *args: Any, **kwargs: Any) -> list[Any]:
        contexts: list[Any] = original(cls, *args, **kwargs)
        if cls.__module__.partition(".")[0] == "transformers":
            return contexts
        import torch

        without_values: Any = import_module("transformers.initialization").no_init_weights
        return [without_values() if isinstance(context, torch.device) else context for context in contexts]

    return get_init_context


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Whether it builds models on the meta device, or leaves their buffers uninitialized."""
    if function.name == "get_init_context":
        return occurs('torch.device("meta")', function)
    return function.name == "_move_missing_keys_from_meta_to_device" and occurs(_EMPTY, function)
