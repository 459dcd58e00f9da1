"""The number of rows of a cache of a fixed size, by the name that the release lacks."""

import torch

from hotfix.names.cache_batch_size_names import FIX
from hotfix.proofs.names.small_caches import HEADS, LAYERS, WIDTH, number
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(raises="AttributeError: '.*Cache' object has no attribute '(max_)?batch_size'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The number, before and after the first rows."""
    import inspect

    from transformers import Gemma2Config, MambaConfig

    owner = class_of(target)
    config = Gemma2Config(
        hidden_size=HEADS * WIDTH,
        head_dim=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
    )
    if owner.__name__ == "MambaCache":
        config = MambaConfig(hidden_size=8, num_hidden_layers=LAYERS)
    parameters = inspect.signature(owner.__init__).parameters
    sizes = {"max_batch_size": 3, "batch_size": 3, "max_cache_len": 16, "device": testbed.device}
    if "kwargs" in parameters:  # since 4.54.0, where the rows are known with the first of them
        cache = owner(config=config, max_batch_size=3, max_cache_len=16)
        for layer in range(LAYERS):
            rows = torch.zeros(3, HEADS, 1, WIDTH)
            cache.update(rows, rows, layer, {"cache_position": torch.arange(1)})
    else:
        cache = owner(config, **{name: value for name, value in sizes.items() if name in parameters})
    return {"rows": number(getattr(cache, target.qualname.rpartition(".")[2]))}
