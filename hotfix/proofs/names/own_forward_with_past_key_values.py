"""The proof: subclasses of Llama with a `forward` of their own, as they were written to 5.23, generate."""

from typing import Any

import torch

from hotfix.names.own_forward_with_past_key_values import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "5.23.0"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens by greedy and by beam search, with a cache and without, the first row padded on the left."""
    prompt = testbed.randint(3, 32, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    results = {}
    for name in ("Llama", *CLASSES):
        model = model_of(testbed, name)
        embeddings = model.get_input_embeddings()(prompt)
        for way, options in (
            ("greedy", {}),
            ("beams", {"num_beams": 2}),
            ("no cache", {"use_cache": False}),
            ("embeddings", {"inputs_embeds": embeddings}),
        ):
            results[f"{name}: {way}"] = model.generate(
                None if "inputs_embeds" in options else prompt,
                attention_mask=mask,
                max_new_tokens=6,
                do_sample=False,
                pad_token_id=0,
                eos_token_id=-1,
                **options,
            )
    return results


CLASSES = ("Explained", "Prepared", "Embedded")


def model_of(testbed: Testbed, name: str) -> Any:
    """A tiny Llama, or a subclass of it.

    Args:
        testbed: the testbed.
        name: ``Llama``; ``Explained`` for one with a forward of its own; ``Prepared`` for one that prepares its inputs
            as well, with the help of the library; ``Embedded`` for one that does so without, from embeddings as well;
            ``Newer`` for one that was written for 5.24.
    """
    from transformers import LlamaForCausalLM

    class Explained(LlamaForCausalLM):
        def forward(
            self, input_ids: Any = None, attention_mask: Any = None, past_key_values: Any = None, **kwargs: Any
        ) -> Any:
            return super().forward(
                input_ids=input_ids,
                inputs_embeds=kwargs.get("inputs_embeds"),
                attention_mask=attention_mask,
                position_ids=kwargs.get("position_ids"),
                past_key_values=past_key_values,
                use_cache=kwargs.get("use_cache"),
            )

    class Prepared(Explained):
        def prepare_inputs_for_generation(
            self, input_ids: Any, past_key_values: Any = None, inputs_embeds: Any = None, **kwargs: Any
        ) -> Any:
            images = kwargs.pop("images", None)
            if past_key_values is not None:
                kwargs["past_key_values"] = past_key_values
            inputs = super().prepare_inputs_for_generation(input_ids, inputs_embeds=inputs_embeds, **kwargs)
            return inputs if images is None else {**inputs, "images": images}

    class Embedded(LlamaForCausalLM):
        def prepare_inputs_for_generation(
            self,
            input_ids: Any,
            past_key_values: Any = None,
            attention_mask: Any = None,
            inputs_embeds: Any = None,
            **kwargs: Any,
        ) -> Any:
            seen = 0 if past_key_values is None else past_key_values.get_seq_length()
            inputs: dict[str, Any] = {"input_ids": input_ids[:, -1:] if seen else input_ids}
            if inputs_embeds is not None and not seen:
                inputs = {"inputs_embeds": inputs_embeds}
            new = next(iter(inputs.values())).shape[1]
            if attention_mask is None:
                positions = torch.arange(seen, seen + new)[None]
            else:
                positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)[:, -new:]
            past = {"past_key_values": past_key_values, "use_cache": kwargs.get("use_cache")}
            return {**inputs, **past, "attention_mask": attention_mask, "position_ids": positions}

    class Newer(LlamaForCausalLM):
        def forward(self, input_ids: Any = None, attention_mask: Any = None, cache: Any = None, **kwargs: Any) -> Any:
            return super().forward(input_ids=input_ids, attention_mask=attention_mask, cache=cache, **kwargs)

    library = small_llama(testbed)
    classes = {each.__name__: each for each in (Explained, Prepared, Embedded, Newer)}
    if name not in classes:
        return library.eval()
    return testbed.fill(classes[name](library.config)).eval()
