"""Attention modules have no rotary embeddings any more.

Symptom   ``AttributeError: 'LlamaAttention' object has no attribute 'rotary_emb'`` from forwards that replace that of
          Llama's or Mistral's attention: sparse attention, caches that evict, speculative decoding.
Cause     The model computes cosine and sine once for all layers, and passes them as ``position_embeddings``.
Releases  4.48.0 and later; 4.49.0 for GPT-NeoX, 4.54.0 for Falcon; 5.0.0 for Persimmon, Qwen2-MoE and StableLM
Upstream  transformers#34135 (not put back)
Here      Rotary embeddings of the attention's configuration, made when they are first read, as 4.47.1 made them. They
          are no submodule, so that modules and weights are those of the release. What the program sets stays.
"""

from __future__ import annotations

from typing import Any, Callable
from weakref import WeakKeyDictionary

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'LlamaAttention' object has no attribute 'rotary_emb'",
    kind="removed-api",
    upstream=("transformers#34135",),
    group="removed-names",
)

CLASSES = {
    "4.48.0": """
        cohere:Cohere gemma:Gemma gemma2:Gemma2 llama:Llama mistral:Mistral mixtral:Mixtral olmo:Olmo olmo2:Olmo2
        phi:Phi phi3:Phi3 qwen2:Qwen2 starcoder2:Starcoder2
    """,
    "4.49.0": "gpt_neox:GPTNeoX",
    "4.54.0": "falcon:Falcon",
    "5.0.0": "persimmon:Persimmon qwen2_moe:Qwen2Moe stablelm:StableLm",
}
"""Folder and name of each class, by the first release that lacks the attribute."""
_NAME = "rotary_emb"
_made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _from(cls: str) -> Callable[[Any], property]:
    """A function that makes the property for a module with rotary embeddings of this name."""
    return lambda module: _property(module, cls)


def _property(module: Any, cls: str) -> property:

    def get(attention: Any) -> Any:
        for own in (attention._modules, attention.__dict__):  # set by the program
            if _NAME in own:
                return own[_NAME]
        if attention not in _made:
            held = next((each for each in (*attention.parameters(), *attention.buffers())), None)
            made = getattr(module, cls)(attention.config)
            _made[attention] = made if held is None else made.to(held.device)
        return _made[attention]

    def set_(attention: Any, value: Any) -> None:
        attention.__dict__[_NAME] = value

    return property(get, set_)


for _first, _classes in CLASSES.items():
    for _folder, _, _family in (_class.partition(":") for _class in _classes.split()):
        FIX.adds_made(
            (f"transformers.models.{_folder}.modeling_{_folder}:{_family}Attention.{_NAME}", f">={_first}"),
            of_instances=True,
        )(_from(f"{_family}RotaryEmbedding"))
