"""The encoder of UMT5, LongT5 and Pop2Piano has a random embedding table.

Symptom   Silent, except for a line of the load report that lists ``encoder.embed_tokens.weight`` as missing: the text
          encoders of Wan 2.1 and 2.2 turn every prompt into noise, and LongT5 ignores its input.
Cause     Files of these models have ``tie_word_embeddings: false``, which means that the head is not the embedding
          table, and one table for encoder and decoder. In 5.x the setting unties these as well.
Releases  UMT5 5.0.0 to 5.2.0, LongT5 and Pop2Piano 5.0.0 to 5.15.1
Upstream  transformers#43880 (fixed in 5.3.0 and 5.16.0)
Here      If a file has the table as ``shared.weight`` only, encoder and decoder get it, and the head is that of the
          file, as in 4.57.6. The configuration keeps the value of the file, so that a saved copy is read like the
          original. A model that is built in code or has separate tables in its file stays as it is, and so does a class
          of your own whose constructor builds such a table.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._constructors import words
from hotfix.loading._reading import is_of_the_library
from hotfix.pattern import occurs

FIX = Fix(
    title="UMT5 (Wan), LongT5, Pop2Piano: the encoder has a random embedding table after loading",
    kind="silent",
    upstream=("transformers#43880",),
    fixed_in="5.16.0",  # UMT5 in 5.3.0
    everyone="only for these classes and a file that lacks the tables: the new code tests it",
    prefilter="def tie_weights",
)

_PACKAGES = (("umt5", "UMT5"), ("longt5", "LongT5"), ("pop2piano", "Pop2Piano"))
_TABLE = {"embed_tokens", "set_input_embeddings"}  # names used by a constructor that builds its own table
_MODULES = tuple(f"transformers.models.{package}.modeling_{package}" for package, _ in _PACKAGES)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.tie_weights", ">=5.0.0,<=5.15.1"),
    old="if not recompute_mapping:\n    *__KNOWN\nelse:\n    *__AGAIN",
    new=f"""
        if missing_keys is not None:
            from {__name__} import tie_tables
            tie_tables(self, missing_keys)
        if not recompute_mapping:
            *__KNOWN
        else:
            *__AGAIN
        """,
    fingerprint_of=(
        "PreTrainedModel.tie_weights",
        *(f"transformers.models.{package}.configuration_{package}:{name}Config" for package, name in _PACKAGES),
    ),
)


def tie_tables(model: Any, missing: Any) -> None:
    """Tie the tables that a file lacks to the one that it has, in models of these classes and around them.

    Args:
        model: the model that is being loaded.
        missing: names that the files lack.
    """
    tables = lacking(model, missing)
    if tables:
        model.all_tied_weights_keys.update(tables)


def lacking(model: Any, missing: Any) -> dict[str, str]:
    """Find the tables that a file lacks, and for each the table that it has.

    Args:
        model: the model that is being loaded.
        missing: names that the files lack.
    """
    tables: dict[str, str] = {}
    if not any(name.endswith("coder.embed_tokens.weight") for name in missing):
        return tables
    for prefix, part in model.named_modules(remove_duplicate=False):
        at = f"{prefix}." if prefix else ""
        for name, table in _tables(part).items():
            if at + name in missing and at + table not in missing and _is_alike(part, name, table):
                tables[at + name] = at + table
    return tables


def _tables(part: Any) -> dict[str, str]:
    """The tables of a model of these classes besides the shared one, as declared by the library."""
    declared: Any = getattr(part, "_tied_weights_keys", None)
    if not isinstance(declared, dict):
        return {}
    tables = {name: table for name, table in declared.items() if name.endswith("embed_tokens.weight")}
    for cls in type(part).__mro__:
        if not is_of_the_library(cls) and not _TABLE.isdisjoint(words(cls)):
            return {}  # its own table is not in the file
        if cls.__module__ in _MODULES and vars(cls).get("_tied_weights_keys") is declared:
            return tables
    return {}


def _is_alike(part: Any, name: str, table: str) -> bool:
    """Whether the library's own module has the table that a file lacks, and it has the size of the other one."""
    owner = part.get_submodule(name.rpartition(".embed_tokens.")[0])
    lacks, has = (getattr(part.get_submodule(each.rpartition(".")[0]), "weight", None) for each in (name, table))
    return is_of_the_library(type(owner)) and getattr(lacks, "shape", None) == getattr(has, "shape", ())


@FIX.recognises
def unties(ties: ast.AST, *classes: ast.AST) -> bool:
    """Whether the setting for the head also unties the tables of a class."""
    right = ("self.scale_decoder_outputs", 'kwargs.pop("tie_word_embeddings", None)')
    reads = isinstance(ties, ast.FunctionDef) and "missing_keys" in {argument.arg for argument in ties.args.args}
    return reads and any(not any(occurs(piece, cls) for piece in right) for cls in classes)
