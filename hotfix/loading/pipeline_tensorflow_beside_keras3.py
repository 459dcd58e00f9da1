"""A pipeline crashes if TensorFlow is installed together with Keras 3, though PyTorch runs the model.

Symptom   ``RuntimeError: Failed to import transformers.models.gpt2.modeling_tf_gpt2 … Your currently installed version
          of Keras is Keras 3, but this is not yet supported in Transformers.`` from ``pipeline("…", model="…")``.
Cause     The release looks up the TensorFlow class of the model as well, and its module cannot be imported.
Releases  4.36.0 to 4.57.6
Upstream  removed with TensorFlow in 5.0.0; the release suggests ``pip install tf-keras``
Here      A TensorFlow class that cannot be imported is not a candidate, if PyTorch is one. With ``framework="tf"`` the
          error is that of the release. The model is the one that PyTorch loads without TensorFlow.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="pipeline: Your currently installed version of Keras is Keras 3, but this is not yet supported",
    kind="loading",
    fixed_in="5.0.0",
    errors=(
        "RuntimeError: …Your currently installed version of Keras is Keras 3, but this is not yet supported in "
        "Transformers…",
        "ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported in "
        "Transformers. Please install the backwards-compatible tf-keras package with `pip install tf-keras`.",
    ),
    on_error=True,
)

FIX.edits(
    ("transformers.pipelines.base:infer_framework_load_model", ">=4.36.0,<=4.57.6"),
    old='_class = getattr(transformers_module, f"TF{architecture}", None)',
    new=f"""
        from {__name__} import tensorflow_class
        _class = tensorflow_class(transformers_module, f"TF{{architecture}}", look_pt)
        """,
)


def tensorflow_class(package: Any, name: str, has_other: bool) -> Optional[Any]:
    """A class for TensorFlow; None if there is none, or it cannot be imported and another framework has one.

    Args:
        package: the package `transformers`.
        name: of the class.
        has_other: whether PyTorch may load the model instead.
    """
    try:
        return getattr(package, name, None)
    except (RuntimeError, ValueError):
        if not has_other:
            raise
        return None
