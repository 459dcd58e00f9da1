"""Models are made of what 5.x has written, and run."""

from typing import Any

import torch

from hotfix.loading.v5_rope_parameters_ignored_by_v4 import FIX
from hotfix.proofs.loading._written import CONFIGURATIONS, PLAIN, folder
from hotfix.proofs.testbed import Target, Testbed


# The oracle is what wrote the files; 5.0.0 loses the fraction of GPT-NeoX. 4.43.0 cannot build Llama 3.1 at all.
@FIX.case(oracles={"*": "5.23.0"}, with_fixes=("llama-rope-scaling-type-keyerror",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """States of models with base, scaling and fraction of rotary embedding in `rope_parameters`, and of one of 4.x.

    A configuration that is built in code is what it was.
    """
    import transformers

    results = {}
    for name, written in (*CONFIGURATIONS.items(), ("LlamaForCausalLM", PLAIN)):
        with folder(config_json=written) as place:
            config = transformers.AutoConfig.from_pretrained(place)
        # The base model: heads have other names, and so other weights here, in later releases.
        cls = getattr(transformers, name.replace("ForCausalLM", "Model"))
        results[f"{name} {written['transformers_version']}"] = _states(testbed, cls, config)
    own = type(config)(rope_theta=4321.0)
    # In 5.x the two are in rope_parameters.
    bases = [(getattr(part, "rope_parameters", None) or vars(part))["rope_theta"] for part in (own, config)]
    results["built, read"] = torch.tensor(bases)
    return results


def _states(testbed: Testbed, cls: Any, config: Any) -> torch.Tensor:
    model = testbed.model(cls, config, attn="eager", dtype=torch.float32)
    with torch.no_grad():
        states: torch.Tensor = model(testbed.randint(3, 64, 2, 24, seed=1)).last_hidden_state
    return states
