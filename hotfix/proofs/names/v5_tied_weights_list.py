"""The proof: a model with a list is built, saved without its head, and read back."""

from typing import Any, ClassVar

import torch

from hotfix.names.v5_tied_weights_list import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="AttributeError: 'list' object has no attribute 'keys'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A custom tied head on a small Llama."""
    import tempfile
    from importlib import import_module
    from pathlib import Path

    from transformers import LlamaModel, LlamaPreTrainedModel

    config = llama(testbed, attn="sdpa", dtype=torch.float32).config
    config.tie_word_embeddings = True

    class Tied(LlamaPreTrainedModel):
        _tied_weights_keys: ClassVar[Any] = ["lm_head.weight"]

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.model = LlamaModel(config)
            self.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
            self.post_init()

        def get_input_embeddings(self) -> Any:
            return self.model.embed_tokens

        def get_output_embeddings(self) -> Any:
            return self.lm_head

        def forward(self, ids: Any) -> Any:
            return self.lm_head(self.model(ids, use_cache=False).last_hidden_state)

    if target.qualname == "_get_tied_weight_keys":
        Tied.get_expanded_tied_weights_keys = lambda self, all_submodels=False: {
            "lm_head.weight": "model.embed_tokens.weight"
        }
    model = testbed.fill(Tied(config)).eval()
    ids = testbed.randint(3, 60, 1, 4, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with import_module("safetensors").safe_open(Path(folder) / "model.safetensors", "pt") as file:
            names = list(file.keys())
        again = Tied.from_pretrained(folder, torch_dtype=torch.float32).eval()
    return {
        "logits": model(ids),
        "read back": again(ids),
        "tied": torch.tensor(
            [tied_model.lm_head.weight is tied_model.model.embed_tokens.weight for tied_model in (model, again)]
        ),
        "saved": torch.tensor(["lm_head.weight" in names, "model.embed_tokens.weight" in names]),
    }
