"""Classes of attention for one implementation are gone: those for FlashAttention 2 and for sdpa, of 70 models.

Symptom   ``ImportError: cannot import name 'WhisperSdpaAttention' from 'transformers.models.whisper.modeling_whisper'``
Cause     There is one class for all kinds of attention.
Upstream  not put back
Here      Classes that inherit from that one, for imports, `isinstance` and tables of classes. Building one raises a
          sentence, and so does setting a method of one: no layer of the release is one. The rows are in
          ``removed.txt``, written by ``tools/names.py`` from the wheels; see `hotfix.patching.tabled`. The target
          stands for them: it is one of them, and its case is run as every fix's.
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
