"""GPT-NeoX as 5.x and as 4.x wrote it."""

import torch

from hotfix.loading.v5_gpt_neox_rotary_pct_lost import FIX
from hotfix.proofs.loading._written import CONFIGURATIONS, folder
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states of both."""
    import transformers

    new = CONFIGURATIONS["GPTNeoXForCausalLM"]
    old = {key: value for key, value in new.items() if key != "rope_parameters"}
    results = {}
    for name, written in (("new", new), ("old", {**old, "rotary_pct": 1.0, "rotary_emb_base": 20000})):
        with folder(config_json=written) as place:
            config = transformers.AutoConfig.from_pretrained(place)
        model = testbed.model(transformers.GPTNeoXModel, config, attn="eager", dtype=torch.float32)
        with torch.no_grad():
            results[name] = model(testbed.randint(3, 64, 2, 24, seed=1)).last_hidden_state
    return results
