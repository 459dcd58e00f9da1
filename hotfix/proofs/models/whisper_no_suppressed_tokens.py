"""A tiny Whisper that suppresses no token."""

import torch

from hotfix.models.whisper_no_suppressed_tokens import FIX
from hotfix.proofs.models._whisper import whisper
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="IndexError: ", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Generated tokens: those with an empty list are those without a list. Up to 4.42.4, only two segments show it."""
    from packaging.version import Version
    from transformers import __version__

    is_old = Version(__version__) < Version("4.43.0")
    sound, said = testbed.randn(1, 8, 80 if is_old else 40), {"language": "fr", "task": "translate"}
    empty, without = (  # type: ignore[var-annotated,unused-ignore]
        whisper(testbed, suppress_tokens=suppressed).generate(sound, return_timestamps=is_old, use_cache=False, **said)
        for suppressed in ([], None)
    )
    return {"as without a list": torch.tensor(torch.equal(empty, without)), "dimensions": torch.tensor(empty.ndim)}
