"""The proof: a saved model, read with other weights than those of its file, and with more classes."""

import tempfile

import torch

from hotfix.loading.state_dict_beside_a_name import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_bert, small_llama


@FIX.case(raises="ValueError: `state_dict` cannot be passed together", oracles={"*": "4.49.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The logits, and the numbers of classes and of tokens that were asked for."""
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    ids = testbed.randint(5, 30, 1, 6, seed=2)
    model, other = small_llama(testbed).eval(), small_bert(testbed).eval()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        weights = {name: weight * 2 for name, weight in model.state_dict().items()}
        read = AutoModelForCausalLM.from_pretrained(folder, state_dict=weights).eval()
        results["decoder"] = read(ids).logits
        results["length"] = torch.tensor(read.generation_config.max_length or 20)
    with tempfile.TemporaryDirectory() as folder:
        other.save_pretrained(folder)
        read = AutoModelForSequenceClassification.from_pretrained(folder, state_dict=other.state_dict()).eval()
        results["classes"] = read(ids).logits
    return results
