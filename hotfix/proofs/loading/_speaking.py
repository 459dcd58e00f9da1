"""Results of a tokenizer for a text and a chat, as tensors."""

from typing import Any

import torch

from hotfix.proofs.loading._written import CHAT, TEXT


def spoken(tokenizer: Any, name: str, chat: bool = False) -> dict[str, torch.Tensor]:
    """Ids of a text, special ids, the text decoded without them, and the text of a chat.

    Args:
        tokenizer: the tokenizer.
        name: before each key.
        chat: whether there is a template.
    """
    ids = tokenizer(TEXT)["input_ids"]
    texts = {"plain": tokenizer.decode(ids, skip_special_tokens=True)}
    if chat:
        texts["chat"] = tokenizer.apply_chat_template(CHAT, tokenize=False)
    return {
        f"{name}, ids": torch.tensor(ids),
        f"{name}, special": torch.tensor(sorted(tokenizer.all_special_ids)),
        **{f"{name}, {key}": torch.tensor(list(text.encode())) for key, text in texts.items()},
    }
