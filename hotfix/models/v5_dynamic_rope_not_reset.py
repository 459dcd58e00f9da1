"""After one long text, a model with dynamic rotary frequencies reads every later short one with those of the long one.

Symptom   Silent. Models with ``rope_type: dynamic`` get worse after the first text longer than they were trained on,
          and stay so: logits of short texts depend on what came before.
Cause     How long the longest text was is written to an attribute of another name, ``None_max_seq_len_cached``, than
          the one that is read, so that the frequencies are never put back.
Releases  5.0.0 to 5.12.1
Upstream  transformers#46624 (fixed in 5.13.0)
Here      A short text after a long one puts the frequencies back. Longer texts get frequencies of their own, as in the
          release: 5.13.0 keeps those of the longest. So every text is read as by a model that has seen no other one.
          Where a model was imported before hotfix, it keeps what it has.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="rope_type dynamic: after one long text, every later short one is read with the frequencies of the long one",
    kind="silent",
    upstream=("transformers#46624",),
    fixed_in="5.13.0",
    everyone="only a short text after a long one, by the attribute that no program reads: the new code tests it",
)

FIX.edits(
    ("transformers.modeling_rope_utils:dynamic_rope_update", ">=5.0.0,<=5.12.1"),
    old="seq_len < self.original_max_seq_len and max_seq_len_cached > self.original_max_seq_len",
    new="""
        (
            seq_len <= self.original_max_seq_len and self.None_max_seq_len_cached > self.original_max_seq_len
            if layer_type is None and hasattr(self, "None_max_seq_len_cached")
            else seq_len < self.original_max_seq_len and max_seq_len_cached > self.original_max_seq_len
        )
    """,
    beside='setattr(self, f"{layer_type}_max_seq_len_cached", __LENGTH)',
)
