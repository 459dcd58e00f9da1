"""The attention classes for FlashAttention-2 and for sdpa are gone, of 70 models.

Symptom   ``ImportError: cannot import name 'WhisperSdpaAttention' from 'transformers.models.whisper.modeling_whisper'``
Cause     One class serves every attention implementation.
Upstream  not put back
Here      Classes that inherit from that one, for imports, `isinstance` and tables of classes. No layer of the release
          is an instance, so building one or setting a method of one is an error with an explanation. The rows are in
          ``removed.txt``, written by ``tools/names.py`` from the wheels; see `hotfix.patching.tabled`. The target is
          one of the rows, and its case runs like that of any fix.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.attention_classes import attention_class

FIX = Fix(
    title="ImportError: cannot import name 'WhisperSdpaAttention' from 'transformers.models.whisper.modeling_whisper'",
    kind="removed-api",
    group="removed-names",
)

WHISPER = "transformers.models.whisper.modeling_whisper"


@FIX.adds_made((f"{WHISPER}:WhisperSdpaAttention", ">=4.53.0"), only_needed=True)
def whisper_sdpa_attention(modeling_whisper: Any) -> type:
    """The class for sdpa."""
    instead = "WhisperAttention is the class for every kind of attention."
    return attention_class("WhisperSdpaAttention", WHISPER, modeling_whisper.WhisperAttention, instead)
