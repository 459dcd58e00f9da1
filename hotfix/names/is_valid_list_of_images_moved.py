"""``is_valid_list_of_images`` is gone from the image processor of Mllama.

Symptom   ``ImportError: cannot import name 'is_valid_list_of_images' from
          'transformers.models.mllama.image_processing_mllama'`` from sglang before 0.4.4.
Cause     It moved to ``transformers.image_utils``, and the image processor no longer uses it.
Releases  4.49.0 and later
Upstream  transformers#34182 (not put back)
Here      The function of 4.48.3: whether there are images and all of them are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_valid_list_of_images' from '...mllama.image_processing_mllama'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.models.mllama.image_processing_mllama:is_valid_list_of_images", ">=4.49.0"))
def made(processing: Any) -> Callable[[Sequence[Any]], Any]:
    """A function that returns whether all items of a list are images; an empty list is returned itself."""
    from importlib import import_module

    images_module: Any = import_module("transformers.image_utils")

    def is_valid_list_of_images(images: Sequence[Any]) -> Any:
        return images and all(map(images_module.is_valid_image, images))

    return is_valid_list_of_images
