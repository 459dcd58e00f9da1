"""The stack of T5 and its relatives does not take the embeddings that it shares with others.

Symptom   ``TypeError: T5Stack.__init__() takes 2 positional arguments but 3 were given``, or ``got an unexpected
          keyword argument 'embed_tokens'``, from models that are built of T5's parts, such as Chronos-Bolt.
Cause     The stack makes its own embeddings, which are replaced when weights are tied.
Releases  5.0.0 and later
Upstream  chronos-forecasting#416 (not put back)
Here      The stack gets the embeddings that it is given, as in 4.57.6.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: T5Stack.__init__() takes 2 positional arguments but 3 were given",
    kind="removed-api",
    upstream=("chronos-forecasting#416",),
    group="removed-names",
    errors=("TypeError: T5Stack.__init__() got an unexpected keyword argument 'embed_tokens'",),
    on_error=(
        "TypeError: …__init__() takes 2 positional arguments but 3 were given",
        "TypeError: …__init__() got an unexpected keyword argument 'embed_tokens'",
    ),
    exempt={
        "transformers.models.udop.modeling_udop:UdopStack.__init__": "it took embeddings of patches as well",
    },
    prefilter="embed_tokens = nn.Embedding(config.vocab_size, config.d_model)",
)


@FIX.wraps(
    *(
        (f"transformers.models.{name}.modeling_{name}:{stack}Stack.__init__", ">=5.0.0")
        for name, stack in (
            ("t5", "T5"),
            ("mt5", "MT5"),
            ("umt5", "UMT5"),
            ("longt5", "LongT5"),
            ("pop2piano", "Pop2Piano"),
            ("switch_transformers", "SwitchTransformers"),
        )
    )
)
def given(original: Callable[..., None]) -> Callable[..., None]:
    """The stack with the embeddings that it is given."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        names = dict(zip(("config", "embed_tokens"), args), **kwargs)
        shared = names.pop("embed_tokens", None)
        original(self, **names)
        if shared is not None:
            self.embed_tokens = shared

    return init


@FIX.recognises
def makes_its_own(function: ast.AST) -> bool:
    """A constructor of a stack that takes a configuration alone, and makes the embeddings itself."""
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
        return False
    text = ast.unparse(function)
    made = "self.embed_tokens = nn.Embedding(config.vocab_size, config.d_model)" in text and "self.block = " in text
    return made and [argument.arg for argument in function.args.args] == ["self", "config"]
