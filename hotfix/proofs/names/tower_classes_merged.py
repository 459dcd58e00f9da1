"""The proof: a tower is built by its old class, filled by the names of its weights, and called."""

import torch

from hotfix.names.tower_classes_merged import FIX, TOWERS
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The results, and those of a program with its own method in the class."""
    import transformers

    model = target.module.split(".")[2]
    of_text = target.qualname.endswith("TextTransformer")
    [tower] = [tower for tower in TOWERS[model] if tower.endswith("Text" if of_text else "Vision")]
    restored = ask(target)
    if of_text:
        own = {"vocab_size": 32, "max_position_embeddings": 8, "eos_token_id": 3, "bos_token_id": 2, "pad_token_id": 1}
        inputs = {"input_ids": torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]])}
    elif model == "siglip2":
        own = {"num_patches": 4, "patch_size": 4}
        inputs = {
            "pixel_values": torch.linspace(-1, 1, 4 * 48).reshape(1, 4, 48),
            "attention_mask": torch.ones(1, 4, dtype=torch.int64),
            "spatial_shapes": torch.tensor([[2, 2]]),
        }
    else:
        own = {"image_size": 8, "patch_size": 4}
        inputs = {"pixel_values": torch.linspace(-1, 1, 3 * 64).reshape(1, 3, 8, 8)}
    config = getattr(transformers, f"{tower}Config")(**SMALL, **own)
    torch.manual_seed(0)
    made = restored(config).eval()
    with torch.no_grad():
        for name, weight in sorted(made.named_parameters()):
            weight.copy_(torch.linspace(-0.5, 0.5, weight.numel()).reshape(weight.shape) / (1 + len(name) % 5))
        results = made(**inputs)
        kept = restored.forward
        try:
            restored.forward = lambda self, *args, **kwargs: 7
            patched = made(**inputs)
        finally:
            restored.forward = kept
    return {
        "last": results.last_hidden_state,
        "pooled": results.pooler_output,
        "weights": torch.tensor(sum(map(len, made.state_dict()))),
        "patched": torch.tensor(patched),
    }
