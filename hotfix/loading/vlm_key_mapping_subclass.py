"""A class of one's own that extends a vision-language model is loaded with random weights.

Symptom   Silent but for "Some weights of … were not initialized": ``class Reward(Qwen2VLForConditionalGeneration)``
          (ColQwen2, reward models) has random weights after ``from_pretrained``.
Cause     Whether names of the Hub are to be mapped goes by the name of the class itself, in which none of the names of
          the library stands.
Releases  4.52.1 to 4.53.0
Upstream  fixed in 4.53.1
Here      The classes of the library that it extends are asked, too, when a file is read; a file with the names of the
          model itself is read as before. What is saved has the names that the release gives it, so that a process
          without hotfix reads it, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library

FIX = Fix(
    title="A class of one's own that extends a vision-language model is loaded with random weights",
    kind="silent",
    everyone="only where a class extends one of the library: the new code tests it itself",
    fixed_in="4.53.1",
    exempt={"transformers.integrations.peft:PeftAdapterMixin.load_adapter": "upstream has not repaired it in 4.x"},
)

RELEASES = ">=4.52.1,<=4.53.0"

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", RELEASES),
    old='key_mapping = kwargs.pop("key_mapping", None)',
    new=f"""
        from {__name__} import mapping_of
        key_mapping = kwargs.pop("key_mapping", mapping_of(cls, VLMS))
        """,
    beside="any(allowed_name in cls.__name__.lower() for allowed_name in VLMS)",
)


def mapping_of(cls: Any, known: Iterable[str]) -> Optional[dict[str, str]]:
    """How names of the Hub become those of a class that extends one of the library.

    What the class calls its own parts is no name of the Hub: a pattern has to end with a part of a name, and the text
    model of the Hub has layers, embeddings and a norm.

    Args:
        cls: the class.
        known: what the names of the library's classes contain, in small letters.
    """
    parts = list(known)
    if any(name in cls.__name__.lower() for name in parts):
        return None  # the release itself maps these
    for base in cls.__mro__[1:-1]:
        if is_of_the_library(base) and any(name in base.__name__.lower() for name in parts):
            mapping = vars(base).get("_checkpoint_conversion_mapping")
            if mapping is None or mapping is not cls._checkpoint_conversion_mapping:
                return None
            return {_whole(pattern): replacement for pattern, replacement in mapping.items()}
    return None


def _whole(pattern: str) -> str:
    is_text = pattern.startswith("^model")
    return pattern + (r"(?=\.(?:layers|embed_tokens|norm)\.)" if is_text else r"(?=\.|$)")
