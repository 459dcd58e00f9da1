"""A text is generated with a static cache, by a configuration that the program has made, and by one from a file."""

import tempfile
from importlib import import_module
from typing import Any

import torch

from hotfix.loading.generation_config_static_cache import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(
    raises=r"TypeError: .*__init__\(\) missing 2 required positional arguments: 'batch_size' and 'max_cache_len'",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens, and whether the configurations have none for the cache."""
    cls: Any = import_module("transformers").GenerationConfig
    model = small_llama(testbed).eval()
    ids = testbed.randint(3, 14, 2, 5)
    made = cls(cache_implementation="static", max_new_tokens=3, do_sample=False, pad_token_id=0)
    with tempfile.TemporaryDirectory() as folder:
        made.save_pretrained(folder)
        read = cls.from_pretrained(folder)
    results = {"none": torch.tensor([made.cache_config is None, read.cache_config is None])}
    for name, config in (("made", made), ("read", read)):
        results[name] = model.generate(ids, generation_config=config, attention_mask=torch.ones_like(ids))
    return results
