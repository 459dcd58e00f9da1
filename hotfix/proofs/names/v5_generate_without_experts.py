"""The proof: a module that generates and is no `PreTrainedModel`."""

from typing import Any

import torch

from hotfix.names.v5_generate_without_experts import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: .* has no attribute 'get_experts_implementation'",
    packages={"flash-attn": None},
    oracles={"transformers.generation.utils:GenerationMixin._optimize_model_for_decode": "5.13.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens that it generates."""
    from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig
    from transformers.modeling_outputs import CausalLMOutput

    class Own(torch.nn.Module, GenerationMixin):
        main_input_name = "input_ids"
        _is_stateful = False
        _supports_cache_class = False

        def __init__(self) -> None:
            super().__init__()
            self.words, self.head = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 20)
            self.config = PreTrainedConfig(vocab_size=20, is_encoder_decoder=False, use_cache=False)
            self.generation_config = GenerationConfig(use_cache=False)

        @property
        def device(self) -> torch.device:
            return self.head.weight.device

        @property
        def dtype(self) -> torch.dtype:
            return self.head.weight.dtype

        def can_generate(self) -> bool:
            return True

        def prepare_inputs_for_generation(self, input_ids: Any, **kwargs: Any) -> dict[str, Any]:
            return {"input_ids": input_ids}

        def forward(self, input_ids: Any, return_dict: bool = True, **kwargs: Any) -> Any:
            return CausalLMOutput(logits=self.head(self.words(input_ids)))

    model: Any = testbed.fill(Own()).eval()
    ids = testbed.randint(3, 16, 2, 6)
    more = {"max_new_tokens": 3, "use_cache": False}
    drawn = model.generate(ids, do_sample=True, **more)
    return {"greedy": model.generate(ids, do_sample=False, **more), "drawn": drawn}
