"""No checkpoint can be loaded without accelerate.

Symptom   ``NameError: name 'init_empty_weights' is not defined`` from every ``from_pretrained`` where accelerate is not
          installed.
Cause     Loading needs two functions of accelerate, which are imported only if it is installed.
Releases  4.51.0
Upstream  transformers#37311, transformers#37337 (4.51.1 has the functions itself)
Here      Without accelerate the model is built as before 4.51, with weights that are allocated but not written, and
          tied weights are found by identity. With accelerate nothing changes.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="from_pretrained without accelerate raises NameError: name 'init_empty_weights' is not defined",
    kind="loading",
    errors=("NameError: name 'init_empty_weights' is not defined",),
    everyone="only without accelerate, where the release's own code raises",
    upstream=("transformers#37311", "transformers#37326", "transformers#37337"),
    fixed_in="4.51.1",
    prefilter="def get_init_context",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.get_init_context", "==4.51.0"),
    old="init_contexts = [no_init_weights(), init_empty_weights()]",
    new="init_contexts = [no_init_weights(), *([init_empty_weights()] if is_accelerate_available() else [])]",
)

FIX.edits(
    ("transformers.modeling_utils:_find_missing_and_unexpected_keys", "==4.51.0"),
    fingerprint_of=("_find_missing_and_unexpected_keys", "PreTrainedModel.get_init_context"),
    old="tied_params = find_tied_parameters(model)",
    new="""
        if is_accelerate_available():
            tied_params = find_tied_parameters(model)
        else:
            names_of = {}
            for name, parameter in model.named_parameters(remove_duplicate=False):
                names_of.setdefault(id(parameter), []).append(name)
            tied_params = [names for names in names_of.values() if len(names) > 1]
        """,
)


@FIX.recognises
def is_broken(*nodes: ast.AST) -> bool:
    """Whether it calls the functions; 4.51.1, which has its own, handles quantized models in another way."""
    own = "init_contexts = [no_init_weights(), init_empty_weights()]", "init_contexts.append(set_quantized_state())"
    return all(occurs(piece, nodes[-1]) for piece in own)
