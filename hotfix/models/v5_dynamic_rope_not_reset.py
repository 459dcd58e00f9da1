"""After one long text, a model with dynamic rotary frequencies reads every later short one with those of the long one.

Symptom   Silent. Models with ``rope_type: dynamic`` get worse after the first text longer than they were trained on,
          and stay so: logits of short texts depend on what came before.
Cause     How long the longest text was is written to an attribute of another name, ``None_max_seq_len_cached``, than
          the one that is read, so that the frequencies are never put back.
Releases  5.0.0 to 5.12.1
Upstream  transformers#46624 (fixed in 5.13.0)
Here      It is written where it is read. Equal to 5.13.0, and to a model that has not seen the long text. Where a model
          was imported before hotfix, it keeps what it has.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="v5-dynamic-rope-not-reset",
    title="rope_type dynamic: after one long text, every later short one is read with the frequencies of the long one",
    kind="silent",
    upstream=("transformers#46624",),
    fixed_in="5.13.0",
)

FIX.edits(
    ("transformers.modeling_rope_utils:dynamic_rope_update", ">=5.0.0,<=5.12.1"),
    old='setattr(self, f"{layer_type}_max_seq_len_cached", __LENGTH)',
    new='setattr(self, f"{prefix}max_seq_len_cached", __LENGTH)',
    count=2,
)
