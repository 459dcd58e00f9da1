"""Cases of `test_pipeline_dtype.py`."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from hotfix.proofs.loading.pipeline_torch_dtype_ignored import _pipeline
from hotfix.proofs.zoo import small_llama


def given_twice(testbed: Any, target: Any) -> dict[str, Any]:
    """A weight of a pipeline that is given a dtype, and another one for the model."""
    import torch

    with TemporaryDirectory() as folder:
        small_llama(testbed).save_pretrained(folder)
        options = {"dtype": torch.float16, "model_kwargs": {"dtype": torch.bfloat16}}
        return {"weight": _pipeline(folder, options).model.get_output_embeddings().weight.detach()}
