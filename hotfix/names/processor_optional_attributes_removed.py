"""Processors take no ``optional_attributes``, and names for their arguments are gone.

Symptom   ``TypeError: Unexpected keyword argument time_mode.`` while remote code of Molmo2 or HyperCLOVAX-SEED-Vision
          builds its processor; before that, ``ImportError: cannot import name 'ChatTemplateLoadKwargs' from
          'transformers.processing_utils'``.
Cause     ``ProcessorMixin`` finds its parts in the signature of the class, and no longer reads which keywords a class
          has called optional. Two ``TypedDict`` that remote code inherits from were removed.
Releases  5.0.0 and later; ``ChatTemplateLoadKwargs`` 5.1.0 and later
Upstream  vllm#35101, transformers#44447 (not put back)
Here      Where a class names optional attributes, those keywords become attributes, None where they are not given, as
          in 4.57.6; ``chat_template`` and ``audio_tokenizer`` are left to the release. Both ``TypedDict`` have the
          keys and defaults of 4.57.6.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable, Optional, TypedDict, Union

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: Unexpected keyword argument, for an argument that a processor calls optional",
    kind="removed-api",
    upstream=("vllm#35101", "transformers#44447"),
    group="removed-names",
    errors=(
        "TypeError: Unexpected keyword argument time_mode.",
        "TypeError: Unexpected keyword argument image_use_col_tokens.",
    ),
    on_error=("TypeError: Unexpected keyword argument …",),
    prefilter="get_attributes():",
)

LEAF = "transformers.processing_utils"
KNOWN = ("chat_template", "audio_tokenizer")


@FIX.recognises
def goes_by_the_signature(node: ast.AST) -> bool:
    """Whether it sets the arguments in the signature of the class, but not its optional attributes."""
    text = ast.unparse(node)
    return (
        isinstance(node, ast.FunctionDef)
        and node.name == "__init__"
        and "self.get_attributes()" in text
        and "Unexpected keyword argument" in text
        and "optional_attributes" not in text
    )


@FIX.wraps((f"{LEAF}:ProcessorMixin.__init__", ">=5.0.0"))
def initialised(original: Callable[..., None]) -> Callable[..., None]:
    """Set the optional attributes first; the original gets the rest."""

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in getattr(self, "optional_attributes", ()):
            if name not in KNOWN:
                setattr(self, name, kwargs.pop(name, None))
        original(self, *args, **kwargs)

    return initialise


@FIX.adds_made((f"{LEAF}:CommonKwargs", ">=5.0.0"))
def common(processing_utils: Any) -> Any:
    """The arguments of all processors."""
    return _typed_dict("CommonKwargs", {"return_tensors": Optional[Union[str, processing_utils.TensorType]]})


@FIX.adds_made((f"{LEAF}:ChatTemplateLoadKwargs", ">=5.1.0"))
def loading(processing_utils: Any) -> Any:
    """The options for loading media of a chat; the defaults are attributes of the class."""
    keys = {"sampling_rate": Optional[int], "load_audio_from_video": Optional[bool]}
    made = _typed_dict("ChatTemplateLoadKwargs", keys)
    made.sampling_rate, made.load_audio_from_video = 16_000, False
    return made


def _typed_dict(name: str, keys: dict[str, Any]) -> Any:
    # Under another name, since type checkers want to see the keys.
    make: Any = TypedDict
    made = make(name, keys, total=False)
    made.__module__ = LEAF
    return made
