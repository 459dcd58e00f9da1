"""Buffers that a custom model computes when it is made are random memory after it was loaded.

Symptom   Silent. A model of remote code, or of a class of your own, has after ``from_pretrained`` rotary frequencies
          (or other buffers with ``persistent=False``) of 1e-45, NaN or whatever the memory held; logits are NaN or
          subtly wrong.
Cause     Models are made on the meta device, where nothing is computed; buffers that are in no checkpoint get memory
          afterwards, and values only where ``_init_weights`` knows them, as it does in the library's own models.
Releases  5.0.0 and later
Upstream  transformers#45902, transformers#48892, transformers#48932; not changed: custom models are asked to set such
          buffers in ``_init_weights``. So this is opt-in.
Here      What is no model of the library is made on the CPU, without initialising weights, as under DeepSpeed ZeRO-3,
          and its buffers keep what they were made with, as in 4.57. Memory for the weights is reserved until they are
          loaded, but not written to. The library's own models are made as before.
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
    """The contexts in which a model is made."""

    def get_init_context(cls: Any, *args: Any, **kwargs: Any) -> list[Any]:
        contexts: list[Any] = original(cls, *args, **kwargs)
        if cls.__module__.partition(".")[0] == "transformers":
            return contexts
        import torch

        without_values: Any = import_module("transformers.initialization").no_init_weights
        return [without_values() if isinstance(one, torch.device) else one for one in contexts]

    return get_init_context


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It makes models on the meta device, or gives their buffers memory that holds nothing."""
    if function.name == "get_init_context":
        return occurs('torch.device("meta")', function)
    return function.name == "_move_missing_keys_from_meta_to_device" and occurs(_EMPTY, function)
