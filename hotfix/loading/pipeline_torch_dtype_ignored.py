"""``pipeline`` loads the model in float32, whatever the ``dtype`` argument.

Symptom   Silent. ``pipeline(…, dtype=torch.bfloat16)``, or with ``torch_dtype``, takes twice the memory and more than
          twice the time; results are those of float32.
Cause     Both arguments are read only if there is a ``device_map``.
Releases  4.56.0
Upstream  fixed in 4.56.1
Here      They are read in either case, if the call has one of them, and only for the model: 4.56.1 passes the dtype to
          processors too, which keep it in the files that they save. Equal to 4.56.1 in all else, except for a call with
          another dtype in ``model_kwargs``: 4.56.1 refuses it, here that one still counts. A call without either
          argument loads in float32, as before; 4.56.1 uses the dtype of the checkpoint. So does a call with anything
          that is neither a dtype, nor the name of one, nor "auto"; 4.56.1 raises an error. A class that the program has
          registered, with a ``from_pretrained`` of its own, is called as before.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="pipeline() ignores dtype and torch_dtype unless there is a device_map: models are loaded in float32",
    kind="silent",
    everyone="only for calls with a dtype and no device_map: a from_pretrained of your own is left alone",
    fixed_in="4.56.1",
    prefilter='model_kwargs["dtype"] = dtype',
)

_PIPELINE = "transformers.pipelines:pipeline"
_named: ContextVar[Any] = ContextVar("_named", default=None)
"""The dtype of the call of `pipeline` that has yet to load its model."""


@FIX.wraps((_PIPELINE, "==4.56.0"))
def with_a_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function whose caller names a dtype."""
    names = tuple(inspect.signature(original).parameters)

    def pipeline(*args: Any, **kwargs: Any) -> Any:
        call = {**dict(zip(names, args)), **kwargs}
        before = _named.set(chosen(call) if call.get("device_map") is None else None)
        try:
            return original(*args, **kwargs)
        finally:
            _named.reset(before)

    return pipeline


@FIX.wraps(
    ("transformers.pipelines.base:infer_framework_load_model", "==4.56.0"),
    fingerprint_of=(_PIPELINE,),
    along=(_PIPELINE,),
)
def in_this_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that loads the model, and nothing else."""

    def infer_framework_load_model(
        model: Any, config: Any, model_classes: Any = None, *args: Any, **model_kwargs: Any
    ) -> Any:
        dtype = _named.get()
        _named.set(None)  # a model of the pipeline's own is loaded as before
        if dtype is not None and not is_loaded_by_its_own_code(config, model_classes or {}):
            model_kwargs["dtype"] = dtype
        return original(model, config, model_classes, *args, **model_kwargs)

    return infer_framework_load_model


@FIX.recognises
def is_broken(pipeline: ast.AST) -> bool:
    """Whether the dtype is passed on only if there is a device_map."""
    asks = [
        node for node in ast.walk(pipeline) if isinstance(node, ast.If) and occurs("device_map is not None", node.test)
    ]
    return any(occurs('model_kwargs["dtype"] = dtype', node) for node in asks)


def is_loaded_by_its_own_code(config: Any, classes: Mapping[str, Any]) -> bool:
    """Whether a class that the program has registered has a ``from_pretrained`` of its own, which may say the dtype.

    Args:
        config: of the model, or None.
        classes: of the task, by framework.
    """
    for cls in classes.get("pt") or ():
        registered = getattr(getattr(cls, "_model_mapping", None), "_extra_content", {}).get(type(config), cls)
        for model in registered if isinstance(registered, (tuple, list)) else (registered,):
            if not scope.is_own(FIX.id, getattr(model, "from_pretrained", None)):
                return True
    return False


def chosen(call: Mapping[str, Any]) -> Any:
    """The dtype that a call asks for, or None to leave it to the release.

    Args:
        call: arguments of `pipeline`, by name: those that the caller has given.
    """
    import torch

    model_kwargs = call.get("model_kwargs") or {}
    if "dtype" in model_kwargs or "torch_dtype" in model_kwargs:
        return None  # the next release refuses a second one; a program that runs must not die of its repair
    dtype = call.get("dtype", "auto")
    if dtype == "auto":
        dtype = call.get("torch_dtype") or call.get("dtype")
    if dtype == "auto":
        return dtype
    dtype = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    return dtype if isinstance(dtype, torch.dtype) else None
