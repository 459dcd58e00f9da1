"""The proof: old code cuts the inputs of a step and the attention mask by what a cache says."""

import torch

from hotfix.names.cache_get_max_length_minus_one import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.names.small_caches import dynamic, number, static, tensors
from hotfix.proofs.testbed import Target, Testbed

OLD = """
def prepare(cache, input_ids, attention_mask):
    length = cache.get_seq_length()
    limit = cache.{method}()
    input_ids = input_ids[:, length:]
    if limit is not None and length + input_ids.shape[1] > limit:
        attention_mask = attention_mask[:, -limit:]
    return input_ids, attention_mask, limit
"""


@FIX.case(oracles={"transformers.cache_utils:Cache.get_max_length": "4.48.3", "*": "4.53.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The third token of two rows, the first of which is padded."""
    name, _, method = target.qualname.partition(".")
    prepare = remote(OLD.format(method=method))["prepare"]
    input_ids = testbed.randint(3, 60, 2, 6, seed=1)
    mask = torch.tensor([[0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    cache = dynamic(testbed)
    if name == "EncoderDecoderCache":
        from transformers.cache_utils import EncoderDecoderCache

        cache = EncoderDecoderCache(cache, dynamic(testbed, tokens=3))
    ids, mask, limit = prepare(cache, input_ids, mask)
    results = {"ids": ids, "mask": mask, "limit": number(limit)}
    if name == "Cache":  # these are right as they are
        results["static"] = number(prepare(static(testbed), input_ids, mask)[2])
        results["other"] = tensors(testbed, 2)[0]
    return results
