"""Layers that no model was made with cannot be called.

Symptom   ``KeyError: None`` from ``ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]``, in code that builds
          ``LlamaDecoderLayer(config, 0)`` or ``CLIPEncoder(config)`` by itself: Amphion's MaskGCT, research code.
Cause     Such a configuration names no attention: ``PreTrainedModel`` chooses it when a model is made.
Releases  4.54.0 to 5.0.0
Upstream  Amphion#466 (fixed in 5.1.0)
Here      The layer uses its own ``eager_attention_forward``, as before 4.54.0 and in 5.1.0, where the program does not
          handle the error. Code that `torch.compile` traces runs uncompiled there.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

_MODELING = "transformers.modeling_utils"

FIX = Fix(
    title="KeyError: None from a layer that is used without a model",
    kind="crash",
    upstream=("Amphion#466",),
    fixed_in="5.1.0",
    everyone="only where no function of attention has the name, and the program does not handle the KeyError",
    errors=("KeyError: None",),
    exempt={
        f"{_MODELING}:AttentionInterface.__getitem__": "before 4.54.0 each configuration names an attention",
        "transformers.integrations.tensor_parallel:ParallelInterface.__getitem__": "it has no functions of attention",
    },
)

FIX.edits(
    ("transformers.utils.generic:GeneralInterface.__getitem__", ">=4.54.0,<=5.0.0"),
    old="return self._global_mapping[key]",
    new=f"""
        if key is None and None not in self._global_mapping:
            from {__name__} import attention_of_caller
            _hotfix_attention = attention_of_caller()
            if _hotfix_attention is not None:
                return _hotfix_attention
        return self._global_mapping[key]
        """,
    fingerprint_of=(
        "GeneralInterface.__getitem__",
        f"{_MODELING}:AttentionInterface",
        f"{_MODELING}:PreTrainedModel.set_attn_implementation",
    ),
)


@FIX.recognises
def is_broken(*definitions: ast.AST) -> bool:
    """Whether the dictionary of attention functions does not say what to use where none is chosen."""
    return not any(getattr(node, "name", "") == "get_interface" for part in definitions for node in ast.walk(part))


def attention_of_caller() -> Any:
    """The attention that a layer has chosen before it looks for another one, or None."""
    frame = sys._getframe(2)
    chosen = frame.f_locals.get("attention_interface")
    if chosen is None or scope.is_handled(FIX.id, KeyError, frame):
        return None
    return chosen
