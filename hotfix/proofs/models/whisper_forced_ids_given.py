"""A tiny Whisper that is given the ids to begin with."""

import torch

from hotfix.models.whisper_forced_ids_given import FIX
from hotfix.proofs.models._whisper import FRENCH, NO_TIMESTAMPS, TRANSLATE, whisper
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="ValueError: The following `model_kwargs` are not used by the model: \\['forced_decoder_ids'\\]",
    oracles={"*": "4.52.4"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Generated tokens, and their scores: with ids, with beams, and without any."""
    model, sound = whisper(testbed), testbed.randn(1, 8, 40)
    forced = [(1, FRENCH), (2, TRANSLATE), (3, NO_TIMESTAMPS)]
    length, results = {"max_new_tokens": 8}, {}
    for name, given in (("greedy", {}), ("beams", {"num_beams": 2})):
        output = model.generate(
            sound, forced_decoder_ids=forced, return_dict_in_generate=True, output_scores=True, **length, **given
        )
        results[name], results[f"{name} scores"] = output["sequences"], torch.stack(output["scores"])
    results["none"] = model.generate(sound, forced_decoder_ids=None, language="fr", task="translate", **length)
    return results
