"""The Trainer, which trains only PyTorch models, cannot be imported if TensorFlow is installed together with Keras 3.

Symptom   ``RuntimeError: Failed to import transformers.trainer … Your currently installed version of Keras is Keras 3,
          but this is not yet supported in Transformers.`` from ``from transformers import Trainer``.
Cause     The module of the integrations imports `TFPreTrainedModel`, to ask whether a model is one.
Releases  4.41.0, 4.42.0 to 4.57.6
Upstream  removed with TensorFlow in 5.0.0; 4.41.1 does not have the import; the release suggests
          ``pip install tf-keras``
Here      That module gets a class of which no model is an instance. Everywhere else the name gives the release's error.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="Trainer: Your currently installed version of Keras is Keras 3, but this is not yet supported",
    kind="loading",
    fixed_in="5.0.0",
    errors=(
        "RuntimeError: Failed to import transformers.modeling_tf_utils because of the following error (look up to see "
        "its traceback):…Keras 3, but this is not yet supported in Transformers…",
        "ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported in "
        "Transformers. Please install the backwards-compatible tf-keras package with `pip install tf-keras`.",
    ),
    on_error=True,
)
INTEGRATION = "transformers.integrations.integration_utils"


class TFPreTrainedModel:
    """Stands for the models of TensorFlow, of which this process can make none."""


@FIX.wraps(
    ("transformers.utils.import_utils:_LazyModule.__getattr__", ">=4.41.0,<=4.57.6,!=4.41.1,!=4.41.2"),
    fingerprint_of=(f"{INTEGRATION}:save_model_architecture_to_file",),
)
def answer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the lookup of a name of the library, after it has failed."""

    def lookup(self: Any, name: str) -> Any:
        specification = getattr(sys.modules.get(INTEGRATION), "__spec__", None)
        if name == "TFPreTrainedModel" and getattr(specification, "_initializing", False):
            return TFPreTrainedModel
        return original(self, name)

    return lookup


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether the function asks for the class of TensorFlow's models."""
    return any(occurs("isinstance(model, TFPreTrainedModel)", function) for function in functions)
