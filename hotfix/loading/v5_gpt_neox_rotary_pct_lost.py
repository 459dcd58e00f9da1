"""GPT-NeoX forgets how much of a head is rotated when it is read again.

Symptom   Silent. A GPT-NeoX that was saved by 5.x with another fraction than a quarter computes wrong logits when it is
          loaded: ``config.rope_parameters["partial_rotary_factor"]`` is 0.25.
Cause     The configuration writes 0.25, or `rotary_pct` where that is given, over what `rope_parameters` says.
Releases  5.0.0 to 5.4.0
Upstream  setdefault in its place since 5.5.0
Here      What `rope_parameters` says is kept, unless `rotary_pct` is given, too. Bitwise equal to 5.5.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GPT-NeoX forgets how much of a head is rotated when it is read again",
    kind="silent",
    fixed_in="5.5.0",
    everyone="only where `rope_parameters` says it and `rotary_pct` is not given: the new code tests it",
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
