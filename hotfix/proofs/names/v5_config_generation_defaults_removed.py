"""The proof: a configuration in the manner of Florence-2's, built, read from a file, copied and saved."""

import torch

from hotfix.names.v5_config_generation_defaults_removed import DEFAULTS, FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

OLD = """
from transformers import PretrainedConfig

class LanguageConfig(PretrainedConfig):
    model_type = "language-of-ours"

    def __init__(self, width=8, num_beams=3, pad_token_id=1, **kwargs):
        self.width = width
        super().__init__(num_beams=num_beams, pad_token_id=pad_token_id, **kwargs)
        if self.forced_bos_token_id is None and kwargs.get("force_bos_token_to_be_generated", False):
            self.forced_bos_token_id = self.bos_token_id

class WholeConfig(PretrainedConfig):
    model_type = "whole-of-ours"

    def __init__(self, text_config=None, **kwargs):
        self.text_config = LanguageConfig(**(text_config or {}))
        super().__init__(**kwargs)

def read(config, names):
    return [f"{name}: {getattr(config, name)!r}" for name in names] + [str(hasattr(config, "no_such_thing"))]

def parameters(config):
    return len(config._get_non_default_generation_parameters())
"""


@FIX.case(raises="AttributeError: 'LanguageConfig' object has no attribute 'forced_bos_token_id'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The value in each of them of every attribute that all configurations had."""
    import copy
    import json
    import tempfile
    from pathlib import Path

    import transformers
    from transformers import GenerationConfig

    code = remote(OLD)
    config, read = code["LanguageConfig"], code["read"]
    names = sorted(DEFAULTS)
    results = {
        "bare": read(config(), names),
        "parameters": [str(code["parameters"](config()))],
        "given": read(config(forced_bos_token_id=0, max_length=77, is_decoder=True, eos_token_id=2), names),
        "copied": read(copy.deepcopy(config(forced_bos_token_id=5, early_stopping=True)), names),
        "forced": read(config(force_bos_token_to_be_generated=True, bos_token_id=4), names),
    }
    inner = {"forced_bos_token_id": 0, "no_repeat_ngram_size": 3}
    composite = code["WholeConfig"]
    for name, example, given in (
        ("a configuration", config(**inner, length_penalty=0.5), (*inner, "num_beams", "length_penalty")),
        ("its decoder", composite(inner, num_beams=1), (*inner, "num_beams")),
        ("both", composite(inner, num_beams=2, length_penalty=0.25), (*inner, "num_beams", "length_penalty")),
    ):
        goes_by = GenerationConfig.from_model_config(example)
        results[f"generates by {name}"] = [f"{key}: {getattr(goes_by, key)!r}" for key in given]
    results["cache"] = [repr(config(use_cache=False).use_cache), repr(getattr(config(), "use_cache", "none"))]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"model_type": config.model_type, "width": 9, "forced_bos_token_id": 0, "no_repeat_ngram_size": 3}
        (Path(folder) / "config.json").write_text(json.dumps(settings))
        results["from a file"] = read(config.from_pretrained(folder), names)
        config(width=11).save_pretrained(folder)
        saved = transformers.BartConfig(num_beams=4, max_length=142)
        results["of the library"] = [
            *read(saved, [*names, "tie_word_embeddings", "pruned_heads"]),
            *read(copy.deepcopy(saved), ["num_beams", "max_length"]),
            *read(transformers.ViTConfig(), ["pad_token_id", "tie_word_embeddings", "is_decoder"]),
            *read(transformers.WhisperConfig(), ["max_length", "suppress_tokens", "forced_bos_token_id"]),
            *read(transformers.LlamaConfig(rope_theta=5e5), ["rope_theta", "top_k"]),
            *read(transformers.GPTNeoXConfig(rotary_pct=0.5, rotary_emb_base=5e3), ["rotary_pct", "rotary_emb_base"]),
            *read(transformers.Gemma3TextConfig(), ["rope_theta", "rope_local_base_freq"]),
            *read(transformers.Qwen2_5_VLConfig(), ["hidden_size", "vocab_size", "rms_norm_eps"]),
        ]
        results["saved"] = [*read(config.from_pretrained(folder), names), str(config.from_pretrained(folder).width)]
    return {name: words(*lines) for name, lines in results.items()}
