"""A user's script: TRL's DPOTrainer or SFTTrainer, or the Trainer of transformers, with evaluation every other step.

    user_trl.py flash_attention_2|eager FOLDER KIND...

A kind is ``dpo``, ``sft``, ``generate left`` or ``generate right``, or one of these and ``checkpointed``. The
tokenizer and the model are made here. Prints by kind what the Trainer logged, or the error that ended it.
"""

import json
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config, set_seed

TEXTS = [
    "the cat sees a bird .",
    "a dog likes the red bird and then the cat hears one dog .",
    "the bird .",
    "two cat sees three dog and a blue bird .",
]


def main(attention, folder, *kinds):
    history = {}
    for kind in kinds:
        try:
            history[kind] = train(kind, attention, folder)
        except Exception as error:
            history[kind] = f"{type(error).__name__}: {error}"
    print(json.dumps(history))


def train(kind, attention, folder):
    set_seed(0)
    vocabulary = {
        word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *sorted(set(" ".join(TEXTS).split()))])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    assert tokenizer.padding_side == "right"
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=1,
        initializer_range=0.2,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention, torch_dtype=torch.bfloat16)
    common = dict(
        output_dir=folder, max_steps=4, per_device_train_batch_size=2, per_device_eval_batch_size=4,
        eval_strategy="steps", eval_steps=2, eval_on_start=True, logging_steps=1, learning_rate=1e-3,
        use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True,
        gradient_checkpointing="checkpointed" in kind,
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )  # fmt: skip
    trainer = {"dpo": dpo, "sft": sft, "generate": generate}[kind.split()[0]](model, tokenizer, common, kind)
    trainer.train()
    assert next(model.parameters()).dtype == torch.bfloat16
    return [{key: value for key, value in line.items() if "_time" not in key and "per_second" not in key}
            for line in trainer.state.log_history]  # fmt: skip


def dpo(model, tokenizer, common, kind):
    from trl import DPOConfig, DPOTrainer

    rows = [{"prompt": TEXTS[i], "chosen": TEXTS[(i + 1) % 4], "rejected": TEXTS[(i + 2) % 4]} for i in range(4)]
    data = Dataset.from_list(rows)
    return DPOTrainer(
        model=model, args=DPOConfig(**common), train_dataset=data, eval_dataset=data, processing_class=tokenizer
    )


def sft(model, tokenizer, common, kind):
    from trl import SFTConfig, SFTTrainer

    data = Dataset.from_list([{"text": text} for text in TEXTS])
    return SFTTrainer(
        model=model, args=SFTConfig(max_seq_length=64, **common), train_dataset=data, eval_dataset=data,
        processing_class=tokenizer,
    )  # fmt: skip


def generate(model, tokenizer, common, kind):
    """Seq2SeqTrainer's predict_with_generate on a decoder; every batch is padded on the side that the kind names."""
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

    def collate(rows):
        side = kind.split()[1]
        texts = [row["text"] for row in rows]
        given = tokenizer(texts, padding=True, return_tensors="pt", padding_side=side, return_token_type_ids=False)
        return {**given, "labels": given["input_ids"].masked_fill(given["attention_mask"] == 0, -100)}

    data = Dataset.from_list([{"text": text} for text in TEXTS])
    arguments = Seq2SeqTrainingArguments(
        predict_with_generate=True, generation_max_length=24, remove_unused_columns=False, **common
    )
    return Seq2SeqTrainer(
        model=model, args=arguments, train_dataset=data, eval_dataset=data, data_collator=collate,
        compute_metrics=lambda result: {"tokens": int((result.predictions > 0).sum())},
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
