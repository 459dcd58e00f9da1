"""Tokenizers that are made from a list of words, from a vocabulary with merges, and from a file of SentencePiece."""

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.v5_vocab_file_unread import FIX
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "<pad>", "</s>", "<unk>", "<mask>", "low", "town", "##er"]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>", "<|startoftext|>"]
MERGES = ["l o", "lo w", "Ġ n", "Ġn e", "Ġne w", "e r</w>", "w </w>"]
TEXTS = ["low newer town", "new lowest low"]
PIECES: dict[str, dict[str, Any]] = {
    "Albert": {"pad": "<pad>", "unk": "<unk>", "bos": "[CLS]", "eos": "[SEP]", "more": ["[MASK]"]},
    "BigBird": {"pad": "<pad>", "eos": "</s>", "bos": "<s>", "unk": "<unk>", "more": ["[SEP]", "[MASK]", "[CLS]"]},
    "DebertaV2": {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"},
    "T5": {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    **{name: {"unk": "<unk>", "bos": "<s>", "eos": "</s>"} for name in ("Llama", "MBart", "MBart50", "XLMRoberta")},
}


@FIX.case(
    packages={"sentencepiece": "", "protobuf": ""},
    oracles={"*": "4.57.6"},
    with_fixes=("v5-debertav2-no-special-tokens",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids and the number of tokens, of a tokenizer of the class of the target."""
    import transformers

    kind = target.qualname.partition(".")[0]
    with tempfile.TemporaryDirectory() as folder:
        made = getattr(transformers, kind)(**_files(kind.removesuffix("Tokenizer"), Path(folder)))
    ids = [made(text).input_ids for text in TEXTS]
    return {"ids": torch.tensor([n for text in ids for n in (*text, -1)]), "tokens": torch.tensor(len(made))}


def _files(family: str, folder: Path) -> dict[str, str]:
    """The files of a tokenizer, by the names of its arguments in 4.57.6."""
    words, merges = folder / "vocab.txt", folder / "merges.txt"
    if family in PIECES:
        return {"vocab_file": _of_pieces(folder, **PIECES[family], kind="bpe" if family == "Llama" else "unigram")}
    if family in {"Bert", "Funnel", "MPNet", "Splinter"}:
        words.write_text("\n".join([*WORDS, "[QUESTION]", "<sep>", "<cls>", "."]))
        return {"vocab_file": str(words)}
    ends = ["w</w>", "er</w>", "n</w>"]
    pieces = [
        *SPECIAL,
        *"lownertĠs",
        "lo",
        "low",
        "Ġn",
        "Ġne",
        "Ġnew",
        "</w>",
        *(f"{c}</w>" for c in "lownerts"),
        *ends,
    ]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    words.write_text(json.dumps(vocabulary))
    merges.write_text("\n".join(["#version: 0.2", *MERGES, ""]))
    return {"vocab_file": str(words), "merges_file": str(merges)}


def _of_pieces(folder: Path, kind: str, more: Any = (), **names: str) -> str:
    text = folder / "text"
    text.write_text("low newer town lowest new\n" * 50)
    numbers = {f"{name}_id": number for number, name in enumerate(names)}
    import_module("sentencepiece").SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "pieces"),
        vocab_size=290 if kind == "bpe" else 40,
        model_type=kind,
        byte_fallback=kind == "bpe",
        hard_vocab_limit=False,
        minloglevel=5,
        control_symbols=[*more],
        **{"pad_id": -1, "bos_id": -1, "eos_id": -1, **numbers},
        **{f"{name}_piece": piece for name, piece in names.items()},
    )
    return str(folder / "pieces.model")
