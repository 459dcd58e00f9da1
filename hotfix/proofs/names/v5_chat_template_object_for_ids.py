"""The proof: a prompt is made from a chat, and continued, as the cards of models have it."""

import torch

from hotfix.names.v5_chat_template_object_for_ids import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama

TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
CHAT = [{"role": "user", "content": "a b c"}]


@FIX.case(raises="AttributeError")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The shape, the tokens, and what follows them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate("?abcdef")}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?")
    tokenizer.chat_template = TEMPLATE
    ids = tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, return_tensors="pt").to("cpu")
    model = testbed.fill(small_llama(testbed)).eval()
    settings = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    written = model.generate(ids, **settings)
    return {
        "shape": torch.tensor(ids.shape),
        "size": torch.tensor(ids.size(1)),
        "row": ids.squeeze(0),
        "written": written,
        "answer": written[0][ids.shape[-1] :],
        "named": model.generate(inputs=ids, **settings),
        "other name": model.generate(input_ids=ids, **settings),
    }
