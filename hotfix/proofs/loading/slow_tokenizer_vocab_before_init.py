"""A tokenizer like Baichuan's first one, and the same class with its lines in today's order."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch

from hotfix.loading.slow_tokenizer_vocab_before_init import FIX
from hotfix.proofs.testbed import Target, Testbed

WORDS = ("<unk>", "<s>", "live", "patching", "of", "models")
SETTINGS = {
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "pad_token": "<pad>",  # not in the vocabulary, like the next one
    "additional_special_tokens": ["<|user|>"],
}


# Later releases require protobuf, which the testbed lacks, if a class raises any error. No release is right: the
# results are compared below with those of the class with its lines in today's order.
@FIX.case(
    raises="AttributeError: '?Old'?( object)? has no attribute '?words|ImportError:\\s+requires the protobuf library",
    oracles={"*": ""},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids of a batch with special tokens, of both orders, after loading and after saving and loading again."""
    from transformers import PreTrainedTokenizer

    class Today(PreTrainedTokenizer):
        vocab_files_names: ClassVar = {"vocab_file": "words.txt"}

        def __init__(self, vocab_file: str, **settings: Any) -> None:
            self.read(vocab_file)
            super().__init__(**settings)

        def read(self, vocab_file: str) -> None:
            self.words = Path(vocab_file).read_text(encoding="utf-8").split()

        @property
        def vocab_size(self) -> int:
            return len(self.words)

        def get_vocab(self) -> dict[str, int]:
            return {**{word: number for number, word in enumerate(self.words)}, **self.added_tokens_encoder}

        def _tokenize(self, text: str, **_: Any) -> list[str]:
            return text.split()

        def _convert_token_to_id(self, token: str) -> int:
            return self.words.index(token) if token in self.words else 0

        def _convert_id_to_token(self, index: int) -> str:
            return self.words[index]

        def save_vocabulary(self, folder: str, filename_prefix: Any = None) -> tuple[str]:
            Path(folder, "words.txt").write_text("\n".join(self.words), encoding="utf-8")
            return (str(Path(folder, "words.txt")),)

    class Old(Today):
        def __init__(self, vocab_file: str, **settings: Any) -> None:
            PreTrainedTokenizer.__init__(self, **settings)
            self.read(vocab_file)

    results = {}
    with TemporaryDirectory() as place:
        for name, kind in (("today", Today), ("old", Old)):
            folder = Path(place, name)
            folder.mkdir()
            (folder / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
            (folder / "tokenizer_config.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
            for step in ("first", "again"):
                tokenizer = kind.from_pretrained(folder)
                batch = tokenizer(["<s> live <|user|> patching", "models"], padding=True, return_tensors="pt")
                results[f"{step}, {name}: ids"] = batch["input_ids"]
                results[f"{step}, {name}: known"] = torch.tensor(
                    [len(tokenizer), *tokenizer.convert_tokens_to_ids(["<pad>", "<|user|>"])]
                )
                folder = folder / "again"
                tokenizer.save_pretrained(folder)
    for name, result in results.items():
        if not torch.equal(result, results[name.replace("old", "today")]):
            raise RuntimeError(f"{name}: {result.tolist()}, and not the ids of a class with today's order")
    return results
