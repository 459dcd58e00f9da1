"""A tiny Whisper whose generation configuration has ids to begin with, with and without a language."""

import torch

from hotfix.models.whisper_own_forced_ids_refused import FIX
from hotfix.proofs.models._whisper import ENGLISH, NO_TIMESTAMPS, TRANSCRIBE, whisper
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ValueError: You have explicitly specified `forced_decoder_ids`", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Generated tokens, and their scores: with the ids of the model, and with a language and a task of the call."""
    model = whisper(testbed, forced_decoder_ids=[[1, ENGLISH], [2, TRANSCRIBE], [3, NO_TIMESTAMPS]])
    sound = testbed.randn(1, 8, 40)
    results = {}
    for name, given in (("own", {}), ("french", {"language": "fr", "task": "translate"})):
        output = model.generate(sound, return_dict_in_generate=True, output_scores=True, **given)
        results[name], results[f"{name} scores"] = output["sequences"], torch.stack(output["scores"])
    return results
