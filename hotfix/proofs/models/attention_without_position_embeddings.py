"""The layers of a small decoder, one after the other, as pruning and quantization run them."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.attention_without_position_embeddings import FIX, MODELS
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
    "vocab_size": 64,
}
_FURTHER = {"num_key_value_heads": 2, "pad_token_id": 0}


@FIX.case(oracles={"*": "4.47.1"}, raises="TypeError: cannot unpack non-iterable NoneType object")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states behind the layers at positions from 3 on, and what leaving out positions from 0 on changes."""
    from packaging.version import Version

    transformers = import_module("transformers")
    folder = target.module.rpartition(".modeling_")[2]
    # 5.4.0 declares an integer where Olmo 2 has a truth value, and refuses its own default.
    own = {"tie_word_embeddings": 0} if (folder, transformers.__version__) == ("olmo2", "5.4.0") else {}
    config = getattr(transformers, f"{MODELS[folder]}Config")(**_SIZES, **_FURTHER, **own)
    model = testbed.model(getattr(transformers, f"{MODELS[folder]}ForCausalLM"), config, attn="eager").model
    hidden = model.embed_tokens(testbed.randint(0, 64, 2, 7))
    positions = torch.arange(7, device=testbed.device).expand(2, 7)
    results = {"from 3": _behind(model.layers, hidden, positions + 3), "without": torch.zeros_like(hidden)}
    with torch.no_grad():
        layer = model.layers[0].eval()(hidden, position_ids=positions, use_cache=True, output_attentions=True)
        results["whole batch"], results["attentions"] = layer[0], layer[1]
        results["parts"] = torch.tensor(len(layer))
    if Version(transformers.__version__) >= Version("4.48.0"):
        results["without"] = _behind(model.layers, hidden, None) - _behind(model.layers, hidden, positions)
    return results


def _behind(layers: Any, hidden: torch.Tensor, position_ids: Any) -> torch.Tensor:
    mask = torch.full((7, 7), torch.finfo(hidden.dtype).min, device=hidden.device).triu(1)[None, None].to(hidden.dtype)
    for layer in layers:
        out = layer(hidden, attention_mask=mask, position_ids=position_ids)
        hidden = out[0] if isinstance(out, tuple) else out
    return hidden
