"""A fast tokenizer of one's own class, with a constructor, reads the vocabulary of tokenizer.json and nothing else.

Symptom   Silent. ``from_pretrained`` of a subclass of ``PreTrainedTokenizerFast`` that has an ``__init__`` splits text
          into single characters and loses spaces, the normalizer and the decoder.
Cause     5.x hands the constructor the vocabulary in the place of the file, for classes that build their tokenizer from
          it. Of a class that names no model it does not even read the merges.
Releases  5.0.0 and later; remote code is read whole
Upstream  not repaired
Here      Where the file has merges, it is read whole, as for remote code and in 4.57.6, for a class that names no model
          and whose constructor passes its keyword arguments on untouched, takes no vocabulary and makes no tokenizer.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import textwrap
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
        from {__name__} import loses_merges
        trust_remote_code = trust_remote_code or loses_merges(cls, kwargs.get("tokenizer_file"))
        """,
    beside='cls is TokenizersBackend or "__init__" not in cls.__dict__ or trust_remote_code',
)


def loses_merges(cls: Any, file: Any) -> bool:
    """Whether a class leaves its tokenizer to the library's constructor, which would get no merges from a file."""
    if cls.model is not None or not isinstance(file, (str, os.PathLike)) or not os.path.isfile(file):
        return False
    own = [kind for kind in cls.__mro__ if not scope.was_written_in("transformers", kind) and "__init__" in vars(kind)]
    if cls not in own or not all(map(_passes_on, own[: own.index(object)])):
        return False
    with open(file, encoding="utf-8") as opened:
        model = json.load(opened).get("model") or {}
    return bool(model.get("merges"))


def _passes_on(kind: type) -> bool:
    """Whether the constructor of a class only passes on what it gets by ``**kwargs``, and does not make a tokenizer."""
    constructor = inspect.unwrap(vars(kind)["__init__"])
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(constructor)))
    except (OSError, SyntaxError, TypeError):
        return False
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.args.kwarg is None:
        return False
    nodes = list(ast.walk(definition))
    passed = [part.value for node in nodes if isinstance(node, ast.Call) for part in node.keywords if part.arg is None]
    others = [node for node in nodes if isinstance(node, ast.Name) and node not in passed]
    taken = {argument.arg for argument in (*definition.args.args, *definition.args.kwonlyargs)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)} | {
        str(part.arg) for node in nodes if isinstance(node, ast.Call) for part in node.keywords
    }
    stored = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    return (
        definition.args.kwarg.arg not in [node.id for node in others]
        and not _PARTS & (taken | texts | named)
        and not {"_tokenizer", "model"} & stored
    )


_PARTS = {"vocab", "merges", "tokenizer_object", "from_file", "from_str"}
