"""The proof: a model with an override is built, saved and read back."""

from typing import Any

import torch

from hotfix.names.v5_tie_weights_override_signature import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    raises="TypeError: .*tie_weights\\(\\) got an unexpected keyword argument"
    "|AttributeError: 'Tied' object has no attribute '_tie_or_clone_weights'",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A custom head on a small Llama, tied by itself."""
    import tempfile
    from pathlib import Path

    from transformers import LlamaModel, LlamaPreTrainedModel

    config = llama(testbed, attn="sdpa", dtype=torch.float32).config
    config.tie_word_embeddings = False

    class Tied(LlamaPreTrainedModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.model = LlamaModel(config)
            self.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
            self.post_init()

        def tie_weights(self) -> None:
            self._tie_or_clone_weights(self.lm_head, self.model.embed_tokens)

        def forward(self, ids: Any) -> Any:
            return self.lm_head(self.model(ids, use_cache=False).last_hidden_state)

    model = testbed.fill(Tied(config)).eval()
    ids = testbed.randint(3, 60, 1, 4, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        tensors = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
        torch.save(tensors, Path(folder) / "pytorch_model.bin")
        again, _ = Tied.from_pretrained(folder, output_loading_info=True)
    return {
        "logits": model(ids),
        "read back": again.eval()(ids),
        "tied": torch.tensor(
            [tied_model.lm_head.weight is tied_model.model.embed_tokens.weight for tied_model in (model, again)]
        ),
    }
