"""Tokenizers of models with segments do not return the segments.

Symptom   Silent: the model takes two texts for one, and is less accurate. ``KeyError: 'token_type_ids'``
          from exporters.
Cause     The default results of a tokenizer lost ``token_type_ids``, and these classes were forgotten where
          it was given back.
Releases  5.0.0 and later
Upstream  transformers#48128, transformers#48129 (closed without a change), torch-to-nnef#229
Here      Opt-in, by id or by the group ``v4-defaults``: tokenizers of ALBERT, Funnel, HerBERT, RemBERT, Splinter and
          XLNet return them, as in 4.57.6. ``model_input_names`` from a file, the caller or a class of your own takes
          precedence. RoFormer has the bug as well; its tokenizer needs rjieba, and no case runs it.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Tokenizers of ALBERT, XLNet, Funnel and others return no token_type_ids for two texts",
    kind="silent",
    upstream=("transformers#48128", "transformers#48129", "torch-to-nnef#229"),
    optin="it puts a default of 4.x in the place of one of 5.x",
    group="v4-defaults",
    errors=("KeyError: 'token_type_ids'",),
    prefilter="TokenizersBackend",
)

CLASSES = {
    "AlbertTokenizer": "albert",
    "FunnelTokenizer": "funnel",
    "HerbertTokenizer": "herbert",
    "RemBertTokenizer": "rembert",
    "SplinterTokenizer": "splinter",
    "XLNetTokenizer": "xlnet",
}


def _with_segments(original: Callable[..., None]) -> Callable[..., None]:
    """A tokenizer without ``model_input_names`` returns them."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        names = self.model_input_names
        if "model_input_names" not in kwargs and "token_type_ids" not in names and not _says_so_itself(type(self)):
            self.model_input_names = [*names[:1], "token_type_ids", *names[1:]]

    return init


for _name, _package in CLASSES.items():
    FIX.wraps(
        (f"transformers.models.{_package}.tokenization_{_package}:{_name}.__init__", ">=5.0.0"),
        fingerprint_of=(_name,),
    )(_with_segments)


def _says_so_itself(cls: type) -> bool:
    """Whether the names are those of a class that was not written in transformers."""
    owner = next(kind for kind in cls.__mro__ if "model_input_names" in vars(kind))
    return not scope.was_written_in("transformers", owner)


@FIX.recognises
def says_nothing_of_segments(definition: ast.AST) -> bool:
    """It is one of these classes, as 5.x has them."""
    if not isinstance(definition, ast.ClassDef) or definition.name not in CLASSES:
        return False
    bases = [ast.unparse(kind) for kind in definition.bases]
    return "TokenizersBackend" in bases and "'token_type_ids'" not in ast.unparse(definition)
