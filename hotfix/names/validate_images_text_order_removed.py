"""``_validate_images_text_input_order`` is gone from ``transformers.processing_utils``.

Symptom   ``ImportError: cannot import name '_validate_images_text_input_order' from 'transformers.processing_utils'``
          from the processors of Kimi-VL and A.X-4.0-VL, and from wrappers around HunyuanVideo.
Cause     The transition period for ``processor(text, images)`` has ended.
Releases  4.54.0 and later
Upstream  not put back
Here      The function of 4.53.3: arguments in the right order are returned as they are, swapped ones are swapped back,
          others raise a ValueError.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name '_validate_images_text_input_order'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.processing_utils:_validate_images_text_input_order", ">=4.54.0"))
def validate_images_text_input_order(processing_utils: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function of images and text that returns images and text."""

    def _validate_images_text_input_order(images: Any, text: Any) -> tuple[Any, Any]:
        if (images is None or _are_images(images)) and (text is None or _is_text(text)):
            return images, text
        exchanged = _are_images(text), _is_text(images)
        if all(exchanged) or (images is None and exchanged[0]) or (text is None and exchanged[1]):
            processing_utils.logger.warning(
                "`images` and `text` were given in the wrong order: `images` come first. They are exchanged."
            )
            return text, images
        raise ValueError("Invalid input type. Check that `images` and/or `text` are valid inputs.")

    return _validate_images_text_input_order


def _are_images(thing: Any) -> bool:
    """Images, their addresses, or lists of such; an empty list is one of images."""
    from importlib import import_module

    if isinstance(thing, (list, tuple)):
        return all(map(_are_images, thing))
    is_url = isinstance(thing, str) and thing.startswith("http")
    return is_url or bool(import_module("transformers.image_utils").is_valid_image(thing))


def _is_text(thing: Any) -> bool:
    """A string, or a list that begins with one, or with such a list: the rest was not looked at."""
    while isinstance(thing, (list, tuple)) and thing:
        thing = thing[0]
    return isinstance(thing, str)
