"""``pipeline`` loads the model in float32, whatever the ``dtype`` argument.

Symptom   Silent. ``pipeline(…, dtype=torch.bfloat16)``, or with ``torch_dtype``, takes twice the memory and more than
          twice the time; results are those of float32. So does a checkpoint in bfloat16 without either argument.
Cause     Both arguments are read only if there is a ``device_map``.
Releases  4.56.0
Upstream  fixed in 4.56.1
Here      They are read in either case. Equal to 4.56.1, except for a call with another dtype in ``model_kwargs``:
          4.56.1 refuses it, here that one still counts. The caller's ``model_kwargs`` are
          not written to. A class that the program has registered, with a ``from_pretrained`` of its own, is called as
          before, and so is a model for a pipeline class of your own where the caller names no dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="pipeline() ignores dtype and torch_dtype unless there is a device_map: models are loaded in float32",
    kind="silent",
    everyone="only for calls without a device_map, whatever they load: a from_pretrained of your own is left alone",
    fixed_in="4.56.1",
    prefilter='model_kwargs["dtype"] = dtype',
)

_AFTER = "model_name = model if isinstance(model, str) else None"

FIX.edits(
    ("transformers.pipelines:pipeline", "==4.56.0"),
    old=_AFTER,
    new=f"""
        from hotfix.loading.pipeline_torch_dtype_ignored import is_loaded_by_its_own_code
        if device_map is None and not is_loaded_by_its_own_code(config, targeted_task):
            from hotfix.loading.pipeline_torch_dtype_ignored import chosen
            dtype = chosen(dtype, kwargs.get("torch_dtype"), model_kwargs, pipeline_class)
            if dtype is not None:
                model_kwargs = {{**model_kwargs, "dtype": dtype}}
        {_AFTER}
        """,
)


@FIX.recognises
def is_broken(pipeline: ast.AST) -> bool:
    """Whether the dtype is passed on only if there is a device_map."""
    asks = [
        node for node in ast.walk(pipeline) if isinstance(node, ast.If) and occurs("device_map is not None", node.test)
    ]
    return any(occurs('model_kwargs["dtype"] = dtype', node) for node in asks)


def is_loaded_by_its_own_code(config: Any, task: Mapping[str, Any]) -> bool:
    """Whether a class that the program has registered has a ``from_pretrained`` of its own, which may say the dtype.

    Args:
        config: of the model, or None.
        task: the classes of the task, by framework.
    """
    for cls in task.get("pt") or ():
        registered = getattr(getattr(cls, "_model_mapping", None), "_extra_content", {}).get(type(config), cls)
        for model in registered if isinstance(registered, (tuple, list)) else (registered,):
            if not scope.is_own(FIX.id, getattr(model, "from_pretrained", None)):
                return True
    return False


def chosen(dtype: Any, torch_dtype: Any, model_kwargs: Mapping[str, Any], pipeline_class: Any = None) -> Any:
    """The dtype that a model is loaded in, or None to leave it to the release.

    Args:
        dtype: the argument of this name, ``"auto"`` by default.
        torch_dtype: the older argument.
        model_kwargs: arguments of ``from_pretrained``.
        pipeline_class: one of your own, which may make inputs in float32, is given a dtype by the caller alone.
    """
    import torch

    if "dtype" in model_kwargs or "torch_dtype" in model_kwargs:
        return None  # the next release refuses a second one; a program that runs must not die of its repair
    if dtype == "auto" and torch_dtype is not None:
        dtype = torch_dtype
    elif dtype == "auto" and pipeline_class is not None and not _is_of_the_library(pipeline_class):
        return None
    return getattr(torch, dtype, dtype) if isinstance(dtype, str) else dtype


def _is_of_the_library(pipeline_class: type) -> bool:
    if pipeline_class.__module__.partition(".")[0] == "transformers":
        return True
    return scope.leave_alone(FIX.id, f"{pipeline_class.__qualname__} is your own class")
