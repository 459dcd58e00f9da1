"""Masks of conversations whose answers end or begin with white space, or are cut."""

from functools import partial
from typing import Any

import torch

from hotfix.processing.assistant_mask_beyond_the_turn import FIX
from hotfix.proofs.testbed import Target, Testbed

_WORDS = ("<unk>", "<pad>", "<user>", "<assistant>", "a", "b", "c", "d")
_TEMPLATE = (
    "{% for message in messages %}{{ '<' + message['role'] + '> ' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{% endgeneration %}"
    "{% else %}{{ message['content'] + ' ' }}{% endif %}{% endfor %}"
)
_WITHOUT_ROLES = _TEMPLATE.replace("{{ '<' + message['role'] + '> ' }}", "")


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The masks, by the kind of conversation."""
    tokenizer = speaking("WhitespaceSplit")
    mask = partial(mask_of, tokenizer)
    spaced = conversation("b c \n", "c")
    results = {
        "after": mask(spaced),
        "before": mask(conversation("\nb", "c"), _WITHOUT_ROLES),
        "batch": mask([spaced, spaced[:2]], padding=True),
        "cut": mask(spaced, truncation=True, max_length=4),
    }
    tokenizer.truncation_side = "left"
    results["cut on the left"] = mask(spaced, truncation=True, max_length=6)
    return results


def speaking(splitting: str) -> Any:
    """A tokenizer of eight words, with a class of `tokenizers.pre_tokenizers` that splits texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(_WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = getattr(pre_tokenizers, splitting)()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>")


def mask_of(tokenizer: Any, messages: list[Any], template: str = _TEMPLATE, **given: Any) -> torch.Tensor:
    """The mask of a conversation, or of several."""
    settings = {"tokenize": True, "return_dict": True, "return_assistant_tokens_mask": True}
    output = tokenizer.apply_chat_template(messages, chat_template=template, **settings, **given)
    return torch.tensor(output["assistant_masks"])


def conversation(*answers: str) -> list[dict[str, str]]:
    """A question before each answer."""
    turns = [({"role": "user", "content": "d a"}, {"role": "assistant", "content": answer}) for answer in answers]
    return [message for turn in turns for message in turn]
