"""GPT-OSS in MXFP4 does not limit the activations of its experts.

Symptom   Silent. GPT-OSS with its MXFP4 weights gives other outputs than in bfloat16, the more so where activations are
          large.
Cause     The fused kernel gets no limit; the model was trained with one of 7.
Releases  4.55.0 to 4.55.3
Upstream  fixed in 4.55.4
Here      The kernel gets ``swiglu_limit`` of the configuration, by default 7, as in 4.55.4. Experts that were made
          without the limit, by a custom ``__init__`` or before hotfix was armed, run as before, and a ``limit`` of a
          subclass keeps its own meaning.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GPT-OSS in MXFP4: swiglu_limit is ignored, outputs differ from bfloat16",
    kind="silent",
    fixed_in="4.55.4",
    everyone="GPT-OSS was trained with the limit; an experts module that was made without one is called as before",
)

_EXPERTS = "transformers.integrations.mxfp4:Mxfp4GptOssExperts"
_RELEASES = ">=4.55.0,<=4.55.3"
_LIMIT_MISSING = "(self.alpha, None)"

FIX.edits(
    (f"{_EXPERTS}.__init__", _RELEASES),
    old="self.alpha = __A",
    new="""
        self.alpha = __A
        self._hotfix_limit = getattr(config, "swiglu_limit", 7.0)
        """,
    beside=_LIMIT_MISSING,
    fingerprint_of=("Mxfp4GptOssExperts.__init__", "Mxfp4GptOssExperts.forward"),
)
FIX.edits(
    (f"{_EXPERTS}.forward", _RELEASES), old=_LIMIT_MISSING, new="(self.alpha, getattr(self, '_hotfix_limit', None))"
)
