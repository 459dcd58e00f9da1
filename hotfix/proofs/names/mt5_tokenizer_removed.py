"""The proof: each class is imported in each way, and reads a tokenizer of mT5."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.names.mt5_tokenizer_removed import CLASSES, FIX
from hotfix.proofs.names.asking import same_when_pickled
from hotfix.proofs.testbed import Target, Testbed

TEXTS = ("hello world", "a hello", "world a a")
PIECES = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁hello", -1.0), ("▁world", -2.0), ("▁a", -3.0), ("▁", -4.0)]


@FIX.case(raises="ModuleNotFoundError: No module named|ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the class, read a folder, and encode texts; save it, and read it again."""
    import warnings
    from importlib import import_module

    from transformers import __version__

    module = next(module for module, name in CLASSES.items() if target.qualname in (module, name))
    name = CLASSES[module]
    path = "transformers" if target.module == "transformers" else f"transformers.models.mt5.{module}"
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings(), TemporaryDirectory() as folder, TemporaryDirectory() as saved:
        warnings.simplefilter("ignore")
        exec(f"from {path} import {name}", namespace)
        restored = namespace[name]
        # Before 5.0.0 the slow class needs a model of sentencepiece, and its ids are those of the fast one.
        read = import_module("transformers").MT5TokenizerFast if __version__.startswith("4.") else restored
        _write(folder)
        tokenizer = read.from_pretrained(folder)
        tokenizer.save_pretrained(saved)
        results = {}
        for key, each in (("read", tokenizer), ("again", read.from_pretrained(saved))):
            results.update({f"{key}: {text}": torch.tensor(each(text)["input_ids"]) for text in TEXTS})
        results["pickled"] = same_when_pickled(restored)
    return results


def _write(folder: str) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.Unigram(PIECES, unk_id=2))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    whole = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    whole.save_pretrained(folder)
