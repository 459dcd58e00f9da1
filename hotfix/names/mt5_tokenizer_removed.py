"""The tokenizers of mT5 are gone, though its checkpoints are still read.

Symptom   ``ImportError: cannot import name 'MT5Tokenizer' from 'transformers'`` (diffusers up to 0.35 with HunyuanDiT,
          ComfyUI nodes); the same of ``MT5TokenizerFast``.
Cause     They were subclasses of T5's tokenizers without a line of their own, and 5.0.0 removed them.
Releases  5.0.0 and later
Upstream  not put back; `AutoTokenizer` reads mT5 with `T5Tokenizer`
Here      Both classes, as subclasses of `T5Tokenizer` without a line of their own, and their modules. Importing from a
          module warns.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.modules import given_back

FIX = Fix(
    title="ImportError: cannot import name 'MT5Tokenizer' from 'transformers'",
    kind="removed-api",
    group="removed-names",
)

_PACKAGE = "transformers.models.mt5"
CLASSES = {"tokenization_mt5": "MT5Tokenizer", "tokenization_mt5_fast": "MT5TokenizerFast"}
"""The class by module."""


def _module_of(package: Any, module: str) -> ModuleType:
    name = f"{package.__name__}.{module}"

    def make(of: str) -> type:
        base: Any = import_module("transformers").T5Tokenizer
        kind: type = type(base)(of, (base,), {"__module__": name, "__doc__": base.__doc__})
        return kind

    return given_back(name, [CLASSES[module]], "transformers (T5Tokenizer)", make)


@FIX.adds_modules((f"{_PACKAGE}:tokenization_mt5", ">=5.0.0"))
def slow(package: Any) -> ModuleType:
    """The module with ``MT5Tokenizer``; it imports nothing before first use."""
    return _module_of(package, "tokenization_mt5")


@FIX.adds_modules((f"{_PACKAGE}:tokenization_mt5_fast", ">=5.0.0"))
def fast(package: Any) -> ModuleType:
    """The module with ``MT5TokenizerFast``; it imports nothing before first use."""
    return _module_of(package, "tokenization_mt5_fast")


for _module, _name in CLASSES.items():
    FIX.exports((f"transformers:{_name}", ">=5.0.0"), leaf=f"{_PACKAGE}.{_module}")
