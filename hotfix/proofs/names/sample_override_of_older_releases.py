"""The proof: overrides of ``_sample`` as they were written for 4.44.2, of which 4.44.2 is the oracle."""

from typing import Any

import torch

from hotfix.names.sample_override_of_older_releases import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama

_STEPS = 4
_WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "greedy, normalised": {"do_sample": False, "renormalize_logits": True, "repetition_penalty": 1.5},
    "drawn": {"do_sample": True, "temperature": 0.7, "top_k": 6, "top_p": 0.9, "repetition_penalty": 1.5},
    "normalised": {"do_sample": True, "temperature": 0.7, "top_k": 6, "renormalize_logits": True},
    "without warpers": {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0},
    "own processor": {"do_sample": True, "temperature": 0.7, "top_k": 6, "top_p": 1.0},
}


@FIX.case(raises="TypeError: .*_sample\\(\\) missing \\d required positional", oracles={"*": "4.44.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One that applies both lists, one that applies the warpers alone, and one that leaves it to the library."""
    from transformers import LogitsProcessorList, TemperatureLogitsWarper

    model = small_llama(testbed)
    library: Any = type(model)
    table = testbed.randn(model.config.vocab_size, model.config.vocab_size)

    class Own(library):
        both = True

        def _sample(
            self,
            input_ids: Any,
            logits_processor: Any,
            stopping_criteria: Any,
            generation_config: Any,
            synced_gpus: bool,
            streamer: Any,
            logits_warper: Any,
            **model_kwargs: Any,
        ) -> Any:
            drawn = generation_config.do_sample
            assert (logits_warper is not None) == drawn and streamer is None and not synced_gpus  # noqa: PT018
            for _ in range(_STEPS):
                scores = table[input_ids[:, -1]]
                if self.both:
                    scores = logits_processor(input_ids, scores)
                if drawn:
                    scores = logits_warper(input_ids, scores)
                self.seen.append(scores)
                probabilities = scores.softmax(-1)
                following = torch.multinomial(probabilities, 1) if drawn else scores.argmax(-1, keepdim=True)
                input_ids = torch.cat([input_ids, following], -1)
            return input_ids

    class WarpersAlone(Own):
        both = False

    class Leaving(library):
        seen: Any

        def _sample(self, input_ids: Any, **kwargs: Any) -> Any:
            return super()._sample(input_ids, **kwargs)

    ids = testbed.randint(3, 30, 2, 4)
    results = {}
    for cls in (Own, WarpersAlone, Leaving):
        model.__class__ = cls
        for way, options in _WAYS.items():
            torch.manual_seed(7)
            model.seen = []
            more = {}
            if way == "own processor":
                more["logits_processor"] = LogitsProcessorList([TemperatureLogitsWarper(0.5)])
            tokens = model.generate(ids, max_new_tokens=_STEPS, pad_token_id=0, eos_token_id=None, **options, **more)
            results[f"{cls.__name__}: {way}"] = torch.tensor(tokens.shape) if cls is Leaving else tokens
            if model.seen:
                results[f"{cls.__name__}: {way}, scores"] = torch.stack(model.seen)
    return results
