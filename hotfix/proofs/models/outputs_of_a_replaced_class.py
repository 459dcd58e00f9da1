"""A tiny Llama whose modules get classes of their own, as FramePack and FSDP2 give them."""

from typing import Any

import torch

from hotfix.models.outputs_of_a_replaced_class import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "4.53.3"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states and attentions of each layer, with the classes of the library and with those of the program."""
    ids = testbed.randint(3, 32, 2, 7, seed=1)
    results = {}
    for name in ("library", "program"):
        model = zoo.llama(testbed, attn="eager")
        if name == "program":
            replace_classes(model)
        output = model(ids, output_hidden_states=True, output_attentions=True, use_cache=False)
        for kind in ("hidden_states", "attentions"):
            for layer, states in enumerate(getattr(output, kind) or ()):
                results[f"{name}: {kind}, {layer}"] = states
        results[f"{name}: logits"] = output.logits
    return results


def replace_classes(model: Any) -> None:
    """Give each module a class of its own, derived from its class."""
    for module in model.modules():
        kind = type(module)
        module.__class__ = type(f"Swapped{kind.__name__}", (kind,), {})
