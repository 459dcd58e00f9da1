"""Overrides get an argument from the library that their release did not have.

Symptom   ``TypeError: MyCollator.torch_mask_tokens() got an unexpected keyword argument 'offset_mapping'``,
          ``gradient_checkpointing_enable() got an unexpected keyword argument 'every_n_layers'``, ``pad() got an
          unexpected keyword argument 'padding_side'``, and others.
Cause     The method of the library got a parameter, and the library passes it to every override.
Releases  see ``parameters.txt``, which ``tools/signatures.py`` writes from the wheels
Upstream  not repaired
Here      An override that does not take the argument is called without it, if the argument has the parameter's own
          default, or only repeats what the override finds out by itself. Any other value raises as before; from Python
          3.11 on with a note.
"""

from __future__ import annotations

import ast
import copy
from typing import Callable, Optional

from hotfix.fix import Fix
from hotfix.names import parameters_adapted
from hotfix.names.parameters_adapted import PACKAGE, Row, passes

_SITES: dict[tuple[str, int], list[Row]] = {}
for _row in parameters_adapted.rows("newer"):
    _SITES.setdefault((_row.site, _row.count), []).append(_row)

FIX = Fix(
    title="TypeError: torch_mask_tokens() got an unexpected keyword argument 'offset_mapping', of an override",
    kind="removed-api",
    group="removed-names",
    exempt={
        "transformers.models.*": "a tokenizer or a model of its own, which other code does not inherit from",
        "transformers.tokenization_utils_tokenizers:TokenizersBackend._encode_plus": "only for an argument of 5.23.0",
        "transformers.tokenization_mistral_common:*": "a tokenizer of its own, which other code does not inherit from",
        **{
            f"transformers.{tokenizer}.{method}": "a tokenizer of its own, which other code does not inherit from"
            for tokenizer in (
                "models.layoutlmv2.tokenization_layoutlmv2:LayoutLMv2Tokenizer",
                "models.layoutlmv3.tokenization_layoutlmv3:LayoutLMv3Tokenizer",
                "models.layoutxlm.tokenization_layoutxlm:LayoutXLMTokenizer",
                "models.markuplm.tokenization_markuplm:MarkupLMTokenizer",
                "tokenization_mistral_common:MistralCommonTokenizer",
            )
            for method in ("_batch_prepare_for_model", "prepare_for_model")
        },
    },
    errors=tuple(
        dict.fromkeys(
            f"TypeError: ….{row.method}() got an unexpected keyword argument '{row.parameter}'"
            for rows in _SITES.values()
            for row in rows
        )
    ),
)


def by_signature_in(known: list[Row]) -> Callable[[ast.AST], Optional[list[ast.stmt]]]:
    """An edit that calls the methods of these rows by their signatures."""

    def edit(node: ast.AST) -> Optional[list[ast.stmt]]:
        if not isinstance(node, parameters_adapted._SIMPLE) or not passes(node, known):
            return None
        statement = copy.deepcopy(node)
        for call in passes(statement, known):
            owner, hook = call.func.value, call.func.attr  # type: ignore[attr-defined]
            call.func = ast.Call(ast.Name("by_signature", ast.Load()), [owner, ast.Constant(hook)], [])
        head = ast.ImportFrom(parameters_adapted.__name__, [ast.alias("by_signature")], 0)
        return [head, statement]

    return edit


def _when(known: list[Row]) -> str:
    owners: dict[str, dict[str, None]] = {}
    for row in known:
        owners.setdefault(row.owner, {})[row.method] = None
    tests = [f"lacks({owner}, {', '.join(map(repr, hooks))})" for owner, hooks in owners.items()]
    return f"from {parameters_adapted.__name__} import lacks; {' or '.join(tests)}"


for (_site, _count), _rows in _SITES.items():
    _releases = parameters_adapted.joined(row.releases for row in _rows)
    FIX.edits((f"{PACKAGE}.{_site}", _releases), count=_count, when=_when(_rows))(by_signature_in(_rows))  # type: ignore[call-overload]

_BY_NAME: dict[str, list[Row]] = {}
for (_site, _), _rows in _SITES.items():
    _BY_NAME.setdefault(_site.rpartition(":")[2].rpartition(".")[2], []).extend(_rows)


@FIX.recognises
def passes_one(function: ast.AST) -> bool:
    """A function that passes a newer parameter to a method."""
    known = _BY_NAME.get(getattr(function, "name", ""), [])
    return any(passes(statement, known) for statement in parameters_adapted.simple_statements(function))
