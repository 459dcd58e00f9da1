"""The small models of the proofs: one builder for each, with its configuration, and inputs for it.

Every builder takes the `Testbed` of a case, gives seeded weights through it, and works on every release that its proof
runs on. torch and transformers are imported where they are used.
"""

from __future__ import annotations

# -- decoders ----------------------------------------------------------------------------------------------------------

# -- Qwen's vision-language models -------------------------------------------------------------------------------------

# -- other vision-language models --------------------------------------------------------------------------------------

# -- vision towers -----------------------------------------------------------------------------------------------------

# -- models for the Trainer --------------------------------------------------------------------------------------------

# -- pictures and processors -------------------------------------------------------------------------------------------
