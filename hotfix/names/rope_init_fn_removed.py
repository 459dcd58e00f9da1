"""Rotary embeddings do not keep the function that computes their frequencies.

Symptom   ``AttributeError: 'LlamaRotaryEmbedding' object has no attribute 'rope_init_fn'`` from code that computes the
          frequencies again: after ``to_empty``, for longer texts, in a subclass.
Cause     ``__init__`` looks the function up, and does not keep it.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      The function that ``__init__`` uses. A function that the program sets stays.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'LlamaRotaryEmbedding' object has no attribute 'rope_init_fn'",
    kind="removed-api",
    group="removed-names",
)

CLASSES = """
    cohere2:Cohere2RotaryEmbedding cohere:CohereRotaryEmbedding deepseek_v2:DeepseekV2RotaryEmbedding
    deepseek_v3:DeepseekV3RotaryEmbedding falcon:FalconRotaryEmbedding gemma2:Gemma2RotaryEmbedding
    gemma:GemmaRotaryEmbedding glm4:Glm4RotaryEmbedding glm4_moe:Glm4MoeRotaryEmbedding glm:GlmRotaryEmbedding
    gpt_neox:GPTNeoXRotaryEmbedding gpt_oss:GptOssRotaryEmbedding granite:GraniteRotaryEmbedding
    granitemoe:GraniteMoeRotaryEmbedding helium:HeliumRotaryEmbedding llama4:Llama4TextRotaryEmbedding
    llama:LlamaRotaryEmbedding ministral:MinistralRotaryEmbedding mistral:MistralRotaryEmbedding
    mixtral:MixtralRotaryEmbedding nemotron:NemotronRotaryEmbedding olmo2:Olmo2RotaryEmbedding
    olmo:OlmoRotaryEmbedding olmoe:OlmoeRotaryEmbedding persimmon:PersimmonRotaryEmbedding phi3:Phi3RotaryEmbedding
    phi:PhiRotaryEmbedding qwen2:Qwen2RotaryEmbedding qwen2_5_vl:Qwen2_5_VLRotaryEmbedding
    qwen2_moe:Qwen2MoeRotaryEmbedding qwen2_vl:Qwen2VLRotaryEmbedding qwen3:Qwen3RotaryEmbedding
    qwen3_moe:Qwen3MoeRotaryEmbedding qwen3_next:Qwen3NextRotaryEmbedding qwen3_vl:Qwen3VLTextRotaryEmbedding
    qwen3_vl_moe:Qwen3VLMoeTextRotaryEmbedding seed_oss:SeedOssRotaryEmbedding smollm3:SmolLM3RotaryEmbedding
    stablelm:StableLmRotaryEmbedding starcoder2:Starcoder2RotaryEmbedding
"""
"""Folder and class of those with one kind of frequencies for all layers."""


def _plain(compute: Any, config: Any = None, device: Any = None, seq_len: Optional[int] = None) -> tuple[Any, float]:
    """Call the function of a class, which takes no device by position since 5.23."""
    frequencies, scale = compute(config, device=device)
    return frequencies.to(device), scale


@FIX.adds_made(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}.rope_init_fn", ">=5.0.0")
        for folder, _, name in (entry.partition(":") for entry in CLASSES.split())
    ),
    of_instances=True,
)
def rope_init_fn(owner: Any) -> property:
    """The attribute of 4.57, which can be set."""

    def get(rotary: Any) -> Any:
        if "rope_init_fn" in vars(rotary):
            return vars(rotary)["rope_init_fn"]
        if rotary.rope_type == "default":
            return partial(_plain, rotary.compute_default_rope_parameters)
        if not isinstance(rotary.rope_type, str):  # one for each kind of layers
            raise AttributeError("rope_init_fn")
        return sys.modules["transformers.modeling_rope_utils"].ROPE_INIT_FUNCTIONS[rotary.rope_type]

    def set_(rotary: Any, value: Any) -> None:
        vars(rotary)["rope_init_fn"] = value

    return property(get, set_)
