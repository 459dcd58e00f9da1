"""A model that is saved under FSDP2 names an architecture that does not exist.

Symptom   ``config.json`` has ``"architectures": ["FSDPQwen2ForCausalLM"]``. vLLM refuses the folder: ``Model
          architectures ['FSDPQwen2ForCausalLM'] are not supported for now``. Code that looks the class up, as TRL
          does, ends with ``module transformers has no attribute FSDPQwen2ForCausalLM``.
Cause     ``fully_shard`` gives the model a new class, whose name begins with FSDP, and nothing removes it again.
          ``save_pretrained`` writes the name of the class that the model has.
Releases  4.36.0 to 4.56.2
Upstream  fixed in 4.57.1
Here      For a class that ``fully_shard`` has made, the name of the class that it was made from, as in 4.57.1. A class
          of your own that is called FSDP… keeps its name, which 4.57.1 cuts.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="config.json saved under FSDP2 has architectures like FSDPQwen2ForCausalLM",
    kind="loading",
    errors=(
        "ValueError: Model architectures ['FSDP…'] are not supported for now. Supported architectures: …",
        "AttributeError: module transformers has no attribute FSDP…",
    ),
    everyone="only for a class that torch's fully_shard has made: the new code tests it itself",
    fixed_in="4.57.1",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.save_pretrained", ">=4.36.0,<=4.56.2"),
    old="model_to_save.config.architectures = [model_to_save.__class__.__name__]",
    new=f"""
        from {__name__} import architecture
        model_to_save.config.architectures = [architecture(model_to_save)]
    """,
)


def architecture(model: Any) -> str:
    """The name of a model's class, without what ``fully_shard`` puts in front of it."""
    cls = type(model)
    if len(cls.__bases__) == 2:
        mixin, original = cls.__bases__
        is_made = mixin.__name__ == "FSDPModule" and mixin.__module__.startswith("torch.distributed.")
        if is_made and cls.__name__ == f"FSDP{original.__name__}":
            return original.__name__
    return cls.__name__
