"""``transformers.generation`` does not export names yet that its own modules have.

Symptom   ``ImportError: cannot import name 'BaseStreamer' from 'transformers.generation'``; the same of
          ``GenerationMode``.
Cause     The package did not list them.
Releases  ``BaseStreamer`` to 4.49.0, ``GenerationMode`` to 4.38.2
Upstream  added in 4.50.0 and 4.39.0
Here      The release's own class.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'BaseStreamer' from 'transformers.generation'",
    kind="removed-api",
    group="removed-names",
    fixed_in="4.50.0",
)

NAMES = {
    "BaseStreamer": ("streamers", "<4.50.0"),
    "GenerationMode": ("utils", "<4.39.0"),
}

for _name, (_module, _releases) in NAMES.items():
    FIX.exports((f"transformers.generation:{_name}", _releases), leaf=f"transformers.generation.{_module}")
