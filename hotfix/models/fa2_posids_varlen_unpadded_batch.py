"""FlashAttention-2 computes garbage for every sample but the first of a batch without padding, and cannot decode.

Symptom   Silent in training and in forwards: in a batch without padding, the attention returns uninitialized memory for
          all samples but the first. With a cache, or with positions that do not start at 0:
          ``RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0. …``. `generate` does not
          crash, and continues every prompt but the first from wrong numbers.
Cause     Every call with position ids and no attention mask counts as packed, with one sequence for each zero in the
          position ids. Position ids that a model makes itself have one row for the whole batch, hence one zero and one
          sequence; those of a later step have none. `generate` computes the lengths itself, and the lengths of the keys
          are one short for all samples but the first.
Releases  4.54.0 to 4.55.0
Upstream  transformers#39474, transformers#39653, transformers#39814, transformers#40002 (fixed in 4.55.1), and for
          `generate` transformers#40029, transformers#40161 (fixed in 4.55.3)
Here      The zeros are counted only where there is a position for each query and key, and every row starts at 0: then
          the release is right. It is right, too, for the prompt of a batch of one behind a static cache, where 4.55.1
          to 4.55.4 are wrong. `generate` computes no lengths, except for a batch of one, where they are right. It still
          computes them for a custom attention with "flash" in its name, for modules of your own that name them,
          and for a copy of the common function. Bitwise equal to 4.55.1 and, for `generate`, to 4.55.3. Packed rows
          stay apart in a batch of several, as in the repaired releases; the three rows of positions of Qwen2-VL do not
          count as packed sequences.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.models import _attention

FIX = Fix(
    title="FlashAttention-2 returns garbage for all samples but the first in a batch without padding",
    kind="silent",
    upstream=(
        "transformers#39474",
        "transformers#39653",
        "transformers#39814",
        "transformers#40002",
        "transformers#40029",
        "transformers#40161",
    ),
    fixed_in="4.55.1, 4.55.3",
    errors=("RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0…",),
    everyone="only where positions cannot be those of packed sequences: the new code tests their shape",
    prefilter="max_length_k",
)

FORWARD = _attention.COMMON
PREPARE = "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"

_BY_POSITIONS = "use_mask = position_ids is not None or __ALL_LENGTHS_ARE_GIVEN"

FIX.edits(
    (FORWARD, ">=4.54.0,<=4.55.0"),
    old=_BY_POSITIONS,
    # A static cache has more keys than the step has queries: for a batch of one, the release uses the first of them.
    # The values come last: with given lengths, or for a batch whose shapes differ, nobody waits for the device.
    new="""
        use_mask = __ALL_LENGTHS_ARE_GIVEN or (
            position_ids is not None
            and (
                query_states.shape[:2] == key_states.shape[:2]
                or (is_causal and query_states.shape[0] == 1 and query_states.shape[1] < key_states.shape[1])
            )
            and position_ids.numel() == query_states.shape[0] * query_states.shape[1]
            and bool((position_ids.reshape(query_states.shape[:2])[:, 0] == 0).all())
        )
    """,
)

# Without the lengths from `generate`, each layer decides by itself, and has to decide rightly: both functions are
# judged.
FIX.edits(
    (PREPARE, ">=4.54.0,<=4.55.0"),
    old="""
        if 'flash' in self.config._attn_implementation and __SUPPORTED:
            *__COMPUTED
            model_inputs.update(cu_seq_lens_q=__Q, cu_seq_lens_k=__K, max_length_q=__MAX_Q, max_length_k=__MAX_K)
    """,
    new=f"""
        from {__name__} import are_left
        if (
            'flash' in self.config._attn_implementation
            and __SUPPORTED
            and are_left(self, model_inputs.get("position_ids"), attention_mask)
        ):
            *__COMPUTED
            model_inputs.update(cu_seq_lens_q=__Q, cu_seq_lens_k=__K, max_length_q=__MAX_Q, max_length_k=__MAX_K)
    """,
    beside=_BY_POSITIONS,
    fingerprint_of=(PREPARE, FORWARD),
)


def are_left(model: Any, positions: Any, mask: Any) -> bool:
    """Whether `generate` computes lengths: they are right, or something other than the repaired function reads them.

    Args:
        model: the model that generates.
        positions: of the tokens of this step; None where the model takes none, which stops the release.
        mask: attention mask of all tokens.
    """
    is_one = getattr(positions, "ndim", 0) == 2 and positions.shape[0] == 1
    if is_one and (_attention.are_all_tokens(positions, mask) or _attention.count_from_zero(positions)):
        return True
    if not _attention.is_repaired_flash(FIX.id, model.config._attn_implementation):
        return True
    return _attention.are_read_in_layers(FIX.id, model, positions)
