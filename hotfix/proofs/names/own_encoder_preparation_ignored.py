"""The proof: models of one's own, whose encoders get something that the library does not pass, generate."""

from typing import Any

import torch

from hotfix.names.own_encoder_preparation_ignored import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "4.40.2"}, with_fixes=("v5-model-methods-removed",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens, by greedy and by beam search: an override of its time, and one that calls the library's method."""
    from transformers import T5ForConditionalGeneration

    class Joining(T5ForConditionalGeneration):
        def _prepare_encoder_decoder_kwargs_for_generation(
            self, inputs_tensor: torch.Tensor, model_kwargs: dict[str, Any], model_input_name: Any = None
        ) -> dict[str, Any]:
            embedded = self.get_encoder().embed_tokens(inputs_tensor) * 2
            model_kwargs["encoder_outputs"] = self.get_encoder()(
                inputs_embeds=embedded, attention_mask=model_kwargs["attention_mask"], return_dict=True
            )
            return model_kwargs

    class Halving(T5ForConditionalGeneration):
        def _prepare_encoder_decoder_kwargs_for_generation(self, inputs_tensor: torch.Tensor, *args: Any) -> Any:
            model_kwargs = super()._prepare_encoder_decoder_kwargs_for_generation(inputs_tensor, *args)
            model_kwargs["encoder_outputs"].last_hidden_state *= -1
            return model_kwargs

    results = {}
    for kind in (Joining, Halving):
        results.update({f"{kind.__name__}: {name}": value for name, value in written(testbed, kind).items()})
    return results


def written(testbed: Testbed, kind: Any) -> dict[str, torch.Tensor]:
    """The tokens that a small model writes, by greedy and by beam search.

    Args:
        testbed: the testbed.
        kind: the class of the model, a T5.
    """
    from transformers import T5Config

    config = T5Config(
        vocab_size=32, d_model=16, d_ff=16, d_kv=4, num_layers=2, num_heads=4, decoder_start_token_id=0, eos_token_id=1
    )
    prompt = testbed.randint(3, 32, 2, 5, seed=3)
    model = testbed.fill(kind(config)).eval()
    mask = torch.ones_like(prompt)
    return {
        f"beams {beams}": model.generate(
            prompt, attention_mask=mask, max_new_tokens=6, num_beams=beams, do_sample=False
        )
        for beams in (1, 2)
    }
