"""A file of weights that names no format cannot be loaded.

Symptom   ``AttributeError: 'NoneType' object has no attribute 'get'`` from ``from_pretrained`` for files that FSDP of
          accelerate 0.34 and later, mlx or ``safetensors.torch.save_file`` have written.
Cause     The release reads the format from the metadata of a safetensors file, which may have none.
Releases  4.36.0 to 4.47.1
Upstream  transformers#33400 (fixed in 4.48.0)
Here      A file without metadata is read as one of PyTorch, as in 4.48.0. A program that handles the AttributeError
          gets it.
"""

from __future__ import annotations

import sys
from typing import Optional

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Loading safetensors without metadata raises: 'NoneType' object has no attribute 'get'",
    kind="loading",
    upstream=("transformers#33400", "LlamaFactory#6803", "safetensors#549"),
    fixed_in="4.48.0",
    errors=("AttributeError: 'NoneType' object has no attribute 'get'",),
    everyone="only for files without metadata, which these releases cannot read: the new code tests it",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", ">=4.36.0,<=4.47.1"),
    ("transformers.modeling_utils:load_state_dict", ">=4.36.0,<=4.47.1"),
    old="metadata = f.metadata()",
    new="""
        metadata = f.metadata()
        if metadata is None:
            from hotfix.loading.safetensors_metadata_none import assumed
            metadata = assumed()
        """,
    unless=("metadata is None", "metadata is not None"),
)


def assumed() -> Optional[dict[str, str]]:
    """The metadata of a file without any; None where the program handles the release's error."""
    return None if scope.is_handled(FIX.id, AttributeError, sys._getframe(1)) else {"format": "pt"}
