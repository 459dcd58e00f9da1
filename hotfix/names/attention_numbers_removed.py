"""Attention modules do not have the numbers of their heads any more.

Symptom   ``AttributeError: 'Qwen2Attention' object has no attribute 'num_key_value_heads'``; the same of ``num_heads``
          and ``hidden_size``, and of Llama, Mistral, Mixtral, Gemma and Phi-3: pruning, sparse attention, patched
          forwards.
Cause     They are read from the configuration.
Releases  4.48.0 and later
Upstream  Torch-Pruning#455 (not put back)
Here      The number of the configuration, which 4.47.1 copied. A number that the program sets stays on the module.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Qwen2Attention' object has no attribute 'num_heads'",
    kind="removed-api",
    upstream=("Torch-Pruning#455",),
    group="removed-names",
)

NUMBERS = {
    "num_heads": "num_attention_heads",
    "num_key_value_heads": "num_key_value_heads",
    "hidden_size": "hidden_size",
}
CLASSES = (
    "gemma:Gemma",
    "gemma2:Gemma2",
    "llama:Llama",
    "mistral:Mistral",
    "mixtral:Mixtral",
    "phi3:Phi3",
    "qwen2:Qwen2",
)


def _from_config(number: str, name: str) -> Callable[[Any], property]:
    """A function that makes the property; a value that the program sets stays on the module."""

    def get(attention: Any) -> Any:
        return attention.__dict__[number] if number in attention.__dict__ else getattr(attention.config, name)

    def set_(attention: Any, value: Any) -> None:
        attention.__dict__[number] = value

    return lambda owner: property(get, set_)


for _class in CLASSES:
    _model, _, _family = _class.partition(":")
    for _number, _name in NUMBERS.items():
        if (_family, _number) != ("Phi3", "num_key_value_heads"):  # it kept that one
            FIX.adds_made(
                (f"transformers.models.{_model}.modeling_{_model}:{_family}Attention.{_number}", ">=4.48.0"),
                of_instances=True,
            )(_from_config(_number, _name))
