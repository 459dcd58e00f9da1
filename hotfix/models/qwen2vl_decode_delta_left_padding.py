"""Qwen2-VL and Qwen2.5-VL generate wrong text for left-padded prompts.

Symptom   Silent. In a batch, all prompts but the longest are continued with other tokens than alone, with and without
          images. Benchmarks that generate in batches lose accuracy.
Cause     From the second token on, the position is the column of a token plus ``rope_deltas``, which subtract the
          padding. They are added to positions from which the padding was already subtracted.
Releases  4.54.0 to 4.56.2
Upstream  transformers#40490 (fixed in 4.57.0)
Here      The padding on the left is added to the positions first. Bitwise equal to 4.57.1, except behind padding in the
          middle of a row, as between answers of different lengths and a next turn: it is not counted, as in the
          release, and as in the same row without it. The deltas of a custom ``get_rope_index``, which may count without
          the padding, are added as before, and so are those of a subclass that corrects the prepared positions, and
          those that the program has changed since the prompt.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from hotfix.fix import Fix
from hotfix.patching import compiling, scope

FIX = Fix(
    title="Qwen2-VL, Qwen2.5-VL: batched generation with left padding gives wrong text",
    kind="silent",
    upstream=("transformers#40136", "transformers#40490"),
    fixed_in="4.57.0",
    prefilter="delta = self.model.rope_deltas",
)

_PREPARE = "ForConditionalGeneration.prepare_inputs_for_generation"

FIX.edits(
    (f"transformers.models.qwen2_vl.modeling_qwen2_vl:Qwen2VL{_PREPARE}", ">=4.54.0,<=4.56.2"),
    (f"transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VL{_PREPARE}", ">=4.54.0,<=4.56.2"),
    old=("self.model.rope_deltas = rope_deltas", "position_ids = model_inputs['position_ids'][None, ...]"),
    new=(
        f"""
        import {__name__} as _own
        self.model.rope_deltas = rope_deltas
        _own.remember(self.model, rope_deltas)
        """,
        f"""
        import {__name__} as _own
        position_ids = model_inputs['position_ids']
        if _own.are_as_counted(self.model):
            position_ids = position_ids + (attention_mask.cumsum(-1) == 0).sum(-1, keepdim=True)
        position_ids = position_ids[None, ...]
        """,
    ),
    when=f"import {__name__} as _own; _own.is_last_word(self)",
    own=("self.model.get_rope_index",),
)

_counted: dict[int, tuple[Any, Any, Any]] = {}  # by identity: a class of your own may have no hash


def remember(model: Any, deltas: Any) -> None:
    """Remember the ``rope_deltas`` that were counted for a prompt.

    Args:
        model: the model that holds them.
        deltas: a tensor.
    """
    if not compiling.is_compiling():
        key = id(model)
        _counted[key] = ref(model, lambda _: _counted.pop(key, None)), ref(deltas), _state(deltas)


def are_as_counted(model: Any) -> bool:
    """Whether the program has not changed the ``rope_deltas`` of a model since they were counted for a prompt."""
    if compiling.is_compiling() or id(model) not in _counted:
        return True
    _, counted, state = _counted[id(model)]
    deltas = model.rope_deltas
    if counted() is deltas and _state(deltas) == state:
        return True
    return scope.leave_alone(FIX.id, "rope_deltas are your own")


def _state(tensor: Any) -> Any:
    """A value that changes with a tensor's numbers; tensors of `torch.inference_mode` do not count their changes."""
    return tensor.tolist() if tensor.is_inference() else tensor._version


def is_last_word(model: Any) -> bool:
    """Whether the library's method prepares positions, and no override corrects them afterwards.

    An override that does not name positions passes them on.

    Args:
        model: the model that generates.
    """
    for holder in (model, *type(model).__mro__):
        override = vars(holder).get("prepare_inputs_for_generation")
        if override is None:
            continue
        if not scope._reason(override, "", "transformers"):
            return True
        if "position_ids" in getattr(getattr(override, "__code__", None), "co_consts", ("position_ids",)):
            return scope.leave_alone(FIX.id, f"{getattr(override, '__qualname__', override)} sets positions")
    return True
