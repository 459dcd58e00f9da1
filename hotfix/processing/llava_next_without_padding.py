"""The image processors of LLaVA-NeXT and LLaVA-OneVision cannot leave images without padding.

Symptom   ``UnboundLocalError: cannot access local variable 'processed_images' where it is not associated with a value``
          for ``do_pad=False``.
Cause     The patches of the images have a name only after they were padded.
Releases  4.41.0 to 4.56.2
Upstream  transformers#40577 (first fixed in 4.57.1)
Here      Without padding, the patches as they are, as since 4.57.1. A program that handles the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="UnboundLocalError: 'processed_images', with do_pad=False in LLaVA-NeXT and LLaVA-OneVision",
    kind="crash",
    fixed_in="4.57.1",
    upstream=("#40577",),
    errors=("UnboundLocalError: cannot access local variable 'processed_images' where it is not associated with …",),
    everyone="only where the release has no value to return: the new code tests it",
)

_MODELS = "transformers.models"

FIX.edits(
    (
        f"{_MODELS}.llava_next.image_processing_llava_next:LlavaNextImageProcessor.preprocess",
        ">=4.41.0,<=4.56.2",
    ),
    (
        f"{_MODELS}.llava_onevision.image_processing_llava_onevision:LlavaOnevisionImageProcessor.preprocess",
        ">=4.45.0,<=4.56.2",
    ),
    old="""
        if do_pad:
            processed_images = self._pad_for_batching(new_images)
    """,
    new=f"""
        from {__name__} import are_given
        if do_pad:
            processed_images = self._pad_for_batching(new_images)
        elif are_given():
            processed_images = new_images
    """,
)


def are_given() -> bool:
    """Whether the caller gets images without padding: not if it handles the release's error."""
    return not scope.is_handled_around(FIX.id, UnboundLocalError)
