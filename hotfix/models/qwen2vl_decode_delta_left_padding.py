"""Generation with Qwen2-VL and Qwen2.5-VL is wrong for every prompt that is padded on the left.

Symptom   Silent. In a batch, all prompts but the longest are continued with other tokens than alone, with and without
          images. Benchmarks that generate in batches lose accuracy.
Cause     From the second token on, the positions are where a token stands in its row plus ``rope_deltas``, which take
          the padding off. They are added to positions from which the padding was taken off before.
Releases  4.54.0 to 4.56.2
Upstream  transformers#40490 (fixed in 4.57.0)
Here      The padding on the left is added to the positions first. Bitwise equal to 4.57.1, except behind padding that
          is in the middle of a row, as where answers of several lengths are followed by a next turn: that is not
          counted, as in the release, and as in the same row without it. A ``get_rope_index`` of the user's own may
          count without the padding: its deltas are added as before. So are deltas where a subclass puts the positions
          right that this method has prepared.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Qwen2-VL and Qwen2.5-VL generate with wrong positions for prompts that are padded on the left",
    kind="silent",
    upstream=("transformers#40136", "transformers#40490"),
    fixed_in="4.57.0",
    prefilter="delta = self.model.rope_deltas",
)

_PREPARE = "ForConditionalGeneration.prepare_inputs_for_generation"

FIX.edits(
    (f"transformers.models.qwen2_vl.modeling_qwen2_vl:Qwen2VL{_PREPARE}", ">=4.54.0,<=4.56.2"),
    (f"transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VL{_PREPARE}", ">=4.54.0,<=4.56.2"),
    old="position_ids = model_inputs['position_ids'][None, ...]",
    new="""
    position_ids = (
        model_inputs['position_ids'] + (attention_mask.cumsum(-1) == 0).sum(-1, keepdim=True)
    )[None, ...]
    """,
    when=f"import {__name__} as _own; _own.is_last_word(self)",
    own=("self.model.get_rope_index",),
)


def is_last_word(model: Any) -> bool:
    """Whether the library's method prepares positions, and no override puts them right afterwards.

    An override that does not name positions passes them on.

    Args:
        model: what generates.
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
