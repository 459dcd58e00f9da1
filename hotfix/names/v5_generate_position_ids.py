"""``generate`` passes positions to older models, which do not cut them.

Symptom   In the second step of ``generate``, sizes of tensors that do not match, or attention weights of a wrong size:
          MiniCPM, DeepSeek-VL2, InternLM2, Phi-3, GOT-OCR2.0, Baichuan and other remote code.
Cause     ``generate`` computes the positions of all tokens and passes them to ``prepare_inputs_for_generation``. A
          method written before 5.3.0 computes those of the tokens that are not in the cache, unless it gets positions,
          which it uses unchanged.
Releases  5.3.0 to 5.23.0
Upstream  not repaired
Here      A ``prepare_inputs_for_generation`` that was not written in transformers, knows no
          ``next_sequence_length`` and does not call the library's own method gets no positions unless the caller passed
          some, as in 4.57.6.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="generate() passes the positions of all tokens to remote code, and the second step does not match the cache",
    kind="crash",
    optin="a model that cuts the positions itself would no longer get them",
    group="removed-names",
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin.generate", ">=5.3.0,<5.24.0"),
    fingerprint_of=("GenerationMixin.generate", "GenerationMixin.prepare_inputs_for_generation"),
    old="accepts_position_ids = __ASKED",
    new=f"""
        from {__name__} import cuts_positions
        accepts_position_ids = __ASKED and cuts_positions(self)
    """,
)


def cuts_positions(model: Any) -> bool:
    """Whether a model cuts positions that it gets to those of the tokens of a step."""
    method = type(model).prepare_inputs_for_generation
    if scope.was_written_in("transformers", method):
        return True
    code = getattr(inspect.unwrap(method), "__code__", None)
    if code is None or "super" in code.co_names:
        return True
    return "next_sequence_length" in inspect.signature(method).parameters


@FIX.recognises
def is_broken(generate: ast.FunctionDef, prepare: ast.FunctionDef) -> bool:
    """It makes the positions, and the library's own method gets the number of positions of a step.

    From 5.24.0 on, methods of the program do not see the cache, and pass all tokens.
    """
    makes = any(isinstance(node, ast.Name) and node.id == "accepts_position_ids" for node in ast.walk(generate))
    return (
        generate.name == "generate"
        and makes
        and {"next_sequence_length", "past_key_values"} <= {argument.arg for argument in prepare.args.args}
    )
