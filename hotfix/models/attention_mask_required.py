"""An attention that is called without a mask raises a TypeError.

Symptom   ``TypeError: Qwen2Attention.forward() missing 1 required positional argument: 'attention_mask'`` from code
          that calls the attention of a layer with hidden states and position embeddings alone, as AutoAWQ does.
Cause     The argument was optional to 4.47.1, and became required.
Releases  4.48.0 and later; in Gemma, Gemma 2, Granite and Llama to 4.57.6
Upstream  AutoAWQ#749, AutoAWQ#731; since 5.0.0 for some models
Here      After the TypeError, the mask is None, as in 4.47.1.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

NOT_REPAIRED = (
    ("arcee", "ArceeAttention"),
    ("aria", "AriaTextAttention"),
    ("bamba", "BambaAttention"),
    ("csm", "CsmAttention"),
    ("dia", "DiaSelfAttention"),
    ("emu3", "Emu3Attention"),
    ("ernie4_5", "Ernie4_5Attention"),
    ("ernie4_5_moe", "Ernie4_5_MoeAttention"),
    ("evolla", "EvollaAttention"),
    ("gemma3", "Gemma3Attention"),
    ("gemma4", "Gemma4TextAttention"),
    ("glm", "GlmAttention"),
    ("glm4", "Glm4Attention"),
    ("helium", "HeliumAttention"),
    ("ministral3", "Ministral3Attention"),
    ("t5gemma", "T5GemmaSelfAttention"),
    ("vaultgemma", "VaultGemmaAttention"),
)

FIX = Fix(
    title="TypeError: Qwen2Attention.forward() missing 1 required positional argument: 'attention_mask'",
    kind="removed-api",
    upstream=("AutoAWQ#749", "AutoAWQ#731"),
    group="removed-names",
    prefilter="position_embeddings",
    errors=tuple(
        f"TypeError: {name}Attention.forward() missing 1 required positional argument: 'attention_mask'"
        for name in ("Gemma", "Gemma2", "Granite", "Llama", "Mistral", "Mixtral", "Phi3", "Qwen2", "Starcoder2")
    ),
    on_error=("TypeError: …forward() missing 1 required positional argument: 'attention_mask'",),
    exempt={
        "transformers.models.*:*": "no release has had the default",
        **{
            f"transformers.models.{folder}.modeling_{folder}:{name}.forward": "rarely called by itself"
            for folder, name in NOT_REPAIRED
        },
    },
)

# The folder of each model: the beginning of the names of its classes, and whether 5.0.0 has put the default back.
MODELS = {
    "gemma": ("Gemma", True),
    "gemma2": ("Gemma2", True),
    "granite": ("Granite", True),
    "llama": ("Llama", True),
    "mistral": ("Mistral", False),
    "mixtral": ("Mixtral", False),
    "phi3": ("Phi3", False),
    "qwen2": ("Qwen2", False),
    "starcoder2": ("Starcoder2", False),
}


@FIX.wraps(
    *(
        (
            f"transformers.models.{folder}.modeling_{folder}:{name}Attention.forward",
            ">=4.48.0,<5.0.0" if repaired else ">=4.48.0,<=5.24.0",
        )
        for folder, (name, repaired) in MODELS.items()
    )
)
def without_a_mask(original: Callable[..., Any]) -> Callable[..., Any]:
    """Attention to everything, or causal, as the implementation does without a mask."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "attention_mask" in kwargs or len(args) > 2:  # the error is that of another call, within this one
            return original(self, *args, **kwargs)
        return original(self, *args, **kwargs, attention_mask=None)

    return call


@FIX.recognises
def demands_a_mask(function: ast.AST) -> bool:
    """Whether the mask, behind position embeddings, has no default."""
    if not isinstance(function, ast.FunctionDef) or function.name != "forward":
        return False
    names = [argument.arg for argument in function.args.args]
    required = names[: len(names) - len(function.args.defaults)]
    return required[1:] == ["hidden_states", "position_embeddings", "attention_mask"]
