"""The proof: two texts, and a batch, by a tokenizer with default settings and by one with explicit outputs."""

from typing import Any

import torch

from hotfix.names.v5_segment_ids_not_returned import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

# By class: special tokens in the order of their numbers, the template of one text and of two.
BERT = ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")
FAMILIES: dict[str, tuple[list[str], str, str]] = {
    "AlbertTokenizer": (["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], *BERT),
    "RemBertTokenizer": (["<pad>", "[CLS]", "<unk>", "[SEP]", "[MASK]"], *BERT),
    "XLNetTokenizer": (
        ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"],
        "$A:0 <sep>:0 <cls>:2",
        "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
    ),
    "FunnelTokenizer": (
        ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>"],
        "<cls>:2 $A:0 <sep>:0",
        "<cls>:2 $A:0 <sep>:0 $B:1 <sep>:1",
    ),
    "SplinterTokenizer": (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QUESTION]", "."],
        "[CLS]:0 $A:0 [SEP]:0",
        "[CLS]:0 $A:0 [QUESTION]:0 .:0 [SEP]:0 $B:1 [SEP]:1",
    ),
    "HerbertTokenizer": (
        ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        "<s>:0 $A:0 </s>:0",
        "<s>:0 $A:0 </s>:0 $B:1 </s>:1",
    ),
}
WORDS = ["hello", "there", "you"]


@FIX.case(packages={"sentencepiece": ""})  # 4.57.6 needs it for three of them
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The returned keys, and the segments of two texts, of one, and of a batch."""
    import tempfile

    name = target.qualname.partition(".")[0]
    texts, others = ["hello there", "you"], ["you there", "hello hello there"]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for configured, settings in (("nothing", {}), ("two", {"model_input_names": ["input_ids", "attention_mask"]})):
            tokenizer = _written(folder, name, settings)
            pair, alone = tokenizer(texts[0], others[0]), tokenizer(texts[1])
            batch = tokenizer(texts, others, padding=True, return_tensors="pt")
            results[f"{configured}: keys"] = words(*sorted(pair), *tokenizer.model_input_names)
            for what, given in (("pair", pair), ("one", alone), ("batch", batch)):
                results[f"{configured}: {what}"] = given.get("token_type_ids", [])
    return {what: torch.as_tensor(value) for what, value in results.items()}


def _written(folder: str, name: str, settings: dict[str, Any]) -> Any:
    """A small tokenizer of a family, read from its files."""
    import json
    from pathlib import Path

    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special, single, pair = FAMILIES[name]
    if name in ("AlbertTokenizer", "RemBertTokenizer", "XLNetTokenizer"):
        vocabulary = [(token, 0.0) for token in special] + [("\u2581" + token, -1.0) for token in WORDS]
        core = Tokenizer(models.Unigram(vocabulary, unk_id=special.index("<unk>")))
        core.pre_tokenizer = pre_tokenizers.Metaspace()
    elif name == "HerbertTokenizer":
        numbers = {word: number for number, word in enumerate([*special, *(word + "</w>" for word in WORDS)])}
        core = Tokenizer(models.BPE(numbers, [], unk_token="<unk>", end_of_word_suffix="</w>"))
        core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        numbers = {word: number for number, word in enumerate([*special, *WORDS])}
        core = Tokenizer(models.WordPiece(numbers, unk_token=special[1]))
        core.normalizer = normalizers.BertNormalizer(lowercase=True)
        core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.add_special_tokens([token for token in special if token != "."])
    around = [(token, core.token_to_id(token)) for token in special if f"{token}:" in pair]
    core.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=around)
    core.save(str(Path(folder) / "tokenizer.json"))
    (Path(folder) / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **settings}))
    # By its class: 5.0.0 takes another one than the file names, of some.
    return (getattr(transformers, f"{name}Fast", None) or getattr(transformers, name)).from_pretrained(folder)
