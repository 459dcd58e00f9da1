"""Models with a tensor-parallel plan cannot be built with torch before 2.5.

Symptom   ``TypeError: argument of type 'NoneType' is not iterable`` from the constructor of Llama, Qwen2 and all other
          models with such a plan, even if it is not used.
Cause     The styles of a plan are checked from torch 2.3 on; the table of styles is None before torch 2.5, and where
          torch was built without its distributed package.
Releases  4.52.3 and 4.52.4
Upstream  transformers#38283 (fixed in 4.53.0)
Here      They are checked only if there is a table.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="torch before 2.5: TypeError: argument of type 'NoneType' is not iterable, in post_init",
    kind="loading",
    errors=("TypeError: argument of type 'NoneType' is not iterable",),
    everyone="only if there is no table, where the release's own check raises",
    upstream=("transformers#38283",),
    fixed_in="4.53.0",
    prefilter="def post_init",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.post_init", ">=4.52.3,<=4.52.4"),
    fingerprint_of=(
        "PreTrainedModel.post_init",
        "transformers.integrations.tensor_parallel:ParallelInterface.__init__",
    ),
    old='if self._tp_plan is not None and is_torch_greater_or_equal("2.3"):\n    *__CHECK',
    new="""
        if self._tp_plan is not None and is_torch_greater_or_equal("2.3") and ALL_PARALLEL_STYLES is not None:
            *__CHECK
        """,
)


@FIX.recognises
def is_broken(*nodes: ast.AST) -> bool:
    """Whether it checks from torch 2.3 on, while the table is only filled from torch 2.5 on."""
    checks = """
        if self._tp_plan is not None and is_torch_greater_or_equal("2.3"):
            for _, v in self._tp_plan.items():
                if v not in ALL_PARALLEL_STYLES:
                    *__REFUSE
        """
    return occurs(checks, *nodes) and occurs("ParallelInterface._global_mapping = __STYLES", *nodes)
