"""The settings of a training with a quantization among ``model_init_kwargs`` cannot be shown as JSON.

Symptom   ``TypeError: Object of type BitsAndBytesConfig is not JSON serializable`` at the begin of training, when the
          callback of TensorBoard writes the settings of ``SFTConfig`` and others with ``model_init_kwargs``.
Cause     ``to_json_string`` gives the object itself to ``json``.
Releases  4.36.0 to 4.51.3
Upstream  transformers#37518 (first fixed in 4.52.1)
Here      After the error, the text has the quantization as its ``to_dict``, as since 4.52.1; ``to_dict`` of the
          settings and the program's own dictionary keep the object.
"""

from __future__ import annotations

import ast
import json
from typing import Any, Callable

from hotfix.fix import Fix

_ERROR = "TypeError: Object of type {name} is not JSON serializable"

FIX = Fix(
    title="TypeError: Object of type BitsAndBytesConfig is not JSON serializable",
    kind="crash",
    fixed_in="4.52.1",
    upstream=("#37518",),
    errors=tuple(_ERROR.format(name=name) for name in ("BitsAndBytesConfig", "GPTQConfig", "AwqConfig")),
    on_error=("TypeError: Object of type … is not JSON serializable",),
)


_ARGUMENTS = "transformers.training_args:TrainingArguments"


@FIX.wraps(
    (f"{_ARGUMENTS}.to_json_string", ">=4.36.0,<=4.51.3"),
    fingerprint_of=("TrainingArguments.to_json_string", "TrainingArguments.to_dict"),
)
def with_dictionaries(original: Callable[..., str]) -> Callable[..., str]:
    """Show a quantization among the arguments for a model as a dictionary."""

    def to_json_string(self: Any) -> str:
        settings = self.to_dict()
        given = settings.get("model_init_kwargs")
        quantization = given.get("quantization_config") if isinstance(given, dict) else None
        if quantization is None or not hasattr(quantization, "to_dict"):
            return original(self)
        settings["model_init_kwargs"] = {**given, "quantization_config": quantization.to_dict()}
        return json.dumps(settings, indent=2)

    return to_json_string


@FIX.recognises
def gives_the_object(shows: ast.AST, collects: ast.AST) -> bool:
    """The dictionary that is shown has the quantization as an object."""
    return "json.dumps(self.to_dict()" in ast.unparse(shows) and "quantization_config" not in ast.unparse(collects)
