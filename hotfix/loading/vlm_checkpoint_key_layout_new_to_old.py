"""Weights of a model of text and pictures stand under names of a later release, and are made anew at random.

Symptom   Silent but for "Some weights of … were not initialized from the model checkpoint": LLaVA that 5.x has saved
          loads in 4.x with a vision tower of random weights; what FSDP and DeepSpeed have saved under 4.52 and later
          (`model.language_model.…`) loads in 4.50 and 4.51 with nothing but random weights.
Cause     The modules of these models were put together otherwise in 4.52.1; 5.x has dropped the module `vision_model`
          inside of the vision towers of CLIP and SigLIP, and writes the new names.
Releases  4.50.0 to 4.57.6; older ones have no single place where names are looked up
Upstream  vllm#19054, Qwen3-VL#1763, sglang#19850 (4.52.1 reads the layout of before; nothing reads that of later)
Here      A name that the model does not have, and that is one of its own by exactly one of the known changes, is that
          one, if the file has not got it anyway. Names alone are changed, before any tensor is read. All weights are
          those of the file.
"""

from __future__ import annotations

import logging
from typing import Any

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import carefully
from hotfix.loading.weight_forms import renamed

FIX = Fix(
    id="vlm-checkpoint-key-layout-new-to-old",
    title="Weights of a model of text and pictures stand under names of a later release, and are made anew at random",
    kind="silent",
    upstream=("vllm#19054", "Qwen3-VL#1763", "sglang#19850", "colpali#413"),
    fixed_in="5.0.0",
)


@FIX.converts(
    ("transformers.modeling_utils:PreTrainedModel._get_key_renaming_mapping", ">=4.50.0,<=4.57.6"),
    name="key_renaming_mapping",
    at="return key_renaming_mapping",
    given=("self",),
)
def with_names_of_this_release(names: dict[str, str], model: Any) -> dict[str, str]:
    """For each name in the files the name in the model.

    Args:
        names: as this release has it.
        model: the model that is loaded.
    """

    def convert(names: dict[str, str]) -> dict[str, str]:
        changes = renamed(names, model.state_dict().keys())
        if not changes:
            return names
        first = next(iter(changes))
        sentence = (
            f"{len(changes)} weights of {type(model).__name__} have names of a later release in the file; {first}"
        )
        session.current().log.log(logging.INFO, f"{FIX.id}: {sentence} is {changes[first]} here.")
        return {**names, **changes}

    return carefully(FIX, "the index of the weights", names, convert)
