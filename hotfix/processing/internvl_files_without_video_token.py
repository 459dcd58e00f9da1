"""The processor of InternVL 3 asks the tokenizer for a token of videos that earlier files do not name.

Symptom   ``AttributeError: Qwen2TokenizerFast has no attribute video_token`` from ``AutoProcessor.from_pretrained`` of
          InternVL 3 and 3.5 checkpoints that were downloaded, or copied by a training run, before June 2025.
Cause     The files were written before the processor could read videos.
Releases  4.52.1 and later
Upstream  InternVL#1032, LlamaFactory#8452 (repaired in the files)
Here      The token is ``<video>``, as in the files of today. It is a mark in the text, which the processor replaces.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: Qwen2TokenizerFast has no attribute video_token",
    kind="loading",
    upstream=("InternVL#1032", "LlamaFactory#8452"),
    errors=("AttributeError: Qwen2Tokenizer… has no attribute video_token…",),
    on_error=("AttributeError: …has no attribute …video_token…",),
)

FIX.edits(
    ("transformers.models.internvl.processing_internvl:InternVLProcessor.__init__", ">=4.52.1"),
    old="""
        self.image_token = tokenizer.context_image_token
        self.video_token = tokenizer.video_token
    """,
    new="""
        self.image_token = tokenizer.context_image_token
        self.video_token = getattr(tokenizer, "video_token", "<video>")
    """,
)
