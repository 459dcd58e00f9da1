"""A small LLaVA whose files have the names of 5.23.0 or of 5.5.4, and one that every release reads."""

import tempfile

import torch

from hotfix.loading.vlm_checkpoint_key_layout_new_to_old import FIX
from hotfix.proofs._llava import ENDS, llava, named, save
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "5.23.0"}, with_fixes=("from-pretrained-without-accelerate",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """All are loaded; some weights of each part."""
    results = {}
    model = llava(testbed)
    for kind in ("old", "new", "both"):
        with tempfile.TemporaryDirectory() as place:
            model.config.save_pretrained(place)
            save(named(model, kind), f"{place}/model.safetensors")
            loaded = type(model).from_pretrained(place).state_dict()
        for end in ENDS:
            name = next(key for key in loaded if key.endswith(end))
            results[f"{kind}, {end}"] = loaded[name].float()
    return results
