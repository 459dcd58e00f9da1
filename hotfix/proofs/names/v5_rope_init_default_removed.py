"""The proof: the frequencies of several configurations, among them one of remote code."""

from typing import Any

import torch

from hotfix.names.v5_rope_init_default_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="KeyError: 'default'", tolerance={"float32": 0.0})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Build the frequencies as a rotary embedding of remote code does."""
    from transformers import LlamaConfig, PretrainedConfig, StableLmConfig

    class RemoteConfig(PretrainedConfig):
        model_type = "remote"

        def __init__(self, hidden_size: int = 48, rope_theta: float = 5e5, **kwargs: Any) -> None:
            self.hidden_size, self.num_attention_heads, self.rope_theta = hidden_size, 3, rope_theta
            super().__init__(**kwargs)

    compute = ask(target)["default"]
    configs = {
        "llama": LlamaConfig(hidden_size=64, num_attention_heads=4, rope_theta=12345.0),
        "plain": LlamaConfig(hidden_size=64, num_attention_heads=4),
        "heads": LlamaConfig(hidden_size=64, num_attention_heads=4, head_dim=10, rope_theta=1e6),
        "part": StableLmConfig(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, partial_rotary_factor=0.5),
        "remote": RemoteConfig(),
    }
    results = {}
    for name, config in configs.items():
        frequencies, scale = compute(config, torch.device(testbed.device))
        results[name], results[f"{name} scale"] = frequencies, torch.tensor(scale)
    results["by name"], _ = compute(config=configs["remote"], device=testbed.device, seq_len=7)
    return results
