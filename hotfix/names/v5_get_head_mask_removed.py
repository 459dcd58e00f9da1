"""Models no longer have ``get_head_mask``.

Symptom   ``AttributeError: 'BertModel' object has no attribute 'get_head_mask'`` from GroundingDINO and projects
          based on it (Grounded-SAM, nodes of ComfyUI), and from remote code of encoders.
Cause     Masks of heads were removed from the models, and the method with them.
Releases  5.0.0 and later
Upstream  GroundingDINO#446 (not put back)
Here      Without a mask, as in nearly all calls, one None per layer, as in 4.57.6. A real mask is an error with an
          explanation: no layer of the release would use it. GroundingDINO also passes a device to
          ``get_extended_attention_mask``, which expects a dtype in 5.x; that is not repaired here.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.refusing import Gone

FIX = Fix(
    title="AttributeError: 'BertModel' object has no attribute 'get_head_mask'",
    kind="removed-api",
    upstream=("GroundingDINO#446",),
    group="removed-names",
    errors=("AttributeError: '…Model' object has no attribute 'get_head_mask'",),
)


@FIX.adds(("transformers.modeling_utils:ModuleUtilsMixin.get_head_mask", ">=5.0.0"))
def get_head_mask(self: Any, head_mask: Any, num_hidden_layers: int, is_attention_chunked: bool = False) -> list[None]:
    """The mask of the heads of each layer: None.

    Raises:
        Gone: there is a mask.
    """
    if head_mask is not None:
        raise Gone("This release of transformers has no masks of heads: no layer would use it. Leave head_mask out.")
    return [None] * num_hidden_layers
