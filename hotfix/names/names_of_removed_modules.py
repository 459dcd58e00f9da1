"""Classes and functions are gone with their modules: ONNX configurations, tracers of ``torch.fx``, old models.

Symptom   ``ModuleNotFoundError: No module named 'transformers.onnx'`` from a configuration that declares an
          ``OnnxConfig``; ``ImportError: cannot import name 'VisualQuestionAnsweringPipeline' from 'transformers'`` from
          code that lists pipelines.
Cause     The modules were removed, and nothing took their place.
Upstream  not put back
Here      The name only, for imports, `isinstance`, tables and subclasses, with a warning at the line that takes it.
          Using it is an error that names the last release that had it. Models that still exist have none of them:
          there, a new class may have taken the place. The rows are in ``removed.txt``, written by ``tools/names.py``
          from the wheels; see `hotfix.patching.tabled`. The target is one of the rows, and its case runs like that of
          any fix.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching.tabled import empty

FIX = Fix(
    title="ModuleNotFoundError: No module named 'transformers.onnx', from code that only declares an OnnxConfig",
    kind="removed-api",
    group="removed-names",
    errors=("ModuleNotFoundError: No module named 'transformers.onnx'",),
)

PACKAGE = "transformers"


@FIX.adds_made((f"{PACKAGE}:VisualQuestionAnsweringPipeline", ">=5.3.0"), only_needed=True)
def visual_question_answering_pipeline(transformers: Any) -> Any:
    """The pipeline that answers questions about an image."""
    return empty("VisualQuestionAnsweringPipeline", PACKAGE, "5.2.0")
