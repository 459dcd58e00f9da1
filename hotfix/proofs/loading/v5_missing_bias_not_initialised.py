"""A Llama that was saved without biases is loaded with them, in memory that is known to be nan."""

from tempfile import TemporaryDirectory

import torch

from hotfix.loading.v5_missing_bias_not_initialised import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case()
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """All weights and logits; with a complete checkpoint nothing may change."""
    return {
        **loaded(testbed, "without biases", lacks_biases=True),
        **loaded(testbed, "whole", lacks_biases=False),
    }


def loaded(testbed: Testbed, name: str, lacks_biases: bool) -> dict[str, torch.Tensor]:
    """The weights of a Llama after it was saved and loaded, and what it computes.

    Args:
        testbed: the testbed, which fills the weights.
        name: prefix of the results.
        lacks_biases: whether the attention has biases that were not saved.
    """
    from transformers import LlamaForCausalLM

    was = torch.are_deterministic_algorithms_enabled()
    with TemporaryDirectory() as folder:
        model = small_llama(testbed)
        model.save_pretrained(folder)
        model.config.attention_bias = lacks_biases
        torch.use_deterministic_algorithms(True, warn_only=True)  # new memory is nan
        try:
            model = LlamaForCausalLM.from_pretrained(folder, config=model.config, dtype=torch.float32)
        finally:
            torch.use_deterministic_algorithms(was, warn_only=True)
    with torch.no_grad():
        logits = model(testbed.randint(1, 32, 2, 7, seed=1)).logits
    weights = {f"{name}: {key}": weight.detach().clone() for key, weight in model.state_dict().items()}
    return {**weights, f"{name}: logits": logits}
