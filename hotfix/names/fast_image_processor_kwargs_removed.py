"""``DefaultFastImageProcessorKwargs`` is gone, from which image processors inherit the names of their arguments.

Symptom   ``ImportError: cannot import name 'DefaultFastImageProcessorKwargs' from
          'transformers.image_processing_utils_fast'``, from remote code and custom processors.
Cause     ``ImagesKwargs`` took its place.
Releases  5.0.0 to 5.3.0; after that the module is another one
Upstream  tt-xla#4270 (not put back)
Here      The release's ``ImagesKwargs``, with the one key that it lacks.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'DefaultFastImageProcessorKwargs'",
    kind="removed-api",
    upstream=("tt-xla#4270",),
    group="removed-names",
)

LEAF = "transformers.image_processing_utils_fast"


@FIX.adds_made((f"{LEAF}:DefaultFastImageProcessorKwargs", ">=5.0.0,<=5.3.0"))
def kwargs_of_images(fast: Any) -> Any:
    """The keys that every image processor takes."""
    from transformers.processing_utils import ImagesKwargs

    class DefaultFastImageProcessorKwargs(ImagesKwargs, total=False):  # type: ignore[misc,call-arg,unused-ignore]
        default_to_square: Optional[bool]

    DefaultFastImageProcessorKwargs.__module__ = LEAF
    DefaultFastImageProcessorKwargs.__qualname__ = "DefaultFastImageProcessorKwargs"
    return DefaultFastImageProcessorKwargs
