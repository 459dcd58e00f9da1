"""A subclass of a vision-language model is loaded with random weights.

Symptom   Silent except for "Some weights of … were not initialized": ``class Reward(Qwen2VLForConditionalGeneration)``
          (ColQwen2, reward models) has random weights after ``from_pretrained``.
Cause     The release maps names of the Hub only if the name of the class contains that of a model of the library.
Releases  4.52.1 to 4.53.0
Upstream  fixed in 4.53.1
Here      Reading a file also considers the library's classes that it extends. A file with the names of the model is
          read as before. Saving uses the names of the release, so that a process without hotfix can read the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library

FIX = Fix(
    title="Subclass of Qwen2VLForConditionalGeneration has random weights after from_pretrained",
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
    """Map names of the Hub to those of a class that extends one of the library.

    Names of the class's own modules are not names of the Hub: a pattern has to match whole parts of a name, and the
    text model of the Hub has layers, embeddings and a norm.

    Args:
        cls: the class.
        known: pieces of the names of the library's classes, in lower case.
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
