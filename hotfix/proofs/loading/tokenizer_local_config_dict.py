"""Large tokenizers in local folders, next to configurations of several kinds and next to none."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.tokenizer_local_config_dict import FIX
from hotfix.proofs.loading._large_tokenizers import WORDS, write
from hotfix.proofs.testbed import Target, Testbed

CONFIGURATIONS = {
    "qwen2": {"model_type": "qwen2", "transformers_version": "4.51.0"},
    "mistral": {"model_type": "mistral", "transformers_version": "4.51.0"},
    "voxtral": {"model_type": "voxtral", "transformers_version": "4.56.0"},
    "no version": {"model_type": "qwen2"},
    "no type": {"transformers_version": "4.40.0"},
}


@FIX.case(raises="AttributeError: 'dict' object has no attribute 'model_type'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids, and whether the tokenizer was taken for an outdated one of Mistral's."""
    from transformers import AutoTokenizer

    results = {}
    with TemporaryDirectory() as folder:
        for name, config in CONFIGURATIONS.items():
            tokenizer = AutoTokenizer.from_pretrained(write(Path(folder, name), config))
            results[f"{name}: ids"] = torch.tensor(tokenizer(" ".join(WORDS))["input_ids"])
            results[f"{name}: outdated"] = torch.tensor(hasattr(tokenizer, "fix_mistral_regex"))
    return results
