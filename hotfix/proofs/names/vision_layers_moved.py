"""The proof: weights of layers are replaced, and the layers are called."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.vision_layers_moved import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_OTHERS: dict[str, dict[str, Any]] = {
    "audio_spectrogram_transformer": {"intermediate_size": 24, "num_mel_bins": 16, "max_length": 32},
    "dinov2": {"image_size": 28, "patch_size": 14, "mlp_ratio": 2},
    "dinov2_with_registers": {"image_size": 28, "patch_size": 14, "mlp_ratio": 2},
    "swin": {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1], "num_heads": [2], "window_size": 4},
}


@FIX.case(
    raises="AttributeError: '.*' object has no attribute '(encoder|attention|self|output|intermediate)'",
    oracles={target.key: "5.17.0" if "dinov2" in target.module else "5.8.1" for target in FIX.targets},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states behind the layers, and the weights of a part before and after the program replaces it."""
    folder, module = target.module.split(".")[2], import_module(target.module)
    owner, _, part = target.qualname.partition(".")
    others = _OTHERS.get(folder, {"intermediate_size": 24, "image_size": 16, "patch_size": 8})
    stem = owner.removesuffix("Model").removesuffix("Layer").removesuffix("Attention")
    config = getattr(module, f"{stem}Config")(**({} if folder == "swin" else _SIZES) | others)
    model = testbed.fill(getattr(module, f"{stem}Model")(config)).eval()
    if part == "encoder":
        return _called(model, testbed, folder)
    place = next(each for each in model.modules() if type(each).__name__ == owner)
    if part in ("attention", "self"):
        inner: Any = place.attention if part == "attention" else place.self
        before = inner.query
        inner.query = torch.nn.Linear(before.in_features, before.out_features)
        return {**_shapes(before, inner.key, inner.value), "set": _is_in(model, inner.query)}
    inner = place.intermediate if part == "intermediate" else place.output
    before = inner.dense
    inner.dense = torch.nn.Linear(before.in_features, before.out_features)
    return {**_shapes(before), "set": _is_in(model, inner.dense)}


def _shapes(*linears: Any) -> dict[str, torch.Tensor]:
    return {f"weight {place}": torch.tensor(linear.weight.shape) for place, linear in enumerate(linears)}


def _is_in(model: Any, module: Any) -> torch.Tensor:
    return torch.tensor([any(each is module for each in model.modules())])


def _called(model: Any, testbed: Testbed, folder: str) -> dict[str, torch.Tensor]:
    for layer in model.encoder.layer:
        for parameter in layer.parameters():
            torch.nn.init.constant_(parameter, 0.01)
    assert len(list(model.encoder.parameters())) > 10
    states = testbed.randn(2, 5, 16)
    if folder == "beit":
        behind = model.encoder(states, resolution=(16, 16)).last_hidden_state
    else:
        behind = model.encoder(states).last_hidden_state
    model.encoder.layer = model.encoder.layer[:1]
    return {"states": behind, "left": torch.tensor([len(model.encoder.layer)])}
