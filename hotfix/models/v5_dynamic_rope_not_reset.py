"""After one long text, a model with dynamic rotary frequencies keeps them for every later short text.

Symptom   Silent. Models with ``rope_type: dynamic`` get worse after the first text longer than they were trained on,
          and stay so: logits of short texts depend on what came before.
Cause     The length of the longest text is written to ``None_max_seq_len_cached``, and read from another attribute, so
          the frequencies are never restored.
Releases  5.0.0 to 5.12.1
Upstream  transformers#46624 (fixed in 5.13.0)
Here      A short text after a long one restores the frequencies when it begins, with position 0. Longer texts get
          frequencies of their own, as in the release: 5.13.0 keeps those of the longest. So every text is read as by a
          model that has read no other one. A text that goes on behind a kept cache gets the frequencies of the release:
          those of its keys are not known.
          A model that was imported before hotfix stays unrepaired.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="rope_type dynamic: after one long text, logits of every later short text are off",
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
            seq_len <= self.original_max_seq_len
            and self.None_max_seq_len_cached > self.original_max_seq_len
            and position_ids.min() == 0
            if layer_type is None and hasattr(self, "None_max_seq_len_cached")
            else seq_len < self.original_max_seq_len and max_seq_len_cached > self.original_max_seq_len
        )
    """,
    beside='setattr(self, f"{layer_type}_max_seq_len_cached", __LENGTH)',
)
