"""The proof: a prompt by code that says nothing, and by code that asks for a dictionary."""

import torch

from hotfix.names.v5_apply_chat_template_returns_dict import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[UNK]", "user", "assistant", ":", "hello", "there"]
TEMPLATE = "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
OLD = """
import torch

def prompt(tokenizer, messages):
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=False)
    tensor = tokenizer.apply_chat_template(messages, tokenize=True, return_tensors="pt")
    whole = tokenizer.apply_chat_template(messages, return_dict=True, return_tensors="pt")
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    without_tools = tokenizer.apply_chat_template(messages, None)
    lengths = [len(ids), len(text), len(without_tools)]
    return torch.tensor(ids), tensor, whole["input_ids"], torch.tensor(lengths)
"""


@FIX.case(raises="Could not infer dtype|KeyError|AttributeError|TypeError|ValueError|RuntimeError")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """As scripts do it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]")
    tokenizer.chat_template = TEMPLATE
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello there"}]
    ids, tensor, whole, lengths = remote(OLD)["prompt"](tokenizer, messages)
    return {"ids": ids, "tensor": tensor, "whole": whole, "lengths": lengths}
