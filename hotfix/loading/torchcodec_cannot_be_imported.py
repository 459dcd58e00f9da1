"""Pipelines for audio crash if torchcodec is installed and cannot be loaded, even for arrays.

Symptom   ``RuntimeError: Could not load libtorchcodec. Likely causes: FFmpeg is not properly installed …`` from a
          pipeline for speech recognition or audio classification, and from ``load_audio``.
Cause     The release concludes from metadata that torchcodec can be used, and imports it to see whether the input is
          one of its decoders.
Releases  4.54.0 to 5.22.2
Upstream  many reports to torchcodec and datasets; 5.23.0 tries the import first
Here      Before these functions import torchcodec, it is imported once as a test. If that fails, it counts as missing
          for them, and one warning gives the reason: arrays need none, and files are read by librosa or ffmpeg, as in
          releases before torchcodec. A program that handles the error gets it, and one that has put its own
          ``load_audio_torchcodec`` in place is left alone.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

from ._loadable import where_it_can_be_imported

FIX = Fix(
    title="Audio pipelines: Could not load libtorchcodec",
    kind="crash",
    errors=("RuntimeError: Could not load libtorchcodec. Likely causes:…",),
    everyone="only functions of the library that import torchcodec next, and only if that fails",
    needs={"torchcodec": ">=0.1"},
    fixed_in="5.23.0",
    prefilter="def is_torchcodec_available",
)

TORCHCODEC = "transformers.utils.import_utils:is_torchcodec_available"
PIPELINES = ("audio_classification", "automatic_speech_recognition")
# The functions that import it if it is available.
IMPORTERS = {
    "transformers.audio_utils": "load_audio",
    **{f"transformers.pipelines.{name}": "preprocess" for name in PIPELINES},
}
USER = "transformers.pipelines.audio_classification:AudioClassificationPipeline.preprocess"


def imports_it(frame: types.FrameType) -> bool:
    """Whether a frame is of a function that imports torchcodec next."""
    if IMPORTERS.get(str(frame.f_globals.get("__name__"))) != frame.f_code.co_name:
        return False
    reads = frame.f_globals.get("load_audio_torchcodec")
    return reads is None or frame.f_code.co_name == "preprocess" or scope.is_own(FIX.id, reads)


@FIX.wraps((TORCHCODEC, ">=4.54.0,<5.23.0"), fingerprint_of=("is_torchcodec_available", USER))
def that_can_be_imported(original: Callable[..., Any]) -> Callable[..., Any]:
    """Whether torchcodec is installed and, for functions that import it, can be imported."""
    return where_it_can_be_imported(original, "torchcodec", FIX.id, imports_it)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether the pipeline imports torchcodec if the metadata says that it is there."""
    calls = (ast.unparse(node) for function in functions for node in ast.walk(function) if isinstance(node, ast.If))
    return any(text.startswith("if is_torchcodec_available():") and "import torchcodec" in text for text in calls)
