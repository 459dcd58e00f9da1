"""The pipeline for text to audio asks a tokenizer's output for another dtype.

Symptom   ``TypeError: BatchEncoding.to() got an unexpected keyword argument 'dtype'`` from
          ``pipeline("text-to-audio")`` with a model that has a tokenizer and no processor, such as VITS and MMS.
Cause     The inputs are moved to the dtype of the model, which only the output of a processor can be.
Releases  5.17.0
Upstream  diffusers-workflow#232, first fixed release 5.18.0
Here      After the TypeError, the output of a tokenizer stays as it is, as in 5.18.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: BatchEncoding.to() got an unexpected keyword argument 'dtype'",
    kind="crash",
    upstream=("diffusers-workflow#232",),
    fixed_in="5.18.0",
    errors=("TypeError: BatchEncoding.to() got an unexpected keyword argument 'dtype'",),
    on_error=True,
)

FIX.edits(
    ("transformers.pipelines.text_to_audio:TextToAudioPipeline.preprocess", "==5.17.0"),
    old="output = output.to(dtype=self.model.dtype)",
    unless="isinstance(output, BatchFeature)",
    new="""
        from transformers import BatchEncoding
        if not isinstance(output, BatchEncoding):
            output = output.to(dtype=self.model.dtype)
        """,
)
