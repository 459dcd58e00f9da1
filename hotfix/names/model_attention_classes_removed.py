"""Classes of attention and their tables are gone, and so are the texts of docstrings beside them.

Symptom   ``ImportError: cannot import name 'GEMMA2_ATTENTION_CLASSES' from
          'transformers.models.gemma2.modeling_gemma2'`` (FlagEmbedding), ``AttributeError: module
          'transformers.models.llama.modeling_llama' has no attribute 'LLAMA_ATTENTION_CLASSES'`` (fsdp_qlora, qai_hub);
          ``ImportError: cannot import name 'Qwen2_5_VLFlashAttention2' from
          'transformers.models.qwen2_5_vl.modeling_qwen2_5_vl'`` (copies of verl), ``Gemma2FlashAttention2``
          (deepcompressor); the same of ``QWEN2_START_DOCSTRING`` (BiLLM).
Cause     There is one class for all kinds of attention, and docstrings are put together by a decorator.
Releases  tables: Gemma 2 4.47.0 to 5.23.0, Gemma, Llama, Mistral, Mixtral, Phi-3 and Qwen2 4.48.0 to 5.23.0; classes
          of Gemma, Gemma 2, Mistral, Mixtral, Phi-3 and Qwen2 4.48.0 to 5.23.0, of Qwen2-VL and Qwen2.5-VL 4.53.0 to
          5.23.0; texts of Gemma 2, Llama, Mistral and Qwen2 4.52.1 to 5.23.0
Upstream  transformers#35235, transformers#35910, verl#2213, deepcompressor#62 (not put back)
Here      The import works. A table has the keys that it had; a class of it cannot be had, nor put into it, and asking
          raises a sentence: nothing in the library reads it any more. A class has its name and what it inherited from;
          building one raises a sentence, and so does setting a method of one, which is what verl and its copies do:
          no layer of the release has it, and the model would compute without it. The texts are empty: documentation
          is not carried over. ``LlamaFlashAttention2`` is llama-flash-attention2-removed; some hundred classes of
          other models are gone as well and were asked for by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from hotfix.fix import Fix
from hotfix.names.attention_classes import attention_class
from hotfix.names.refusing import Gone

FIX = Fix(
    id="model-attention-classes-removed",
    title="ImportError: cannot import name 'GEMMA2_ATTENTION_CLASSES' from 'transformers.models.gemma2...'",
    kind="removed-api",
    upstream=("transformers#35235", "transformers#35910", "verl#2213", "deepcompressor#62"),
    optin=True,
    group="removed-names",
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
# Package, the class that there is for all kinds of attention, and the releases that lack those for one kind.
CLASSES = {
    "gemma": ("GemmaAttention", ">=4.48.0"),
    "gemma2": ("Gemma2Attention", ">=4.48.0"),
    "mistral": ("MistralAttention", ">=4.48.0"),
    "mixtral": ("MixtralAttention", ">=4.48.0"),
    "phi3": ("Phi3Attention", ">=4.48.0"),
    "qwen2": ("Qwen2Attention", ">=4.48.0"),
    "qwen2_vl": ("Qwen2VLAttention", ">=4.53.0"),
    "qwen2_5_vl": ("Qwen2_5_VLAttention", ">=4.53.0"),
}


class Table(dict[str, None]):
    """The keys of a table that is gone.

    Args:
        name: of the table.
        now: name of the class that is there for all kinds of attention.
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
        """The keys; with a method of its own, a copy of it asks for what is behind them, and hears of it."""
        return super().__iter__()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Gone(self._instead)

    __getitem__ = __setitem__ = __delitem__ = __ior__ = __or__ = _refuse
    get = items = values = pop = popitem = setdefault = update = clear = copy = _refuse


def _module(package: str) -> str:
    return f"transformers.models.{package}.modeling_{package}"


def _add(package: str, lacking: str) -> None:
    name = f"{package.upper()}_ATTENTION_CLASSES"

    @FIX.adds_made((f"{_module(package)}:{name}", lacking))
    def table(module: Any) -> Table:
        """The keys of the table of a model."""
        now = next(one for one in vars(module) if one.lower() == f"{package}attention")
        return Table(name, now)


for _package, _lacking in TABLES.items():
    _add(_package, _lacking)


def _add_class(package: str, now: str, kind: str, lacking: str) -> None:
    name = f"{now[: -len('Attention')]}{kind}"

    @FIX.adds_made((f"{_module(package)}:{name}", lacking))
    def attention(module: Any) -> type:
        """The class for one kind of attention."""
        instead = (
            f"{now} is the class for every kind of attention; it takes position_embeddings and returns two values. "
            f"Code that needs the old class needs transformers {'4.47.1' if lacking == '>=4.48.0' else '4.52.4'}."
        )
        return attention_class(name, _module(package), getattr(module, now), instead)


for _package, (_now, _lacking) in CLASSES.items():
    for _kind in ("FlashAttention2", "SdpaAttention"):
        _add_class(_package, _now, _kind, _lacking)


@FIX.adds_made(
    *(
        (f"{_module(package)}:{package.upper()}_{part}_DOCSTRING", ">=4.52.1")
        for package in TEXTS
        for part in ("START", "INPUTS")
    )
)
def text(module: Any) -> str:
    """What was written there is not carried over."""
    return ""
