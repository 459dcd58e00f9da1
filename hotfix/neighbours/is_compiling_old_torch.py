"""RT-DETR, CSM and the fast image processors ask torch before 2.3 for a function that it does not have.

Symptom   ``AttributeError: module 'torch.compiler' has no attribute 'is_compiling'`` when an RT-DETR is built or run,
          in CSM's depth decoder, and when a fast image processor resizes. Torch 2.2 is the last one for macOS on Intel.
Cause     They call ``torch.compiler.is_compiling``, which torch has from 2.3 on.
Releases  RT-DETR 4.45.0 to 4.48.3, CSM 4.52.1 to 4.57.6, fast image processors 4.53.0 to 4.57.6
Upstream  docling#611 (fixed in 4.49.0 for RT-DETR, in 5.0.0 for the others)
Here      After the error, they ask the release's own ``is_torchdynamo_compiling``, as the fixed releases do; RT-DETR
          computes its anchors without a cache. A program that handles the error gets it.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="torch before 2.3: AttributeError: module 'torch.compiler' has no attribute 'is_compiling'",
    kind="crash",
    upstream=("docling#611",),
    fixed_in="5.0.0",
    errors=("AttributeError: module 'torch.compiler' has no attribute 'is_compiling'",),
    on_error=True,
    prefilter="torch.compiler.is_compiling()",
    exempt={
        "transformers.utils.import_utils:is_torchdynamo_compiling": "it handles the error itself",
        "transformers.integrations.finegrained_fp8:_supports_cutlass": "5.4.0 needs torch 2.4",
        "transformers.utils.generic:_register_model_output_pytree_node": "5.6.0 and later need torch 2.4",
    },
)

_MISSING = "torch.compiler.is_compiling()"
_ASKED = '__import__("transformers").utils.is_torchdynamo_compiling()'


@FIX.wraps(
    ("transformers.models.rt_detr.modeling_rt_detr:RTDetrModel.generate_anchors", ">=4.45.0,<=4.48.3"),
    fingerprint_of=("RTDetrModel.generate_anchors", "compile_compatible_lru_cache"),
)
def without_cache(original: Callable[..., Any]) -> Callable[..., Any]:
    """The anchors are computed in each call: it is the wrapper with the cache that cannot run."""

    def generate_anchors(self: Any, *args: Any, **kwargs: Any) -> Any:
        return inspect.unwrap(original)(self, *args, **kwargs)

    return generate_anchors


FIX.edits(
    ("transformers.models.csm.modeling_csm:CsmDepthDecoderModel.forward", ">=4.52.1,<=4.57.6"),
    old=_MISSING,
    new=_ASKED,
    count=2,
)
FIX.edits(
    ("transformers.image_processing_utils_fast:BaseImageProcessorFast.resize", ">=4.53.0,<=4.57.6"),
    old=_MISSING,
    new=_ASKED,
)


@FIX.recognises
def asks_torch(*definitions: ast.AST) -> bool:
    """One of the definitions that decide has the call."""
    calls = (node for definition in definitions for node in ast.walk(definition) if isinstance(node, ast.Call))
    return any(ast.unparse(call) == _MISSING for call in calls)
