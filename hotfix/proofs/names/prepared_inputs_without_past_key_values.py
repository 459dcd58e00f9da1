"""The proof: a Llama with a soft prompt, which is put before the tokens while the cache is empty, generates."""

from typing import Any

import torch

from hotfix.names.prepared_inputs_without_past_key_values import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "5.23.0"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens by greedy and by beam search, with a cache and without."""
    results = {}
    for name in ("Llama", "Prompted"):
        for way, options in (("greedy", {}), ("beams", {"num_beams": 2}), ("no cache", {"use_cache": False})):
            results[f"{name}: {way}"] = tokens(testbed, name, **options)
    return results


def tokens(testbed: Testbed, name: str, **options: Any) -> torch.Tensor:
    """The tokens that a tiny Llama generates.

    Args:
        testbed: the testbed.
        name: as in `model_of`.
        options: of ``generate()``.
    """
    prompt, mask = testbed.randint(3, 32, 2, 5, seed=3), torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    said: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": -1, **options}
    generated: torch.Tensor = model_of(testbed, name).generate(prompt, attention_mask=mask, **said)
    return generated


def model_of(testbed: Testbed, name: str) -> Any:
    """A tiny Llama.

    Args:
        testbed: the testbed.
        name: ``Llama``; ``Prompted`` with a soft prompt, as it was written to 5.23; ``Newer`` as it is written since;
            ``Passing`` for one that only passes the old name on.
    """
    from transformers import LlamaForCausalLM

    class Prompted(LlamaForCausalLM):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.prompt = torch.nn.Parameter(torch.zeros(3, config.hidden_size))

        def prepare_inputs_for_generation(self, input_ids: Any, **kwargs: Any) -> Any:
            inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)
            return self.prompted(inputs, inputs.get("past_key_values"), kwargs["attention_mask"])

        def prompted(self, inputs: Any, past: Any, mask: Any) -> Any:
            if mask is not None:  # some row is padded
                inputs["attention_mask"] = torch.cat([mask.new_ones(len(mask), len(self.prompt)), mask], dim=1)
            if past is None or past.get_seq_length() == 0:
                embeddings = self.get_input_embeddings()(inputs.pop("input_ids"))
                prompts = self.prompt.expand(len(embeddings), -1, -1)
                inputs["inputs_embeds"] = torch.cat([prompts, embeddings], dim=1)
            for key in ("position_ids", "cache_position"):
                inputs.pop(key, None)
            return inputs

    class Newer(Prompted):
        def prepare_inputs_for_generation(self, input_ids: Any, **kwargs: Any) -> Any:
            inputs = super(Prompted, self).prepare_inputs_for_generation(input_ids, **kwargs)
            return self.prompted(inputs, inputs.get("cache"), kwargs["attention_mask"])

    class Passing(LlamaForCausalLM):
        def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            if past_key_values is not None:
                kwargs["past_key_values"] = past_key_values
            return super().prepare_inputs_for_generation(input_ids, **kwargs)

    library = small_llama(testbed)
    classes = {each.__name__: each for each in (Prompted, Newer, Passing)}
    if name not in classes:
        return library.eval()
    return testbed.fill(classes[name](library.config)).eval()
