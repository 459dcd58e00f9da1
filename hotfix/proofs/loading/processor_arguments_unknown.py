"""The proof: a processor whose file has an argument more than its class."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.processor_arguments_unknown import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises=r"TypeError: .*__init__\(\) got an unexpected keyword argument 'image_token'",
    packages={"flash-attn": None},
    oracles={"*": "4.53.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The argument that the class knows, the one that it does not, and the numbers of some words."""
    from transformers.processing_utils import ProcessorMixin

    class Own(ProcessorMixin):
        attributes = ("tokenizer",)
        tokenizer_class = "PreTrainedTokenizerFast"
        optional_attributes = ()
        valid_kwargs = ("size",)

        def __init__(self, tokenizer: Any = None, size: int = 1) -> None:
            super().__init__(tokenizer)
            self.size = size

    with TemporaryDirectory() as folder:
        _tokenizer().save_pretrained(folder)
        settings = {"processor_class": "Own", "size": 5, "image_token": "<image>"}
        Path(folder, "processor_config.json").write_text(json.dumps(settings), encoding="utf-8")
        loaded = Own.from_pretrained(folder)
    ids = loaded.tokenizer("b a b")["input_ids"]
    return {"size": torch.tensor([loaded.size, hasattr(loaded, "image_token")]), "ids": torch.tensor(ids)}


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
