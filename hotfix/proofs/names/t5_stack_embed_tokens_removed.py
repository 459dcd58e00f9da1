"""The proof: an encoder and a decoder share their embeddings, as in Chronos-Bolt."""

from importlib import import_module

import torch

from hotfix.names.t5_stack_embed_tokens_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*__init__.*(takes 2 positional arguments|unexpected keyword argument 'embed_tokens')",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The hidden states of a stack that got its embeddings by place, and of one that got them by name."""
    module = import_module(target.module)
    cls = getattr(module, target.qualname.partition(".")[0])
    config = getattr(module, cls.__name__.replace("Stack", "Config"))(
        vocab_size=32, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, use_cache=False
    )
    shared = testbed.fill(torch.nn.Embedding(32, 16))
    ids = testbed.randint(1, 30, 2, 5)
    results = {}
    for name, stack in (("place", cls(config, shared)), ("name", cls(config=config, embed_tokens=shared))):
        assert stack.embed_tokens is shared
        testbed.fill(stack).eval()
        results[name] = stack(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    return results
