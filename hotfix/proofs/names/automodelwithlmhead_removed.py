"""The proof: the table, the mapping, and models that are made from their configurations."""

import torch

from hotfix.names.automodelwithlmhead_removed import FIX, TYPES
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Look models up, and build one of each kind."""
    from transformers import BertConfig, GPT2Config, LlamaConfig, T5Config

    restored = ask(target)
    kept = set(TYPES.split())  # 4.57.6 has six types more
    if target.qualname.endswith("NAMES"):
        return {"table": words(*(f"{key} {name}" for key, name in restored.items() if key in kept))}
    bert = BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    gpt2 = GPT2Config(vocab_size=64, n_embd=16, n_layer=1, n_head=2)
    t5 = T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    configs = (bert, gpt2, t5)
    mapping = restored if target.qualname.endswith("MAPPING") else restored._model_mapping
    results = {
        "classes": words(*(mapping[type(config)].__name__ for config in configs)),
        "known": torch.tensor([type(config) in mapping for config in (*configs, LlamaConfig())]),
        "all": words(*sorted({kind.__name__ for kind in mapping.values()} - _GONE)),
    }
    if mapping is not restored:
        results["built"] = words(*(type(restored.from_config(config)).__name__ for config in configs))
        try:
            restored.from_config(LlamaConfig())
        except ValueError as error:
            results["refused"] = words(str(error).partition("Model type")[0])
    return results


_GONE = {
    "GPTSanJapaneseForConditionalGeneration",
    "MegaForMaskedLM",
    "NezhaForMaskedLM",
    "QDQBertForMaskedLM",
    "TransfoXLLMHeadModel",
    "Wav2Vec2ForMaskedLM",
}
