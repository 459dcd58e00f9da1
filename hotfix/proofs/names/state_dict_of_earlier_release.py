"""The weights of earlier releases are loaded into modules around a model."""

import torch

from hotfix.names.state_dict_of_earlier_release import FIX
from hotfix.proofs import _llava
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises=r"RuntimeError: Error\(s\) in loading state_dict", oracles={"*": "4.30.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Weights of Llama with the buffers of 4.30, and whether those of LLaVA arrive that have names of 4.51."""
    from transformers import LlamaConfig, LlamaForCausalLM, __version__

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    module = torch.nn.Sequential(testbed.fill(LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes))))
    saved = {name: value + 1 for name, value in module.state_dict().items() if "inv_freq" not in name}
    saved["0.model.layers.0.self_attn.rotary_emb.inv_freq"] = 1.0 / (10000 ** (torch.arange(0, 16, 2).float() / 16))
    module.load_state_dict(saved)
    results = {name: value for name, value in module.state_dict().items() if "inv_freq" not in name}
    results["LLaVA"] = torch.tensor([__version__ == "4.30.2" or _loads_llava(testbed)])
    return results


def _loads_llava(testbed: Testbed) -> bool:
    module = torch.nn.Sequential(_llava.llava(testbed))
    before = {name: value.clone() for name, value in module.state_dict().items()}
    module.load_state_dict({f"0.{name}": value + 1 for name, value in _llava.named(module[0], "old").items()})
    return all(torch.equal(value, before[name] + 1) for name, value in module.state_dict().items())
