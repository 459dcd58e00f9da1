"""The proof: a model without ``post_init()`` is saved with a weight more, and read without it."""

import tempfile
from typing import Any, ClassVar

import torch

from hotfix.loading.v5_ignored_keys_as_a_list import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_bert


@FIX.case(
    raises="TypeError: unsupported operand type",
    oracles={"*": "4.57.6"},
    with_fixes=("v5-all-tied-weights-keys-missing",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the read model computes."""
    from transformers import BertModel, BertPreTrainedModel

    class Tagger(BertPreTrainedModel):
        _keys_to_ignore_on_load_unexpected: ClassVar[Any] = [r"pooler"]

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.bert = BertModel(config, add_pooling_layer=False)
            self.classifier = torch.nn.Linear(config.hidden_size, 3)
            self.init_weights()

        def forward(self, ids: Any) -> Any:
            return self.classifier(self.bert(ids).last_hidden_state)

    written = testbed.fill(Tagger(small_bert(testbed).config)).eval()
    with tempfile.TemporaryDirectory() as folder:
        written.save_pretrained(folder)
        read = Tagger.from_pretrained(folder).eval()
    ids = testbed.randint(5, 30, 1, 6, seed=2)
    return {"written": written(ids), "read": read(ids)}
