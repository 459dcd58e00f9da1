"""The proof: a model without ``post_init()`` is saved and read back, its head tied."""

from typing import Any

import torch

from hotfix.names.v5_all_tied_weights_keys_missing import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'", packages={"flash-attn": None}
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A wrapper around a whole Llama."""
    import tempfile

    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

    class Tiny(PreTrainedModel):
        config_class = LlamaConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.language = LlamaForCausalLM(config)
            self.scale = torch.nn.Linear(config.vocab_size, 3)
            if target.qualname.endswith("init_weights"):
                self.init_weights()

        def forward(self, ids: Any) -> Any:
            return self.scale(self.language(ids, use_cache=False).logits)

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        tie_word_embeddings=True,
    )
    model = testbed.fill(Tiny(config)).eval()
    ids = testbed.randint(3, 60, 1, 4, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = Tiny.from_pretrained(folder).eval()
    tied = [
        tied_model.language.lm_head.weight is tied_model.language.model.embed_tokens.weight
        for tied_model in (model, again)
    ]
    return {"logits": model(ids), "read back": again(ids), "tied": torch.tensor(tied)}
