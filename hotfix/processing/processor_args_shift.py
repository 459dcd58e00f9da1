"""Loading a processor with your own image processor or tokenizer raises.

Symptom   ``TypeError: CLIPProcessor.__init__() got multiple values for argument 'image_processor'`` from
          ``AutoProcessor.from_pretrained(…, image_processor=mine)``, and from vLLM with Qwen2-VL and Qwen2.5-VL.
Cause     The part from the file is removed from the positional arguments, and the arguments after it move up.
Releases  4.53.0
Upstream  transformers#38898, vllm#19833 (fixed in 4.53.1)
Here      The caller's part replaces the part from the file. Equal to 4.53.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: Qwen2_5_VLProcessor.__init__() got multiple values for argument 'image_processor'",
    kind="crash",
    upstream=("transformers#38898", "vllm#19833"),
    fixed_in="4.53.1",
    errors=(
        "TypeError: CLIPProcessor.__init__() got multiple values for argument 'image_processor'",
        "TypeError: Qwen2_5_VLProcessor.__init__() got multiple values for argument 'image_processor'",
    ),
    on_error=("TypeError: …got multiple values for argument …",),
)

FIX.edits(
    ("transformers.processing_utils:ProcessorMixin.from_args_and_dict", "==4.53.0"),
    old="""
        args_to_remove = [i for i, arg in enumerate(accepted_args_and_kwargs) if arg in processor_dict]
        args = [arg for i, arg in enumerate(args) if i not in args_to_remove]
        """,
    new="""
        read = list(args)
        args = [valid_kwargs.pop(name, part) for name, part in zip(accepted_args_and_kwargs, read)]
        args += read[len(args):]
        """,
)
