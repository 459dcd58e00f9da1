"""The proof: a tokenizer is made from a file, used, saved and read again."""

from typing import Any

import torch

from hotfix.names.bloom_tokenizer_removed import FIX
from hotfix.proofs.names.asking import same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ModuleNotFoundError: No module named|ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The numbers and the texts, with and without a space in front."""
    import tempfile
    import warnings
    from pathlib import Path

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    backend = Tokenizer(models.BPE({"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3, "h": 4, "i": 5, "Ġ": 6, "hi": 7}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel(add_prefix_space=False, use_regex=False)
    namespace: dict[str, Any] = {}
    results = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        home = target.module if target.module == "transformers" else f"{target.module}.{target.qualname}"
        exec(f"from {home} import BloomTokenizerFast", namespace)
        restored = namespace["BloomTokenizerFast"]
        file = Path(folder, "tokenizer.json")
        backend.save(str(file))
        for with_space in (False, True):
            tokenizer = restored(tokenizer_file=str(file), add_prefix_space=with_space)
            tokenizer.save_pretrained(f"{folder}/{with_space}")
            again = restored.from_pretrained(f"{folder}/{with_space}")
            for name, of in (("made", tokenizer), ("read", again)):
                ids = of(["hi hi", "h"], padding=True)["input_ids"]
                results[f"{name} {with_space}"] = torch.tensor(ids)
                results[f"{name} {with_space} text"] = words(*of.batch_decode(ids), of.eos_token, of.pad_token)
    return {**results, "pickled": same_when_pickled(restored)}
