"""The proof: batches of lists, of dicts and of Chinese are masked, with the program's seed and the collator's."""

import torch

from hotfix.names.whole_word_mask_by_tokens import FIX
from hotfix.proofs.testbed import Target, Testbed

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] hello ##ing ##s world walk talk cat dog . the"


@FIX.case(
    raises="IndexError: too many indices for array|(Attribute|Import)Error: .*DataCollatorForWholeWordMask",
    oracles={"*": "4.57.6"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Make collators of one's own arguments, and give each a batch."""
    import random
    import tempfile
    import warnings
    from pathlib import Path

    from transformers import BertTokenizerFast

    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocab.txt")
        vocabulary.write_text("\n".join(WORDS.split()))
        tokenizer = BertTokenizerFast(str(vocabulary))
    examples = [{"input_ids": tokenizer(text)["input_ids"]} for text in ("hello walking worlds", "the dogs talk .")]
    chinese = [{"input_ids": [2, 5, 8, 9, 11, 3], "chinese_ref": [2, 4]}]
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import DataCollatorForWholeWordMask
    for name, batch, options in (
        ("dicts", examples, {}),
        ("lists", [example["input_ids"] for example in examples], {"mlm_probability": 0.6}),
        ("Chinese", chinese, {"mlm_probability": 0.5}),
        ("padded", examples, {"pad_to_multiple_of": 8}),
        ("seeded", examples, {"seed": 3, "mlm_probability": 0.4}),
        ("only masks", examples, {"mask_replace_prob": 1.0, "random_replace_prob": 0.0}),
    ):
        random.seed(0)
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collator = DataCollatorForWholeWordMask(tokenizer=tokenizer, **options)
        for number in range(4):
            masked = collator(batch)
            results[f"{name} {number}"] = torch.stack([masked["input_ids"], masked["labels"]])
    return results
