"""``forward`` of Llama, Qwen2, Mistral and others rejects keys and values that are a tuple or list of layers.

Symptom   ``AttributeError: 'tuple' object has no attribute 'get_seq_length'`` from ``model(ids, past_key_values=past)``
          in loops that cut, compress, repeat or save the keys and values of a model; the same of a ``'list'``. From
          4.52.1 to 4.53.3 a ``ValueError`` of several of these models: "should be either a `Cache` object or `None`".
Cause     Each of these models made a cache of the tuple until 4.47.1.
Releases  4.48.0 and later, nine models
Upstream  Janus#99, by design (not put back)
Here      After the error, the cache that the earlier releases made, a `DynamicCache`. The output has this cache, whose
          layers can be read as those of a tuple. It stays refused where they refused it: with ``use_cache=False``,
          and in a model that checkpoints while it trains. Other models: v5-past-given-to-forward.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.names.v5_past_given_to_forward import of_a_tuple

_NO_CACHE = "ValueError: The `past_key_values` should be either a `Cache` object or `None`."

FIX = Fix(
    title="AttributeError: 'tuple' object has no attribute 'get_seq_length', from past_key_values given to a decoder",
    kind="removed-api",
    upstream=("Janus#99",),
    optin="it is around the forward of the most used models, whose tracebacks would have two frames more for everybody",
    group="removed-names",
    prefilter=".get_seq_length(",
    errors=(
        "AttributeError: 'tuple' object has no attribute 'get_seq_length'",
        "AttributeError: 'list' object has no attribute 'get_seq_length'",
        _NO_CACHE,
    ),
    on_error=(
        _NO_CACHE,
        *(
            f"AttributeError: '{kind}' object has no attribute '{name}'"
            for kind in ("tuple", "list")
            for name in ("get_seq_length", "get_mask_sizes", "get_query_offset", "is_compileable", "is_sliding")
        ),
    ),
)

_MODELS = """
    gemma:GemmaModel granite:GraniteModel llama:LlamaModel mistral:MistralModel olmo:OlmoModel
    olmo2:Olmo2Model phi3:Phi3Model qwen2:Qwen2Model starcoder2:Starcoder2Model
"""
_NAMES = set()

for _model in _MODELS.split():
    _module, _, _name = _model.partition(":")
    _NAMES.add(_name)
    FIX.wraps(
        (f"transformers.models.{_module}.modeling_{_module}:{_name}.forward", ">=4.48.0"), fingerprint_of=(_name,)
    )(of_a_tuple(False, False, of_lists=True))


@FIX.recognises
def is_broken(definition: ast.AST) -> bool:
    """One of these models, which asks a cache for its length and makes none of a tuple."""
    if not isinstance(definition, ast.ClassDef) or definition.name not in _NAMES:
        return False
    members = (each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == "forward")
    text = "".join(map(ast.unparse, members))
    asks = "past_key_values.get_seq_length(" in text or "cache.get_seq_length(" in text
    return asks and "legacy" not in text
