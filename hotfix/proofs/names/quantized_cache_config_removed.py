"""The proof: the settings, the classes that are left, and caches that are cropped."""

import torch

from hotfix.names.quantized_cache_config_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.names.small_caches import dynamic
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="ImportError: cannot import name '|AttributeError: 'GenerationConfig' object has no attribute",
    oracles={"*": "4.52.4"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What a copy of the library's ``generate`` asks of each name."""
    thing = ask(target)
    if target.qualname == "QuantizedCacheConfig":
        made = thing(nbits=2), thing.from_dict({"backend": "HQQ", "nbits": 8}, axis_key=1, other=3), thing("HQQ", 8)
        parts = [f"{name} {value}" for each in made for name, value in sorted(each.to_dict().items())]
        return {"settings": words(*parts), "read": words(made[0].backend, str(made[0].compute_dtype), thing.__name__)}
    if target.qualname.endswith("_MAPPING"):
        return {"static": words(thing["static"].__name__ if "static" in thing else "quantized")}
    if target.qualname.startswith("Hamming"):
        lowers = thing(0.5, num_beams=4, num_beam_groups=2)
        tokens = torch.tensor([1, 1, 0, 0, 2, 3, 0, 0])
        return {f"group {n}": lowers(None, testbed.randn(4, 5, seed=3), tokens, n) for n in range(2)}
    if target.qualname.startswith("GenerationConfig"):
        forced = thing(forced_decoder_ids=[[1, 2]]).forced_decoder_ids
        return {"None": torch.tensor(thing().forced_decoder_ids is None), "its own": torch.tensor(forced)}
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(num_hidden_layers=1, hidden_size=16, num_attention_heads=2, intermediate_size=16)
    )
    cache = dynamic(testbed)
    layers = tuple((torch.ones(1, 2, 5, 3) * n, torch.ones(1, 2, 5, 3)) for n in range(2))
    cropped = thing(model, layers, 3)
    length = thing(model, cache, 2).get_seq_length()
    return {"length": torch.tensor(length), **{f"layer {n}": pair[0] for n, pair in enumerate(cropped)}}
