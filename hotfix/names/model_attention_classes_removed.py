"""Tables of attention classes are gone, and so are the docstring constants of the same modules.

Symptom   ``ImportError: cannot import name 'GEMMA2_ATTENTION_CLASSES' from
          'transformers.models.gemma2.modeling_gemma2'`` (FlagEmbedding), ``AttributeError: module
          'transformers.models.llama.modeling_llama' has no attribute 'LLAMA_ATTENTION_CLASSES'`` (fsdp_qlora, qai_hub);
          the same of ``QWEN2_START_DOCSTRING`` (BiLLM).
Cause     One class serves every attention implementation, and a decorator builds docstrings.
Releases  tables: Gemma 2 4.47.0 and later, Gemma, Llama, Mistral, Mixtral, Phi-3 and Qwen2 4.48.0 and later; texts of
          Gemma 2, Llama, Mistral and Qwen2 4.52.1 and later
Upstream  transformers#35235, transformers#35910 (not put back)
Here      The import works. A table has its old keys; reading or setting a class is an error with an explanation, since
          the library no longer reads the table. The docstring constants are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'GEMMA2_ATTENTION_CLASSES' from 'transformers.models.gemma2...'",
    kind="removed-api",
    upstream=("transformers#35235", "transformers#35910"),
    group="removed-names",
    errors=(
        "AttributeError: module 'transformers.models.llama.modeling_llama' has no attribute 'LLAMA_ATTENTION_CLASSES'",
    ),
)

KEYS = ("eager", "flash_attention_2", "sdpa")

# Package, and the releases that lack the table and the texts.
TABLES = {
    "gemma": ">=4.48.0",
    "gemma2": ">=4.47.0",
    "llama": ">=4.48.0",
    "mistral": ">=4.48.0",
    "mixtral": ">=4.48.0",
    "phi3": ">=4.48.0",
    "qwen2": ">=4.48.0",
}
TEXTS = ("gemma2", "llama", "mistral", "qwen2")


class Table(dict[str, None]):
    """The keys of a removed table.

    Args:
        name: the name of the table.
        now: the name of the class for every implementation.
    """

    def __init__(self, name: str, now: str) -> None:
        super().__init__(dict.fromkeys(KEYS))
        self._instead = (
            f"{name} is gone from this release of transformers, and hotfix gives its keys only: nothing reads it any "
            f"more. {now} is the class for every kind of attention; it takes position_embeddings and returns two "
            "values. To change attention, use transformers.AttentionInterface; code that needs the old classes needs "
            "transformers 4.46.3."
        )

    def __iter__(self) -> Iterator[str]:
        """The keys. With this method a copy of the table reads its values, and gets the error."""
        return super().__iter__()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self._instead)  # no AttributeError, of which `{**table}` makes another one

    __getitem__ = __setitem__ = __delitem__ = __ior__ = __or__ = _refuse
    get = items = values = pop = popitem = setdefault = update = clear = copy = _refuse


def _module(package: str) -> str:
    return f"transformers.models.{package}.modeling_{package}"


def _add(package: str, lacking: str) -> None:
    name = f"{package.upper()}_ATTENTION_CLASSES"

    @FIX.adds_made((f"{_module(package)}:{name}", lacking))
    def table(module: Any) -> Table:
        """The keys of the table of a model."""
        now = next(key for key in vars(module) if key.lower() == f"{package}attention")
        return Table(name, now)


for _package, _lacking in TABLES.items():
    _add(_package, _lacking)


@FIX.adds_made(
    *(
        (f"{_module(package)}:{package.upper()}_{part}_DOCSTRING", ">=4.52.1")
        for package in TEXTS
        for part in ("START", "INPUTS")
    )
)
def text(module: Any) -> str:
    """An empty text."""
    return ""
