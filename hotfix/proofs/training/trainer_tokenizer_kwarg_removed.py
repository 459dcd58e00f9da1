"""The proof: Trainers are made with a tokenizer, which pads their batches."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama
from hotfix.training.trainer_tokenizer_kwarg_removed import FIX


@FIX.case(
    raises="TypeError: .*__init__\\(\\) got an unexpected keyword argument 'tokenizer'"
    "|AttributeError: 'Trainer' object has no attribute 'tokenizer'",
    packages=LATER_PACKAGES,
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The batch that each makes of two texts."""
    import transformers
    from tokenizers import Tokenizer, models

    core = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]")
    second = target.qualname.startswith("Seq2Seq")
    kind: Any = transformers.Seq2SeqTrainer if second else transformers.Trainer
    arguments: Any = transformers.Seq2SeqTrainingArguments if second else transformers.TrainingArguments
    texts = [{"input_ids": [3, 4, 5]}, {"input_ids": [6]}]
    with tempfile.TemporaryDirectory() as folder:
        how = arguments(folder, report_to=[], use_cpu=True)
        by_name = {} if target.qualname == "Trainer.tokenizer" else {"tokenizer": tokenizer}
        trainer = kind(model=small_llama(testbed), args=how, train_dataset=texts, **by_name)
        if not by_name:
            assert trainer.tokenizer is None
            trainer.tokenizer = tokenizer
        batch = (trainer.data_collator if by_name else transformers.DataCollatorWithPadding(trainer.tokenizer))(texts)
    # The collator of a Trainer that was made without a tokenizer does not pad.
    same = trainer.tokenizer is tokenizer
    return {"ids": batch["input_ids"], "mask": batch["attention_mask"], "same": torch.tensor(same)}
