"""Vision-language models are saved under names that no other program knows.

Symptom   Silent. What ``save_pretrained`` writes of LLaVA, Qwen2-VL, Qwen2.5-VL, Gemma 3 and others has
          ``model.language_model.…`` where the Hub has ``language_model.model.…`` or ``model.…``: vLLM, llama.cpp and
          transformers before 4.52 do not find the weights, some of them without a word.
Cause     The names of the Hub are to be made of those of the model, and the piece that is put in is made of the name
          that is looked for: each takes the place of itself.
Releases  4.52.1 to 4.52.3
Upstream  transformers#38385, transformers#38489 (fixed in 4.52.4)
Here      The name of the Hub is put in. The files have the names and the weights that 4.52.4 gives them. A class of
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
    title="Vision-language models are saved under names that other programs cannot load",
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
