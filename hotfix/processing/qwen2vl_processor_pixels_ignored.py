"""A pixel limit for a call of Qwen's processors is ignored.

Symptom   ``processor(text=..., images=..., max_pixels=...)`` produces as many image tokens as without the limit, and
          warns once: "Keyword argument `max_pixels` is not a valid argument for this processor and will be ignored".
          Before 4.47.0 it raises ``TypeError: Qwen2VLImageProcessor.preprocess() got an unexpected keyword argument
          'max_pixels'``. A direct call of an image processor: the fast one of 4.49.0 ignores the limit silently, slow
          ones before 4.50.0 raise that error.
Cause     The processors do not declare ``min_pixels`` and ``max_pixels`` as arguments for images, and drop undeclared
          arguments, or pass them to all parts. Before 4.50.0 image processors have the limits only as attributes.
Releases  Qwen2-VL 4.45.0 to 4.50.1, silent since 4.47.0; Qwen2.5-VL 4.49.0 to 4.50.1. Image processors: slow 4.45.0 to
          4.49.0, fast 4.49.0.
Upstream  vllm#13143; fixed in 4.50.0 (image processors) and in 4.50.2 (processors)
Here      Processors pass the limits of a call to the image processor, as 4.50.2 does, unless the call has
          ``images_kwargs``, the image processor has a class of your own, or it does not take them. Before 4.50.0 it
          uses them for this call only, also limits among ``images_kwargs``. Before 4.47.0 those also reach the
          tokenizer, which still raises. Bitwise equal to 4.50.2.
"""

from __future__ import annotations

import ast
import sys
from copy import copy
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.processing._places import FAST, SLOW, place

FIX = Fix(
    title="Keyword argument `max_pixels` is not a valid argument for this processor: Qwen2-VL, Qwen2.5-VL",
    kind="silent",
    upstream=("vllm#13143",),
    fixed_in="4.50.0, 4.50.2",
    errors=("TypeError: Qwen2VLImageProcessor.preprocess() got an unexpected keyword argument 'max_pixels'",),
    everyone="only for calls with limits, and for image processors of the library: the new code tests it",
    prefilter="max_pixels",
)

# The image processors of 4.50.0 and 4.50.1 keep the limits of a call, so a copy gets them.
for _model, _name, _releases in (
    ("qwen2_vl", "Qwen2VLProcessor", ">=4.45.0,<=4.50.1"),
    ("qwen2_5_vl", "Qwen2_5_VLProcessor", ">=4.49.0,<=4.50.1"),
):
    FIX.edits(
        place(_model, "processing_{}", f"{_name}.__call__", _releases),
        old=(
            "output_kwargs = self._merge_kwargs(__DECLARED, **__REST)",
            "self.image_processor(images=images, **__REST)",
            "self.image_processor(images=None, **__REST)",
        ),
        new=(
            """
            limits = {}
            taken = getattr(getattr(self.image_processor.preprocess, "__code__", None), "co_varnames", ())
            import hotfix.patching.scope as scope
            for name in ("min_pixels", "max_pixels"):
                if name in kwargs and name in taken and "images_kwargs" not in kwargs:
                    if kwargs[name] is not None and kwargs[name] != getattr(self.image_processor, name, None):
                        if scope.is_class_of("qwen2vl-processor-pixels-ignored", self.image_processor):
                            limits[name] = kwargs.pop(name)
            output_kwargs = self._merge_kwargs(__DECLARED, **__REST)
            from hotfix.processing.qwen2vl_processor_pixels_ignored import copied
            output_kwargs["images_kwargs"].update(limits)
            """,
            "(copied(self.image_processor) if limits else self.image_processor)(images=images, **__REST)",
            "(copied(self.image_processor) if limits else self.image_processor)(images=None, **__REST)",
        ),
        fingerprint_of=(f"{_name}.__call__", f"{_name}Kwargs"),
    )


def copied(image_processor: Any) -> Any:
    """A copy with a size of its own, for the limits of one call; what else it holds may be no copy."""
    result = copy(image_processor)
    vars(result).update(size=copy(image_processor.size))
    return result


def limited(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make an image processor use the limits of one call without keeping them."""

    def preprocess(
        self: Any,
        images: Any,
        *args: Any,
        min_pixels: Optional[int] = None,
        max_pixels: Optional[int] = None,
        **kwargs: Any,
    ) -> Any:
        given = {"min_pixels": min_pixels, "max_pixels": max_pixels}
        limits = {name: limit for name, limit in given.items() if limit is not None}
        if limits and is_left_to_the_program():
            return original(self, images, *args, **limits, **kwargs)  # the TypeError of the release
        if limits:
            self = copy(self)
            vars(self).update(limits)
        return original(self, images, *args, **kwargs)

    return preprocess


def is_left_to_the_program() -> bool:
    """Whether the program calls an image processor, and handles the TypeError for limits itself.

    From 4.47.0 on, a processor of the library ignores them without an error.
    """
    frame: Any = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("transformers."):
        if frame.f_code.co_name == "__call__" and "tokenizer" in frame.f_code.co_names:
            return False
        frame = frame.f_back
    return scope.is_handled_around(FIX.id, TypeError)


for _kind, _name, _releases in (
    (SLOW, "Qwen2VLImageProcessor", ">=4.45.0,<=4.49.0"),
    (FAST, "Qwen2VLImageProcessorFast", "==4.49.0"),
):
    _place = place("qwen2_vl", _kind, f"{_name}.preprocess", _releases)
    FIX.wraps(_place, fingerprint_of=(f"{_name}.preprocess", f"{_name}._preprocess"))(limited)


@FIX.recognises
def is_broken(function: ast.FunctionDef, other: ast.AST) -> bool:
    """Whether a processor declares no arguments for images, or an image processor uses attributes only.

    Since 5.0.0 processors read the arguments of the image processor; videos have their own processor by then.
    """
    parts = {ast.unparse(node) for node in ast.walk(other) if isinstance(node, (ast.AnnAssign, ast.Attribute))}
    if isinstance(other, ast.ClassDef):
        rewrite = FIX.targets[0].implementation
        return rewrite.occurs_in(function) and not any(part.startswith("images_kwargs:") for part in parts)
    taken = {argument.arg for argument in function.args.args + function.args.kwonlyargs}
    return "self.max_pixels" in parts and "max_pixels" not in taken
