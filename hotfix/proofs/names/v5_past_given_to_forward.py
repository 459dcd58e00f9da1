"""The proof: a small model of each class goes on with keys and values that a program keeps as a tuple of tuples."""

from importlib import import_module
from inspect import signature
from typing import Any

import torch

from hotfix.names.v5_past_given_to_forward import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

_WIDTH = (
    "d_model hidden_size n_embd embedding_size intermediate_size encoder_ffn_dim decoder_ffn_dim ffn_dim dff n_inner "
    "input_embedding_size output_embedding_size"
)
_TWO = (
    "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_attention_heads n_head n_heads "
    "encoder_attention_heads decoder_attention_heads attention_heads num_heads num_experts num_codebooks"
)
_NONE = (
    "dropout attention_dropout activation_dropout hidden_dropout_prob attention_probs_dropout_prob layerdrop "
    "decoder_layerdrop encoder_layerdrop resid_pdrop embd_pdrop attn_pdrop"
)
_TOKENS = {"pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
_KINDS = {"is_decoder": True, "attention_type": "original_full", "attention_window": 4}
SIZES: dict[str, Any] = {
    **dict.fromkeys(_WIDTH.split(), 16),
    **dict.fromkeys(_TWO.split(), 2),
    **dict.fromkeys(_NONE.split(), 0.0),
    **dict.fromkeys(("vocab_size", "input_vocab_size", "output_vocab_size", "decoder_vocab_size"), 40),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_target_positions", "block_size"), 64),
    **_TOKENS,
    **_KINDS,
    "languages": ["en"],
    "default_language": "en",
}


@FIX.case(
    raises="AttributeError: 'tuple' object has no attribute 'get_(seq_length|query_offset)'",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The hidden states, and the kind and the content of the cache in the output."""
    return continued(testbed, target)


def continued(testbed: Testbed, target: Target, **more: Any) -> dict[str, torch.Tensor]:
    """What a model returns for two tokens after four, whose keys and values it gets as a tuple of tuples.

    Args:
        testbed: makes its weights and tokens.
        target: its ``forward``.
        **more: further settings of the configuration.

    Returns:
        ``hidden`` of shape (2, 2, 16), ``kind`` of the cache in the output, and the parts of each of its layers; the
        same for a model with an encoder.
    """
    kind = getattr(import_module(target.module), target.qualname.partition(".")[0])
    default = kind.config_class()
    config = kind.config_class(**{name: size for name, size in {**SIZES, **more}.items() if hasattr(default, name)})
    model = testbed.fill(kind(config)).eval()
    ids = testbed.randint(4, 40, 2, 6, seed=1)
    states = {"": None, "encoder ": testbed.randn(2, 5, 16, seed=2)}
    if "encoder_attn" not in str(model):  # most of those have no other attention
        del states["encoder "]
    ends = 5 if kind.__name__ == "ElectraModel" else 6  # 4.57.6 has no mask for two tokens after others
    results = {}
    for name, encoded in states.items():
        known = {} if encoded is None else {"encoder_hidden_states": encoded}
        start = _layers(model(**_given(model, ids[:, :4]), **known, use_cache=True).past_key_values)
        output = model(**_given(model, ids[:, 4:ends]), **known, past_key_values=start, use_cache=True)
        results[f"{name}hidden"] = output.last_hidden_state if hasattr(output, "last_hidden_state") else output[0]
        results[f"{name}kind"] = words(type(output.past_key_values).__name__)
        for number, layer in enumerate(_layers(output.past_key_values)):
            results.update({f"{name}{number} {part}": tensor for part, tensor in enumerate(layer)})
    return results


def _given(model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    takes = signature(type(model).forward).parameters
    if "input_ids" not in takes:
        vectors = torch.nn.functional.one_hot(ids % 16, 16).to(model.dtype)
        return {"hidden_states" if "hidden_states" in takes else "inputs_embeds": vectors}
    return {"input_ids": ids.repeat_interleave(getattr(model, "num_codebooks", 1), 0)}


def _layers(cache: Any) -> tuple[tuple[torch.Tensor, ...], ...]:
    """The keys and values of each layer, and those of the encoder."""
    if isinstance(cache, tuple):
        return cache
    if hasattr(cache, "key_cache") and not hasattr(cache, "self_attention_cache"):
        return tuple(zip(cache.key_cache, cache.value_cache))
    parts = [getattr(cache, "self_attention_cache", cache), getattr(cache, "cross_attention_cache", None)]
    layers: list[tuple[torch.Tensor, ...]] = [()] * len(parts[0].layers)
    for part in filter(None, parts):
        for number, layer in enumerate(part.layers):
            if layer.keys is not None:
                layers[number] += (layer.keys, layer.values)
    return tuple(layers)
