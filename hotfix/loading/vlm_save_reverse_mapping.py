"""Vision-language models are saved under names that other programs cannot load.

Symptom   Silent. ``save_pretrained`` of LLaVA, Qwen2-VL, Qwen2.5-VL, Gemma 3 and others writes
          ``model.language_model.…`` where the Hub has ``language_model.model.…`` or ``model.…``. vLLM, llama.cpp and
          transformers before 4.52 do not find the weights, some of them without a warning.
Cause     The replacement for a name is built from the name in the model, so each name replaces itself.
Releases  4.52.1 to 4.52.3
Upstream  transformers#38385, transformers#38489 (fixed in 4.52.4)
Here      The replacement is the name of the Hub. Names and weights in the files are those of 4.52.4. A class of
          your own is saved as before: it is read under the names that it has. So is an adapter of PEFT's, which
          these releases read by the names of the model, and a ``checkpoint-500`` of the Trainer, which resumes from
          it by these names (from 4.52.4 on it then begins with other weights: trainer-checkpoint-keys-not-converted).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="save_pretrained writes model.language_model.* for LLaVA, Qwen2-VL, Gemma 3: vLLM finds no weights",
    kind="silent",
    own=("self",),
    upstream=("transformers#38385", "transformers#38489"),
    fixed_in="4.52.4",
    when=f"import {__name__} as ours; not (ours.has_adapter(self) or ours.is_checkpoint_of_a_trainer(save_directory))",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.save_pretrained", ">=4.52.1,<=4.52.3"),
    old=r"""replacement = re.sub("\\(.*?\\)", "", pattern)""",
    new=r"""replacement = re.sub("\\(.*\\)", "", replacement)""",
)


def has_adapter(model: Any) -> bool:
    """Whether a model has an adapter of PEFT's, which alone is saved, and is read under the names of the model."""
    return getattr(model, "_hf_peft_config_loaded", False) is True


def is_checkpoint_of_a_trainer(folder: Any) -> bool:
    """Whether a folder has the name of those from which a Trainer resumes.

    Args:
        folder: into which a model is saved.
    """
    return re.fullmatch(r"checkpoint-\d+", Path(folder).name) is not None
