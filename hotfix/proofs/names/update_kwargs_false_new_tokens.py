"""The proof: a Llama with an override of 4.43 generates."""

from typing import Any

import torch

from hotfix.names.update_kwargs_false_new_tokens import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "4.43.4"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens of a Llama whose override passes both arguments on by position."""
    model = small_llama(testbed).eval()
    kind: Any = type(model)

    class Own(kind):
        def _update_model_kwargs_for_generation(
            self,
            outputs: Any,
            model_kwargs: dict[str, Any],
            is_encoder_decoder: bool = False,
            standardize_cache_format: bool = False,
        ) -> Any:
            return super()._update_model_kwargs_for_generation(
                outputs, model_kwargs, is_encoder_decoder, standardize_cache_format
            )

    model.__class__ = Own
    return written(testbed, model)


def written(testbed: Testbed, model: Any) -> dict[str, torch.Tensor]:
    """The tokens that a Llama writes, one row padded on the left, by greedy and by beam search."""
    prompt = testbed.randint(3, 32, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    return {
        str(beams): model.generate(
            prompt,
            attention_mask=mask,
            max_new_tokens=6,
            num_beams=beams,
            do_sample=False,
            pad_token_id=0,
            eos_token_id=-1,
        )
        for beams in (1, 2)
    }
