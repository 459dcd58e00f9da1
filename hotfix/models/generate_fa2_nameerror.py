"""`generate` cannot run under flash attention.

Symptom   ``NameError: name 'prepare_fa_kwargs_from_position_ids' is not defined`` in 4.55.1. In 4.55.2 `generate` runs,
          and is silently wrong if it continues from a cache with more than one new token, as in the second turn of a
          conversation.
Cause     The preparation of each step computes the lengths of the sequences once for all layers, with a function that
          its module does not import in 4.55.1. The function treats every step with several tokens as the first one.
Releases  4.55.1, 4.55.2
Upstream  transformers#40029 (imported in 4.55.2), transformers#40161 (the computation is gone in 4.55.3)
Here      The computation is skipped where the name is missing, and where several tokens follow a cache and the
          library's own attention runs. A custom attention that reads the lengths gets them. Bitwise equal to 4.55.3.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.models import _attention

FIX = Fix(
    title="generate() under flash attention raises NameError: prepare_fa_kwargs_from_position_ids is not defined",
    kind="crash",
    upstream=("transformers#40029", "transformers#40161"),
    fixed_in="4.55.3",
    errors=("NameError: name 'prepare_fa_kwargs_from_position_ids' is not defined",),
    everyone="only where the name is missing, or where the lengths are wrong: the new code tests it",
)

_PREPARE = "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"
_LENGTHS = """
if {}:
    __LENGTHS = prepare_fa_kwargs_from_position_ids(*__POSITIONS, **__OPTIONS)
    model_inputs.update(cu_seq_lens_q=__Q, cu_seq_lens_k=__K, max_length_q=__MAX_Q, max_length_k=__MAX_K)
"""
_UNDER_FLASH = "'flash' in self.config._attn_implementation and __SUPPORTED"
# In 4.55.1 the name is missing, unless the program has added it.
_CAN = "'prepare_fa_kwargs_from_position_ids' in globals()"
_AND_RIGHT = f"{_UNDER_FLASH} and {_CAN} and are_left(self, model_inputs.get('position_ids'), attention_mask)"

FIX.edits(
    (_PREPARE, ">=4.55.1,<=4.55.2"),
    old=_LENGTHS.format(_UNDER_FLASH),
    new=f"from {__name__} import are_left{_LENGTHS.format(_AND_RIGHT)}",
)


def are_left(model: Any, positions: Any, mask: Any) -> bool:
    """Whether `generate` computes lengths: they are right, or an attention that is not the library's reads them.

    Args:
        model: the model that generates.
        positions: of the tokens of this step; None where the model takes none, which stops the release.
        mask: attention mask of all tokens.
    """
    import transformers.modeling_utils as modeling

    if _attention.are_all_tokens(positions, mask):
        return True
    attentions = modeling.ALL_ATTENTION_FUNCTIONS
    return not _attention.is_flash_of_library(FIX.id, model.config._attn_implementation, attentions)
