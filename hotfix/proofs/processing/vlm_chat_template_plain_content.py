"""A LLaVA processor tokenizes conversations whose messages have texts, parts, or nothing."""

from typing import Any

import torch

from hotfix.processing.vlm_chat_template_plain_content import FIX
from hotfix.proofs.testbed import Target, Testbed

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} "
    "{% if message['content'] is string %}{{ message['content'] }} "
    "{% elif message['content'] %}{% for part in message['content'] %}"
    "{{ '<image> ' if part['type'] == 'image' else part['text'] + ' ' }}{% endfor %}{% endif %}{% endfor %}"
)
WORDS = ("<unk>", "<pad>", "<image>", "system", "user", "assistant", "a", "b", "c", "d")
TEXTS = [{"role": "system", "content": "a b"}, {"role": "user", "content": "c"}]
MIXED = [{"role": "system", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "d"}]}]
NOTHING = [{"role": "user", "content": "a"}, {"role": "assistant", "content": None}, {"role": "user", "content": "b"}]


@FIX.case(raises="TypeError: string indices must be integers", packages={"flash-attn": None, "torchvision": "0.28.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens of four conversations, one of them in a batch."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import CLIPImageProcessor, LlavaProcessor, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>")
    settings: dict[str, Any] = {"patch_size": 4, "vision_feature_select_strategy": "default"}
    pictures = CLIPImageProcessor(size={"shortest_edge": 8}, crop_size={"height": 8, "width": 8})
    processor = LlavaProcessor(pictures, fast, chat_template=TEMPLATE, **settings)
    how: dict[str, Any] = {"tokenize": True, "return_dict": True, "return_tensors": "pt"}
    conversations = {"texts": TEXTS, "mixed": MIXED, "nothing": NOTHING}
    results = {
        name: processor.apply_chat_template(messages, **how)["input_ids"] for name, messages in conversations.items()
    }
    results["batch"] = processor.apply_chat_template([TEXTS, TEXTS], **how)["input_ids"]
    return results
