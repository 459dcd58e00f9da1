"""The proof: a class whose ``generate`` calls ``_sample`` as that of 4.45.0 does."""

from __future__ import annotations

from typing import Any

import torch

from hotfix.names.sample_without_warpers import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: .*_sample\\(\\) missing 1 required positional argument: 'logits_warper'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens drawn from the two best, with a seed."""
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
    from transformers.generation import LogitsProcessorList, MaxLengthCriteria, StoppingCriteriaList, TopKLogitsWarper

    class Own(LlamaForCausalLM):
        def generate(self, ids: Any) -> Any:
            settings: Any = GenerationConfig(do_sample=True, pad_token_id=0, eos_token_id=63)
            settings._pad_token_tensor, settings._eos_token_tensor = torch.tensor(0), torch.tensor([63])
            given = {"attention_mask": torch.ones_like(ids), "use_cache": True}
            given = self._get_initial_cache_position(ids, given)  # type: ignore[operator,unused-ignore]
            return self._sample(  # type: ignore[operator,unused-ignore]
                ids,
                logits_processor=LogitsProcessorList([TopKLogitsWarper(2)]),
                stopping_criteria=StoppingCriteriaList([MaxLengthCriteria(9)]),
                generation_config=settings,
                synced_gpus=False,
                streamer=None,
                **given,
            )

    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16}
    model = testbed.fill(Own(LlamaConfig(vocab_size=64, **sizes)))
    torch.manual_seed(0)
    return {"drawn": model.generate(torch.tensor([[3, 4, 5]]))}
