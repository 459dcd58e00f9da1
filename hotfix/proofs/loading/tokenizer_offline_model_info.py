"""Large tokenizers in the cache of a machine in offline mode."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.tokenizer_offline_model_info import FIX
from hotfix.proofs.loading._large_tokenizers import REPOSITORY, WORDS, write_cache
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="OfflineModeIsEnabled|FileNotFoundError", with_fixes=("tokenizer-local-config-dict",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids, with and without a configuration in the cache; the testbed is offline."""
    from transformers import AutoTokenizer

    results = {}
    configurations = {"with": {"model_type": "qwen2", "transformers_version": "4.51.0"}, "without": None}
    with TemporaryDirectory() as folder:
        for name, config in configurations.items():
            cache = write_cache(Path(folder, name), config)
            tokenizer = AutoTokenizer.from_pretrained(REPOSITORY, cache_dir=cache)
            results[name] = torch.tensor(tokenizer(" ".join(WORDS))["input_ids"])
    return results
