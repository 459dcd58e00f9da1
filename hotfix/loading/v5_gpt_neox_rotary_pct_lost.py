"""GPT-NeoX loses its partial_rotary_factor when a saved configuration is read.

Symptom   Silent. A GPT-NeoX that was saved by 5.x with another fraction than 0.25 computes wrong logits after loading:
          ``config.rope_parameters["partial_rotary_factor"]`` is 0.25.
Cause     The configuration overwrites the value in `rope_parameters` with `rotary_pct`, or 0.25.
Releases  5.0.0 to 5.4.0
Upstream  setdefault in its place since 5.5.0
Here      The value in `rope_parameters` stays, unless `rotary_pct` is given, too. Bitwise equal to 5.5.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GPT-NeoX: partial_rotary_factor is 0.25 after loading, whatever the checkpoint has",
    kind="silent",
    fixed_in="5.5.0",
    everyone="only if `rope_parameters` has the value and `rotary_pct` is not given: the new code tests it",
    exempt={
        "transformers.models.gpt_neox_japanese.configuration_gpt_neox_japanese:"
        "GPTNeoXJapaneseConfig.convert_rope_params_to_dict": (
            "its embedding is of whole heads: with another fraction, where it is kept, the model raises"
        ),
    },
)

FIX.edits(
    (
        "transformers.models.gpt_neox.configuration_gpt_neox:GPTNeoXConfig.convert_rope_params_to_dict",
        ">=5.0.0,<=5.4.0",
    ),
    old='self.rope_parameters["partial_rotary_factor"] = kwargs.pop("rotary_pct", __DEFAULT)',
    new="""
        self.rope_parameters["partial_rotary_factor"] = kwargs.pop(
            "rotary_pct", self.rope_parameters.get("partial_rotary_factor", __DEFAULT)
        )
        """,
)
