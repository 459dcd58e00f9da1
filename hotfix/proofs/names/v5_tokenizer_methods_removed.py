"""The proof: tokenizers of four classes and of none, made from files, and what their methods return."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.names.v5_tokenizer_methods_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat", "on", "the", "mat", ".", "##s"]
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>", *"acehmnost.", "Ġ", "at", "Ġc", "Ġcat"]
MERGES = ["a t", "Ġ c", "Ġc at"]

FIRST, SECOND = [5, 6, 7, 8], [9, 10]
PREPARED: tuple[dict[str, Any], ...] = (
    {},
    {"pair_ids": SECOND},
    {"pair_ids": SECOND, "truncation": "only_second", "max_length": 8, "padding": False},
    {"pair_ids": SECOND, "truncation": True, "max_length": 6, "return_length": True},
    {"padding": "max_length", "max_length": 9, "return_token_type_ids": True},
    {"pad_to_multiple_of": 4, "padding": True, "padding_side": "left"},
    {"truncation": True, "max_length": 4, "stride": 1, "return_overflowing_tokens": True},
    {"add_special_tokens": False, "return_attention_mask": False, "return_token_type_ids": False},
    {"return_tensors": "pt", "prepend_batch_axis": True},
)
CALLS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "build_inputs_with_special_tokens": ((FIRST,), (FIRST, SECOND), ([], [])),
    "create_token_type_ids_from_sequences": ((FIRST,), (FIRST, SECOND)),
    "get_special_tokens_mask": ((FIRST,), (FIRST, SECOND)),
    "truncate_sequences": tuple(
        (FIRST, pair, number, how, 1)
        for pair in (None, SECOND)
        for number in range(4)
        for how in ("longest_first", "only_first", "do_not_truncate")
    ),
    "_convert_token_to_id": (("cat",), ("at",), ("nothing",)),
    "sanitize_special_tokens": ((),),
    "words": ((), (0,)),
    "prepare_seq2seq_batch": ((["a cat", "the cat sat"], ["on the mat"], 12), (["a cat", "the mat"], None, 12, 12)),
}


@FIX.case(raises="AttributeError: (.* has no attribute |$)|NotImplementedError: .*", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the method returns for one text and for two."""
    name = target.qualname.rpartition(".")[2]
    owner = target.qualname.rpartition(".")[0]
    with tempfile.TemporaryDirectory() as folder:
        made = _made(Path(folder))
    if name == "words":
        made = {"PreTrainedTokenizerFast": made["PreTrainedTokenizerFast"]("the cats sat", "a mat")}
    elif owner.startswith(("Bert", "GPT2", "Roberta")):
        made = {owner: made[owner]}
    elif name == "get_special_tokens_mask":
        made = {kind: made[kind] for kind in ("BertTokenizer", "RobertaTokenizer", "GPT2Tokenizer")}
    elif name in ("as_target_tokenizer", "prepare_seq2seq_batch"):  # BPE in Python and in Rust differ by themselves
        made = {kind: made[kind] for kind in ("BertTokenizer", "BertTokenizerFast")}
    results = {}
    for kind, tokenizer in made.items():
        for side in ("right", "left") if name in ("truncate_sequences", "prepare_for_model") else ("right",):
            tokenizer.truncation_side = side
            results[f"{kind} {side}"] = words(*_answers(tokenizer, name))
    return results


def _answers(tokenizer: Any, name: str) -> list[str]:
    if name == "ids_to_tokens":
        return [repr(dict(tokenizer.ids_to_tokens))]
    if name == "as_target_tokenizer":
        with tokenizer.as_target_tokenizer():
            return [repr(tokenizer("a cat")["input_ids"])]
    if name == "prepare_for_model":
        prepared = [tokenizer.prepare_for_model(list(FIRST), **how) for how in PREPARED]
        return [repr({key: torch.as_tensor(value).tolist() for key, value in made.items()}) for made in prepared]
    answers = [getattr(tokenizer, name)(*call) for call in CALLS[name]]
    return [repr(sorted(answer.items()) if hasattr(answer, "items") else answer) for answer in answers]


def _made(folder: Path) -> dict[str, Any]:
    """Tokenizers, by the name of their class."""
    import transformers
    from tokenizers import Tokenizer, models, processors

    (folder / "vocab.txt").write_text("\n".join(WORDS))
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(PIECES)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES]))
    pieces = [str(folder / "vocab.json"), str(folder / "merges.txt")]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return {
        "BertTokenizer": transformers.BertTokenizer(str(folder / "vocab.txt")),
        "BertTokenizerFast": transformers.BertTokenizerFast(str(folder / "vocab.txt")),
        "GPT2Tokenizer": transformers.GPT2Tokenizer(*pieces, pad_token="<pad>"),
        "RobertaTokenizer": transformers.RobertaTokenizer(*pieces),
        "PreTrainedTokenizerFast": transformers.PreTrainedTokenizerFast(
            tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
        ),
    }
