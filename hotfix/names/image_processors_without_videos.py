"""Image processors refuse ``videos=None``, which code for 4.x passes to them.

Symptom   ``TypeError: Qwen2VLImageProcessor.preprocess() got an unexpected keyword argument 'videos'``, or
          ``Qwen2VLImageProcessorKwargs.__init__() got an unexpected keyword argument 'videos'``; the same from the
          image processors of GLM-4V, and from that of VideoLLaMA 3 since 5.4.0.
Cause     Videos have a processor of their own, and the image processors lost the parameter.
Releases  5.0.0 and later
Upstream  lerobot#3008 (not put back)
Here      After the error, ``videos=None`` is left out. Any other value raises as before, and a program that handles the
          error gets it.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

_OLD, _LATER = ">=5.0.0,<=5.3.0", ">=5.4.0"
_PROCESSORS = {
    "qwen2_vl.image_processing_qwen2_vl Qwen2VLImageProcessor": ">=5.0.0",
    "qwen2_vl.image_processing_qwen2_vl_fast Qwen2VLImageProcessorFast": _OLD,
    "qwen2_vl.image_processing_pil_qwen2_vl Qwen2VLImageProcessorPil": _LATER,
    "glm4v.image_processing_glm4v Glm4vImageProcessor": ">=5.0.0",
    "glm4v.image_processing_glm4v_fast Glm4vImageProcessorFast": _OLD,
    "glm4v.image_processing_pil_glm4v Glm4vImageProcessorPil": _LATER,
    "video_llama_3.image_processing_video_llama_3 VideoLlama3ImageProcessor": _LATER,
    "video_llama_3.image_processing_pil_video_llama_3 VideoLlama3ImageProcessorPil": _LATER,
}
_NAMES = {place.split()[1] for place in _PROCESSORS}

FIX = Fix(
    title="TypeError: Qwen2VLImageProcessor.preprocess() got an unexpected keyword argument 'videos'",
    kind="removed-api",
    group="removed-names",
    upstream=("lerobot#3008",),
    errors=(
        "TypeError: Qwen2VLImageProcessor.preprocess() got an unexpected keyword argument 'videos'",
        "TypeError: Qwen2VLImageProcessorKwargs.__init__() got an unexpected keyword argument 'videos'",
        "TypeError: Glm4vImageProcessor.preprocess() got an unexpected keyword argument 'videos'",
        "TypeError: Glm4vImageProcessorKwargs.__init__() got an unexpected keyword argument 'videos'",
        "TypeError: VideoLlama3ImageProcessorKwargs.__init__() got an unexpected keyword argument 'videos'",
    ),
    everyone="only after the error for this argument, where it is None: the new code tests it",
    prefilter="def preprocess(",
)


def without_no_videos(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call without ``videos=None``, if it is refused with it."""

    def preprocess(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except TypeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            known = getattr(getattr(self, "valid_kwargs", None), "__name__", "")
            takers = (original.__qualname__, f"{known}.__init__")
            if kwargs.get("videos", ()) is not None or not _refuses_videos(_hotfix_error, takers):
                raise
        del kwargs["videos"]
        return original(self, *args, **kwargs)

    return preprocess


def _refuses_videos(error: TypeError, takers: tuple[str, ...]) -> bool:
    """Whether an error is that of one of these functions for the argument, and the program does not handle it."""
    if str(error) not in [f"{taker}() got an unexpected keyword argument 'videos'" for taker in takers]:
        return False
    return not scope.is_handled_around(FIX.id, TypeError)


for _place, _releases in _PROCESSORS.items():
    _module, _name = _place.split()
    FIX.wraps((f"transformers.models.{_module}:{_name}.preprocess", _releases), fingerprint_of=(_name,))(
        without_no_videos
    )


@FIX.recognises
def has_no_videos(definition: ast.AST) -> bool:
    """One of the image processors whose `preprocess` has lost the parameter."""
    if not isinstance(definition, ast.ClassDef) or definition.name not in _NAMES:
        return False
    methods = [each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == "preprocess"]
    if occurs("valid_kwargs = Glm4vFastImageProcessorKwargs", definition):
        return False  # before 5.0, other arguments are ignored
    return any("videos" not in {argument.arg for argument in method.args.args} for method in methods)
