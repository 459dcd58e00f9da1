"""A Gemma 3 that 5.4 or 5.5 has saved is loaded with random weights, except for its vision tower.

Symptom   Silent except for "Some weights of … were not initialized from the model checkpoint", or one line of
          vlm-checkpoint-key-layout-new-to-old where that is applied: the language model is random.
Cause     5.4 and 5.5 write ``model.language_model.model.…``. These releases assume that a file in which no name begins
          with ``language_model`` contains the language model alone.
Releases  4.50.0 to 4.51.3
Upstream  4.52.1 changed the modules of these models; 5.6.0 writes the names of the Hub again, 5.9.0 reads these
Here      Such a name counts as one of the whole model, unless the model is one of your own around Gemma 3. Then
          vlm-checkpoint-key-layout-new-to-old finds the weight for each name, as in other families. All weights are
          those of the file.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 3 saved by transformers 5.4 or 5.5 loads with a random language model",
    kind="silent",
    everyone="only for Gemma 3, and names that 5.4 and 5.5 alone write: the new code tests it itself",
    fixed_in="4.52.1",
    prefilter="has_prefix_module = any(",
)

_LOAD = "PreTrainedModel._load_pretrained_model"

FIX.edits(
    (f"transformers.modeling_utils:{_LOAD}", ">=4.50.0,<=4.51.3"),
    old="any(s.startswith(prefix) for s in original_checkpoint_keys)",
    new="""
        any(
            s.startswith(prefix)
            or prefix == "language_model"
            and hasattr(model, prefix)
            and s.startswith("model.language_model.model.")
            and any(".gemma3." in cls.__module__ for cls in type(model).__mro__)
            for s in original_checkpoint_keys
        )
        """,
    beside='base_model_prefix = "language_model"',
    fingerprint_of=(_LOAD, "transformers.models.gemma3.modeling_gemma3:Gemma3PreTrainedModel"),
)
