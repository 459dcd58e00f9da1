"""The proof: remote code for 5.x reads configurations of the library, of files, and of its own."""

from typing import Any

import torch

from hotfix.names.config_reads_of_later_releases import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

LATER = """
def dtype(config):
    return config.dtype

def base(config):
    return config.rope_parameters["rope_theta"]

def rotary(config):
    return sorted(config.rope_parameters.items())

def text(config):
    return config.get_text_config(decoder=True).vocab_size

def picture(config):
    return config.image_token_id

def experts(config):
    return config.num_experts
"""
SIZES: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
SCALINGS: tuple[Any, ...] = (None, {"type": "linear", "factor": 2.0}, {"type": "dynamic", "factor": 2.0})


@FIX.case(raises=r"AttributeError: '\w+Config' object has no attribute", oracles={"*": "5.0.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What is read, what `hasattr` says, and what a file has."""
    import copy
    import json
    import tempfile
    from pathlib import Path

    import transformers
    from transformers import AutoConfig, CLIPVisionConfig, LlamaConfig, LlavaConfig, MixtralConfig, PhiConfig

    read = remote(LATER)
    sizes = {**SIZES, "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 64}
    results: dict[str, Any] = {}
    llama = LlamaConfig(**sizes, rope_theta=5000.0)
    results["base"] = [str(read["base"](llama)), str(read["text"](llama))]
    for number, scaling in enumerate(SCALINGS):
        config = LlamaConfig(**sizes, rope_theta=5000.0, rope_scaling=copy.deepcopy(scaling))
        results[f"rotary {number}"] = [repr(read["rotary"](config)), repr(read["rotary"](copy.deepcopy(config)))]
    results["partial"] = [repr(read["rotary"](PhiConfig(**sizes)))]
    llava = LlavaConfig(
        text_config=llama, vision_config=CLIPVisionConfig(**SIZES, image_size=8, patch_size=4), image_token_index=63
    )
    results["llava"] = [str(read["picture"](llava)), str(read["text"](llava)), str(read["base"](llava.text_config))]
    results["mixtral"] = [str(read["experts"](MixtralConfig(**sizes, num_local_experts=3)))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(
            json.dumps({"model_type": "bert", "torch_dtype": "bfloat16", **SIZES})
        )
        config = AutoConfig.from_pretrained(folder)
        is_written = tuple(map(int, transformers.__version__.split(".")[:2])) >= (4, 50)  # else it is not restored
        of_dtype = read["dtype"] if is_written else lambda config: config.torch_dtype
        results["dtype"] = [
            str(of_dtype(config)),
            str(of_dtype(LlamaConfig())),
            str(hasattr(config, "nothing")),
        ]
    return {name: words(*lines) for name, lines in results.items()}
