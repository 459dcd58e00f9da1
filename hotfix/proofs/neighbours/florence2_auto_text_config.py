"""The proof: remote code with a text part that the library does not know, and a model of the library's own."""

from typing import Any

import torch

from hotfix.neighbours.florence2_auto_text_config import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ValueError: Unrecognized configuration class")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Save both, and load them as any causal language model."""
    import tempfile

    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PretrainedConfig, PreTrainedModel

    class TextConfig(PretrainedConfig):
        model_type = "florence_of_the_test_text"

    class WholeConfig(PretrainedConfig):
        model_type = "florence_of_the_test"

        def __init__(self, width: int = 4, **kwargs: Any) -> None:
            self.width = width
            self.text_config = TextConfig()
            super().__init__(**kwargs)

    class Whole(PreTrainedModel):
        config_class = WholeConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.layer = torch.nn.Linear(config.width, 3)

        def forward(self, hidden: Any) -> Any:
            return self.layer(hidden)

    AutoModelForCausalLM.register(WholeConfig, Whole)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    results = {}
    for name, model, inputs in (
        ("remote", Whole(WholeConfig()), testbed.randn(2, 4)),
        ("own", LlamaForCausalLM(LlamaConfig(vocab_size=32, **sizes)), testbed.randint(0, 32, 1, 5)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            testbed.fill(model).save_pretrained(folder)
            again = AutoModelForCausalLM.from_pretrained(folder, config=model.config).to(testbed.device)
        output = again(inputs)
        results[name] = output if name == "remote" else output.logits
    return results
