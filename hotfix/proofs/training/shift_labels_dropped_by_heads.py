"""A text of twelve tokens, whole and in two parts whose labels were moved before it was cut.

Nothing may change for labels alone.
"""

from importlib import import_module
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of
from hotfix.training.shift_labels_dropped_by_heads import FIX

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "pad_token_id": None,  # the mixture of 5.0.0 asks for it
    "rope_theta": 10000.0,  # the default of 4.57 is another one
    "rope_scaling": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": [4, 2, 2],
        "mrope_interleaved": True,
    },
}
_MIXTURE = {"num_experts": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "decoder_sparse_step": 1}
_VISION = {
    "depth": 1,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_heads": 2,
    "out_hidden_size": 32,
    "num_position_embeddings": 16,
    "deepstack_visual_indexes": [0],
}


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loss of the whole, of each part, and the gradients of both parts together."""
    model = _model(testbed, class_of(target)).train()
    ids = testbed.randint(3, 50, 1, 12, seed=1)
    labels = ids.clone()
    labels[:, :2] = -100
    moved = torch.cat([labels[:, 1:], labels.new_full((1, 1), -100)], dim=1)
    results: dict[str, torch.Tensor] = {}
    for part in (slice(0, 6), slice(6, 12)):
        output = model(ids[:, part], labels=labels[:, part], shift_labels=moved[:, part])
        right = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1).float(), moved[:, part].flatten())
        given, wanted = (_of_head(testbed, model, loss) for loss in (output.loss, right))
        # As multiples, since the mixture of 4.57 computes another model: 1 where it is right.
        results[f"loss, from {part.start} on"] = output.loss / right
        results[f"gradient, from {part.start} on"] = 1 + (given - wanted).norm() / wanted.norm()
    return results


def _of_head(testbed: Testbed, model: Any, loss: Any) -> Any:
    """The gradient of the head."""
    model.zero_grad()
    loss.backward(retain_graph=True)
    gradients = testbed.gradients(model, vectors=False)
    return next(gradient for name, gradient in gradients.items() if "lm_head" in name).clone()


def _model(testbed: Testbed, cls: Any) -> Any:
    """A tiny model of the class, with a head of its own."""
    name = cls.__name__.partition("For")[0]
    module = import_module(cls.__module__.replace("modeling", "configuration"))
    text = {**_TEXT, **_MIXTURE} if "Moe" in name else _TEXT
    config = getattr(module, f"{name}Config")(text_config=text, vision_config=_VISION, tie_word_embeddings=False)
    return testbed.fill(cls(config)).to(testbed.device)
