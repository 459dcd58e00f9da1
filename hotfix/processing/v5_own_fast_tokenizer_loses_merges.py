"""A fast tokenizer of one's own class, with a constructor, reads the vocabulary of tokenizer.json and nothing else.

Symptom   Silent. ``from_pretrained`` of a subclass of ``PreTrainedTokenizerFast`` that has an ``__init__`` splits text
          into single characters and loses spaces, the normalizer and the decoder.
Cause     5.x hands the constructor the vocabulary in the place of the file, for classes that build their tokenizer from
          it. Of a class that names no model it does not even read the merges.
Releases  5.0.0 and later; remote code is read whole
Upstream  not repaired
Here      The file is read whole, as for remote code and in 4.57.6, where the class names no model, and its constructor
          neither takes a vocabulary or merges nor makes a tokenizer.
"""

from __future__ import annotations

import dis
import inspect
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="A fast tokenizer of your own class splits text into characters after from_pretrained",
    kind="silent",
    everyone="only for classes outside of the library whose constructor passes on what it gets and builds no tokenizer",
)


FIX.edits(
    ("transformers.tokenization_utils_tokenizers:TokenizersBackend.convert_to_native_format", ">=5.0.0,<=5.24.0"),
    old="local_kwargs = dict(kwargs)",
    new=f"""
        local_kwargs = dict(kwargs)
        from {__name__} import passes_on
        trust_remote_code = trust_remote_code or passes_on(cls)
        """,
    beside='cls is TokenizersBackend or "__init__" not in cls.__dict__ or trust_remote_code',
)


def passes_on(cls: Any) -> bool:
    """Whether a class outside of the library has a constructor that leaves the tokenizer to the library's."""
    constructor = vars(cls).get("__init__")
    if cls.model is not None or not inspect.isfunction(constructor):
        return False
    own = [kind for kind in cls.__mro__ if not scope.was_written_in("transformers", kind) and "__init__" in vars(kind)]
    return cls in own and not any(map(_builds, own[: own.index(object)]))


_TAKES = {"vocab", "merges", "tokenizer_object", "from_file", "from_str"}


def _builds(kind: type) -> bool:
    """Whether the constructor of a class takes parts of a tokenizer, or makes one."""
    constructor: Any = vars(kind)["__init__"]
    if not inspect.isfunction(constructor):
        return True
    code = constructor.__code__
    keywords = {word for const in code.co_consts if isinstance(const, tuple) for word in const}
    if _TAKES & {*code.co_names, *code.co_varnames, *keywords}:
        return True
    return any(step.opname == "STORE_ATTR" and step.argval == "_tokenizer" for step in dis.get_instructions(code))
