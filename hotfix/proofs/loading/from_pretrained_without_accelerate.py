"""Checkpoints are loaded where accelerate is not installed: tied weights, a head that is missing, and all there."""

from tempfile import TemporaryDirectory

import torch

from hotfix.loading.from_pretrained_without_accelerate import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="NameError: name '(init_empty_weights|find_tied_parameters)' is not defined", packages={"accelerate": None}
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of a saved and reloaded model."""
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

    ids = testbed.randint(0, 32, 1, 7)
    results = {}
    for tied in (False, True):
        config = LlamaConfig(
            vocab_size=32,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            tie_word_embeddings=tied,
            pad_token_id=0,
        )
        saved = testbed.fill(LlamaForCausalLM(config)).eval()
        with TemporaryDirectory() as folder:
            saved.save_pretrained(folder)
            loaded = LlamaForCausalLM.from_pretrained(folder).to(testbed.device)
            results[f"tied {tied}"] = loaded(ids).logits
            headless = LlamaForSequenceClassification.from_pretrained(folder).to(testbed.device)
            results[f"tied {tied}, other head"] = headless.model(ids).last_hidden_state
    return results
