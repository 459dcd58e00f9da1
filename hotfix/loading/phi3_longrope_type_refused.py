"""Long-context Phi-3 models do not load if their scaling is called ``longrope``.

Symptom   ``ValueError: `rope_scaling`'s type field must be one of ['su', 'yarn'], got longrope``, for files of the Hub
          as they are today and for what later releases save.
Cause     The scaling had the name ``su`` then.
Releases  4.41.0 to 4.42.4
Upstream  renamed in 4.43.0, which takes either name
Here      A configuration takes either name, and has that of the release. Equal to 4.43.0. Saved files have the old
          name, which later releases read. A program that handles the ValueError gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Phi-3: ValueError: `rope_scaling`'s type field must be one of ['su', 'yarn'], got longrope",
    kind="loading",
    fixed_in="4.43.0",
    errors=("ValueError: `rope_scaling`'s type field must be one of ['su', 'yarn'], got longrope",),
    on_error=True,
    own=("self._rope_scaling_validation",),
)

_CONFIG = "Phi3Config"

FIX.edits(
    (f"transformers.models.phi3.configuration_phi3:{_CONFIG}.__init__", ">=4.41.0,<=4.42.4"),
    old="self.rope_scaling = rope_scaling",
    new="""
        if isinstance(rope_scaling, dict) and rope_scaling.get("type") == "longrope":
            rope_scaling = {**rope_scaling, "type": "su"}
        self.rope_scaling = rope_scaling
        """,
    beside='rope_scaling_type not in ["su", "yarn"]',
    fingerprint_of=(f"{_CONFIG}.__init__", f"{_CONFIG}._rope_scaling_validation"),
)
