"""Tokenizers and processors are registered under strings, and under configurations of both kinds."""

import torch

from hotfix.loading.auto_register_string_key import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'str' object has no attribute '__module__'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The class for each key, and whether it is found by name; keys of the library keep their classes."""
    from transformers import AutoProcessor, AutoTokenizer, BertConfig, PreTrainedConfig, PreTrainedTokenizerFast
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING, tokenizer_class_from_name

    class NewlineTokenizer(PreTrainedTokenizerFast):
        pass

    class OwnProcessor:
        pass

    class OwnConfig(PreTrainedConfig):
        model_type = "own"

    keys = ("NewlineTokenizer", OwnConfig, BertConfig)
    before = TOKENIZER_MAPPING[BertConfig]
    for key in keys:
        AutoTokenizer.register(key, fast_tokenizer_class=NewlineTokenizer, exist_ok=True)
    AutoProcessor.register("own", OwnProcessor)
    return {
        "there": torch.tensor([key in TOKENIZER_MAPPING for key in keys]),
        "by name": torch.tensor(tokenizer_class_from_name("NewlineTokenizer") is NewlineTokenizer),
        "Bert keeps its own": torch.tensor(TOKENIZER_MAPPING[BertConfig] is before),
        "a processor": torch.tensor(PROCESSOR_MAPPING["own"] is OwnProcessor),
    }
