"""Logits of T5 1.1 and Flan-T5 are divided by the square root of the model's width.

Symptom   Silent. Samples are nearly random, and losses are those of a flat distribution; greedy search is right.
Cause     ``tie_word_embeddings`` is read from the keyword arguments, but it is a named parameter and never among them.
Releases  5.0.0
Upstream  fixed in 5.1.0
Here      The parameter is read: False means not to scale. Equal to 5.1.0, and for None to 5.23.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="T5 1.1 and Flan-T5: logits are divided by sqrt(d_model), losses and samples are off",
    kind="silent",
    fixed_in="5.1.0",
    when="tie_word_embeddings is False",
)

FIX.edits(
    ("transformers.models.t5.configuration_t5:T5Config.__init__", "==5.0.0"),
    old='self.scale_decoder_outputs = kwargs.get("tie_word_embeddings") is not False',
    new="self.scale_decoder_outputs = tie_word_embeddings is not False",
)
