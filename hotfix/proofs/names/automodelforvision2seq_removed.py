"""The proof: the table, the mapping, and a model that is made from its configuration."""

import torch

from hotfix.names.automodelforvision2seq_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Look a few models up, as frameworks do before they choose a class."""
    from transformers import GitConfig, GPT2Config, LlamaConfig, VisionEncoderDecoderConfig, ViTConfig

    restored = ask(target)
    if target.qualname.endswith("NAMES"):
        return {"table": words(*(f"{key} {name}" for key, name in restored.items()))}
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    git = GitConfig(vocab_size=64, vision_config={**small, "image_size": 8, "patch_size": 4}, **small)
    both = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(image_size=8, patch_size=4, **small), GPT2Config(vocab_size=64, n_embd=16, n_layer=1, n_head=2)
    )
    mapping = restored if target.qualname.endswith("MAPPING") else restored._model_mapping
    results = {
        "classes": words(*(mapping[type(config)].__name__ for config in (git, both))),
        "known": torch.tensor([type(config) in mapping for config in (git, both, LlamaConfig())]),
        "as many": torch.tensor(len(mapping.keys())),
    }
    if mapping is not restored:
        results["built"] = words(*(type(restored.from_config(config)).__name__ for config in (git, both)))
        try:
            restored.from_config(LlamaConfig())
        except ValueError as error:
            results["refused"] = words(str(error).partition("Model type")[0])
    return results
