"""Models cannot be quantized with bitsandbytes on a machine without an accelerator.

Symptom   ``AttributeError: 'frozenset' object has no attribute 'discard'`` from ``from_pretrained`` with a
          configuration for bitsandbytes that knows several backends.
Cause     The CPU is removed from the devices in place, and their set is frozen.
Releases  4.45.0 to 4.49.0
Upstream  helical#291 (fixed in 4.50.0)
Here      The CPU is removed from a copy of the set, as in 4.50.0, which then usually raises an error about the devices.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'frozenset' object has no attribute 'discard', from bitsandbytes",
    kind="crash",
    upstream=("helical#291",),
    fixed_in="4.50.0",
    errors=("AttributeError: 'frozenset' object has no attribute 'discard'",),
    on_error=True,
)

FIX.edits(
    (
        "transformers.integrations.bitsandbytes:_validate_bnb_multi_backend_availability",
        ">=4.45.0,<4.50.0",
    ),
    old="available_devices = get_available_devices()",
    new="available_devices = set(get_available_devices())",
)
