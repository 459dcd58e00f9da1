"""The proof: remote code inherits from the class, together with that of FlashAttention."""

import types
from typing import Any

import torch

from hotfix.names.losskwargs_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Inherit, as remote code does, and annotate with it."""
    from typing import is_typeddict

    from transformers.modeling_flash_attention_utils import FlashAttentionKwargs

    cls = ask(target)
    others = () if target.qualname == "KwargsForCausalLM" else (FlashAttentionKwargs,)
    heir: Any = types.new_class("Heir", (*others, cls), {}, lambda names: names.update(__annotations__={"own": int}))
    flash = set(FlashAttentionKwargs.__annotations__)
    return {
        "called": words(cls.__name__, cls.__qualname__, cls.__module__),
        "typed": torch.tensor([is_typeddict(cls), is_typeddict(heir)]),
        "keys": words(*sorted(set(cls.__annotations__) - flash)),
        "optional": words(*sorted(cls.__optional_keys__ - flash)),
        "required": words(*sorted(cls.__required_keys__), *sorted(heir.__required_keys__)),
        "with flash": torch.tensor([flash <= set(kind.__annotations__) for kind in (cls, heir)]),
        "built": torch.tensor(cls(num_items_in_batch=3) == {"num_items_in_batch": 3}),
        "listed": listed(target),
        "pickled": same_when_pickled(cls),
    }
