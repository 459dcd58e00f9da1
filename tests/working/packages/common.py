"""Shared code of the programs: tiny models in folders, and facts that are compared between stock and armed runs."""

from __future__ import annotations

import os

if os.environ.get("WORKING_ARMED"):
    import hotfix.auto  # noqa: F401 - as the first import of the program

import hashlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any

WORDS = ["<pad>", "<s>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
_VOLATILE = ("training_args.bin", "trainer_state.json", "rng_state.pth", "optimizer.pt", "scheduler.pt", "README.md")
_TIMES = ("runtime", "per_second", "flos")


def begin() -> None:
    """Seed torch, and report every warning and every log message of the libraries as a fact."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, category, *rest: tell(f"warning {category.__name__}", str(message))
    handler = logging.Handler()
    handler.emit = lambda record: tell(f"log {record.name} {record.levelname}", record.getMessage())  # type: ignore
    logging.getLogger("transformers").addHandler(handler)


def tell(name: str, value: Any) -> None:
    """Print one fact as a line of JSON; tensors by their shape, dtype and digest."""
    print(json.dumps([name, _plain(value)]), flush=True)


def tell_folder(folder: Any) -> None:
    """Report the files of a folder: names and digests, except for files with times and paths in them."""
    for file in sorted(Path(folder).rglob("*")):
        if file.is_file():
            name = str(file.relative_to(folder))
            volatile = file.name in _VOLATILE or file.suffix in (".pt", ".bin")
            tell(f"file {name}", "" if volatile else hashlib.sha256(file.read_bytes()).hexdigest()[:16])


def tell_training(result: Any) -> None:
    """Report the metrics of a training run, without times."""
    tell("metrics", {name: value for name, value in result.items() if not any(part in name for part in _TIMES)})


def tokenizer(folder: Any = None) -> Any:
    """A tokenizer of single letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=32,
    )  # fmt: skip
    made.chat_template = "{% for message in messages %}{{ message['content'] }} </s> {% endfor %}"
    if folder is not None:
        made.save_pretrained(folder)
    return made


def llama(folder: Any) -> str:
    """A folder with a tiny Llama and its tokenizer, as the installed release saves them."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return _saved(LlamaForCausalLM(config), folder)


def bert(folder: Any, head: str = "BertModel", **options: Any) -> str:
    """A folder with a tiny BERT and its tokenizer."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, pad_token_id=0, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        **options,
    )  # fmt: skip
    return _saved(getattr(transformers, head)(config), folder)


def _saved(model: Any, folder: Any) -> str:
    model.save_pretrained(folder)
    tokenizer(folder)
    return str(folder)


def texts() -> list[str]:
    """Eight short texts of different lengths."""
    return [" ".join("abcdefghijklmnop"[start : start + 3 + start]) for start in range(8)]


def dataset(**columns: Any) -> Any:
    """A `datasets.Dataset` in memory."""
    from datasets import Dataset

    return Dataset.from_dict(columns)


def encoded(words: Any, **columns: Any) -> Any:
    """A dataset of tokenized texts, with further columns."""
    rows = [words(text) for text in texts()]
    return dataset(**{name: [row[name] for row in rows] for name in rows[0]}, **columns)


def arguments(cls: Any, folder: Any, **options: Any) -> Any:
    """Training arguments for two steps on the CPU, with the keywords that the installed release accepts."""
    import inspect

    known = inspect.signature(cls).parameters
    wanted = {
        "output_dir": str(folder), "max_steps": 2, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2,
        "learning_rate": 1e-2, "logging_steps": 1, "save_strategy": "no", "report_to": "none", "seed": 0,
        "use_cpu": True, "no_cuda": True, "disable_tqdm": True, "bf16": False, "fp16": False, **options,
    }  # fmt: skip
    if "use_cpu" in known:
        wanted.pop("no_cuda")
    return cls(**{name: value for name, value in wanted.items() if name in known})


def tell_model(model: Any) -> None:
    """Report every parameter."""
    for name, parameter in sorted(model.named_parameters()):
        tell(f"parameter {name}", parameter)


def _plain(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        data = value.detach().to(torch.float64 if value.is_floating_point() else torch.int64).cpu().contiguous()
        digest = hashlib.sha256(data.numpy().tobytes()).hexdigest()[:16]
        return [list(value.shape), str(value.dtype), digest]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(torch.as_tensor(value))
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(type(value))
