"""The case of `internvl-files-without-video-token`."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from hotfix.processing.internvl_files_without_video_token import FIX
from hotfix.proofs.testbed import Target, Testbed

NAMES = ("start_image_token", "end_image_token", "context_image_token")


@FIX.case(
    raises="AttributeError: .* has no attribute 'video_token'",
    packages={"torchvision": "0.28.0"},
    oracles={"*": ""},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The marks of a processor, by files that name a token of videos, and by files that do not."""
    from transformers.models.internvl.processing_internvl import InternVLProcessor
    from transformers.processing_utils import ProcessorMixin

    earlier: dict[str, Any] = {name: f"<{name}>" for name in NAMES}
    earlier.update({f"{name}_id": number for number, name in enumerate(NAMES)})
    marks = []
    with mock.patch.object(ProcessorMixin, "__init__", return_value=None):
        for files in ({**earlier, "video_token": "<video>"}, {**earlier, "video_token": "<clip>"}, earlier):
            processor = InternVLProcessor(None, SimpleNamespace(**files))
            marks.append(f"{processor.image_token} {processor.video_token}")
    return {"marks": torch.tensor(list("\n".join(marks).encode()))}
