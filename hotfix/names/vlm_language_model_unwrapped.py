"""The language model of a vision-language model has no ``model`` any more.

Symptom   ``AttributeError: 'GemmaModel' object has no attribute 'model'`` from lerobot (pi0), and from other code that
          reaches the layers by ``paligemma.language_model.model.layers``.
Cause     The language model was a causal one, which contained the model of the layers. Since 4.52.0 it is that model.
Releases  4.52.0 and later
Upstream  transformers#37033 (brought it; not put back)
Here      ``model`` of a language model is itself. Its head has moved to the model around it, and stays there.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

CLASSES = """
    gemma:GemmaModel aria:AriaTextModel cohere:CohereModel cohere2:Cohere2Model gemma2:Gemma2Model
    gemma3:Gemma3TextModel llama:LlamaModel mistral:MistralModel mixtral:MixtralModel mllama:MllamaTextModel
    persimmon:PersimmonModel phi:PhiModel phi3:Phi3Model qwen2:Qwen2Model qwen3:Qwen3Model
"""
"""Folder and class of the models that the vision-language models of 4.51 could contain."""
PAIRS = [(folder, name) for folder, _, name in (entry.partition(":") for entry in CLASSES.split())]

FIX = Fix(
    title="AttributeError: 'GemmaModel' object has no attribute 'model', within a vision-language model",
    kind="removed-api",
    upstream=("transformers#37033",),
    group="removed-names",
    errors=tuple(f"AttributeError: '{name}' object has no attribute 'model'" for _, name in PAIRS),
)


@FIX.adds_made(
    *((f"transformers.models.{folder}.modeling_{folder}:{name}.model", ">=4.52.0") for folder, name in PAIRS)
)
def model(owner: Any) -> property:
    """The model itself."""
    return property(lambda self: self)
