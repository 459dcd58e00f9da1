"""A chat, with a template in a file of its own, and with one among the settings."""

import torch

from hotfix.loading.chat_template_jinja_file_ignored import FIX
from hotfix.proofs.loading._speaking import spoken
from hotfix.proofs.loading._written import SETTINGS, TEMPLATE, tokenizer
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The file alone, and a template among the settings alone; of both, the release's own choice stays."""
    from transformers import PreTrainedTokenizerFast

    skipped = ("backend", "extra_special_tokens", "tokenizer_class")
    plain = {**{key: value for key, value in SETTINGS.items() if key not in skipped}}
    plain.update(tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False)
    among = {**plain, "chat_template": "{{ messages[0]['content'] }}"}
    results = {}
    for name, settings, files in (
        ("alone", plain, {"chat_template_jinja": TEMPLATE}),
        ("among", among, {}),
    ):
        with tokenizer(settings, **files) as place:
            results.update(spoken(PreTrainedTokenizerFast.from_pretrained(place), name, chat=True))
    return results
