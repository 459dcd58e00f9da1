"""``from_pretrained`` loads a model in the dtype of its checkpoint instead of float32.

Symptom   Silent: scripts for 4.x train weights in bfloat16 or float16 without float32 copies, and small updates are
          rounded away; numbers of inference differ.
Cause     The default of ``dtype`` is ``"auto"``.
Releases  5.0.0 and later
Upstream  transformers#42883, sentence-transformers#3773 (by design)
Here      Opt-in, by id or by the group ``v4-defaults``: the default is torch's default dtype, as in 4.57.6. Models
          quantized by the call or in the checkpoint keep the release's dtype. Memory doubles.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="from_pretrained loads in the dtype of the checkpoint where code for 4.x expects float32",
    kind="silent",
    upstream=("transformers#42883", "sentence-transformers#3773"),
    optin="it puts a default of 4.x in the place of one of 5.x",
    group="v4-defaults",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", ">=5.0.0"),
    old=['dtype = "auto"', "config, dtype = _get_dtype(*__ARGUMENTS)"],
    new=[
        "dtype = None",
        """
        if dtype is None and hf_quantizer is not None:
            dtype = "auto"
        config, dtype = _get_dtype(*__ARGUMENTS)
        """,
    ],
)
