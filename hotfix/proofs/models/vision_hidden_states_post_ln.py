"""The hidden states of a tiny model of each class, and a gradient through the last of them."""

from importlib import import_module

import torch

from hotfix.models.vision_hidden_states_post_ln import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states of a tiny model of the class, and the gradient of its first layer through the last of them."""
    name = target.qualname.partition(".")[0]
    model = zoo.tower(testbed, import_module(target.module), name)
    output = model(**zoo.tower_inputs(testbed, name), output_hidden_states=True)
    states = output.hidden_states
    states[-1].square().mean().backward()
    results = {f"hidden_states.{number}": state for number, state in enumerate(states)}
    gradient = next(parameter.grad for parameter in model.parameters() if parameter.grad is not None)
    return {**results, "last_hidden_state": output.last_hidden_state, "gradient": gradient}
