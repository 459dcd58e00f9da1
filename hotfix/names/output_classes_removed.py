"""Classes of results are gone where a model returns a common class instead.

Symptom   ``ImportError: cannot import name 'Qwen2VLCausalLMOutputWithPast' from
          'transformers.models.qwen2_vl.modeling_qwen2_vl'``, from patched forwards that return one.
Cause     Classes with the same fields were merged; those of removed models went with them.
Upstream  not put back
Here      A dataclass with the same fields, all None by default, and the same base class. The release's models return
          none of them. The rows are in ``removed.txt``, written by ``tools/names.py`` from the wheels; see
          `hotfix.patching.tabled`. The target is one of the rows, and its case runs like that of any fix.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching.tabled import output

FIX = Fix(
    title="ImportError: cannot import name 'Qwen2VLCausalLMOutputWithPast', a class of results",
    kind="removed-api",
    group="removed-names",
)

QWEN2_VL = "transformers.models.qwen2_vl.modeling_qwen2_vl"


@FIX.adds_made((f"{QWEN2_VL}:Qwen2VLCausalLMOutputWithPast", ">=5.23.0"), only_needed=True)
def qwen2_vl_output(modeling_qwen2_vl: Any) -> type:
    """The result of the model with its head."""
    from transformers.modeling_outputs import CausalLMOutputWithPast

    return output("Qwen2VLCausalLMOutputWithPast", QWEN2_VL, CausalLMOutputWithPast, ["rope_deltas"])
