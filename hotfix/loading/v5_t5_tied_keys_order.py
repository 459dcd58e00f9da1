"""Encoder and decoder of T5 get the head in place of their embedding table.

Symptom   Silent. MADLAD-400 repeats one token. So does any T5 whose file has a separate head, and the embedding table
          under its name in the encoder or the decoder, but not as ``shared.weight``.
Cause     A missing weight is taken from the first tied weight that exists. Of the three weights that are tied to the
          table, the head comes first.
Releases  5.0.0 to 5.17.0
Upstream  transformers#45005, transformers#48154, transformers#48238 (fixed in 5.18.0)
Here      The head comes last. Equal to 5.18.0. If the file has ``shared.weight``, nothing changes. A subclass with
          its own ``_tied_weights_keys`` keeps it, and so does a program that changes that of the library's class.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix

FIX = Fix(
    title="MADLAD-400 repeats one token: T5 without shared.weight gets lm_head as embedding table",
    kind="silent",
    upstream=("transformers#45005", "transformers#48154", "transformers#48238"),
    fixed_in="5.18.0",
    prefilter="_tied_weights_keys = {",
    exempt={
        f"transformers.models.{package}.modeling_{package}:*": "none of its files has a separate head"
        for package in ("prophetnet", "seamless_m4t", "seamless_m4t_v2")
    },
)

_HEAD = "lm_head.weight"
_TIED = dict.fromkeys((_HEAD, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), "shared.weight")
_KEYS = "T5ForConditionalGeneration._tied_weights_keys"

FIX.edits(
    ("transformers.models.t5.modeling_t5:T5ForConditionalGeneration.__init__", ">=5.0.0,<=5.17.0"),
    old="self.post_init()",
    new=f"""
        _hotfix_tied = dict(sorted(self._tied_weights_keys.items(), key=lambda pair: pair[0] == "{_HEAD}"))
        self._tied_weights_keys = _hotfix_tied
        self.post_init()
        if vars(self).get("_tied_weights_keys") is _hotfix_tied:
            del self._tied_weights_keys
        """,
    fingerprint_of=("T5ForConditionalGeneration",),
    when=f"self._tied_weights_keys is {_KEYS} and {_KEYS} == {_TIED!r}",
)


@FIX.recognises
def asks_the_head_first(cls: ast.AST) -> bool:
    """Whether a class ties its head and other weights to one table, and names the head first."""
    for statement in cls.body if isinstance(cls, ast.ClassDef) else ():
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_tied_weights_keys":
            tied = statement.value
            if (
                isinstance(tied, ast.Dict)
                and len(tied.keys) > 1
                and len({ast.dump(value) for value in tied.values}) == 1
            ):
                return isinstance(tied.keys[0], ast.Constant) and tied.keys[0].value == _HEAD
    return False
