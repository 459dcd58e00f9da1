"""Processors with an argument of a later release cannot be loaded.

Symptom   ``TypeError: LlavaNextProcessor.__init__() got an unexpected keyword argument 'image_token'`` (or
          ``'patch_size'``, ``'num_additional_image_tokens'``, …) from ``from_pretrained`` of a processor.
Cause     Everything in ``processor_config.json`` is passed to the class, whether it knows it or not.
Releases  4.37.0 to 4.52.4
Upstream  taggui#303, E5-V#14 (fixed in 4.53.0)
Here      After the TypeError, arguments that the class does not know are left out, as in 4.53.0. A chat template is
          none of them: without it, conversations would be written in another form.
"""

from __future__ import annotations

import inspect
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: LlavaNextProcessor.__init__() got an unexpected keyword argument 'image_token'",
    kind="loading",
    upstream=("taggui#303", "E5-V#14"),
    fixed_in="4.53.0",
    errors=tuple(
        f"TypeError: …Processor.__init__() got an unexpected keyword argument '{name}'"
        for name in ("image_token", "patch_size", "num_additional_image_tokens", "vision_feature_select_strategy")
    ),
    on_error=("TypeError: …__init__() got an unexpected keyword argument …",),
)

FIX.edits(
    ("transformers.processing_utils:ProcessorMixin.from_args_and_dict", ">=4.37.0,<4.53.0"),
    old="processor = cls(*args, **processor_dict)",
    new=f"""
        from {__name__} import known
        processor = cls(*args, **known(cls, processor_dict))
        """,
)


def known(cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments from a file that a class takes.

    Args:
        cls: the class of the processor.
        given: all arguments.
    """
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return given
    return {name: value for name, value in given.items() if name in parameters or name == "chat_template"}
