"""A tiny Llama in a pipeline, with the dtype given in several ways."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.pipeline_torch_dtype_ignored import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Weights in float32, and bytes per weight. The last way has no bug."""
    from packaging.version import Version
    from transformers import __version__

    name = (
        "dtype" if Version(__version__) >= Version("4.56.0") else "torch_dtype"
    )  # the old name works in every release
    ways: dict[str, tuple[torch.dtype, dict[str, Any]]] = {
        "dtype": (torch.float32, {name: torch.bfloat16}),
        "dtype as a word": (torch.float32, {name: "float16"}),
        "torch_dtype": (torch.float32, {"torch_dtype": torch.bfloat16}),
        "the file's own": (torch.bfloat16, {name: "auto"}),
        "another than the file's": (torch.bfloat16, {name: torch.float16}),
        "model_kwargs": (torch.float32, {"model_kwargs": {name: torch.bfloat16}}),
    }
    results = {}
    for way, (dtype, options) in ways.items():
        with TemporaryDirectory() as folder:
            small_llama(testbed).to(dtype).save_pretrained(folder)
            weight = _pipeline(folder, options).model.get_output_embeddings().weight
        results[way] = weight.float()
        results[f"{way}, bytes"] = torch.tensor(weight.element_size())
    return results


def _pipeline(folder: str, options: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast, pipeline

    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")))
    return pipeline("text-generation", model=folder, tokenizer=words, device="cpu", **options)
