"""A Trainer reads a checkpoint whose names the release translates elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from hotfix.training.trainer_checkpoint_keys_not_converted import translated
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "trainer-checkpoint-keys-not-converted",
    when="a Trainer reads a checkpoint in which weights of the model have names of the Hub",
    wrong="these weights stay as they were: a resumed run begins again, and the best model is the last one",
)


@TRIGGER.strikes()
def has_other_names(call: Call) -> bool:
    """Weights that the file does not have under their own names are in it under names that the release translates."""
    folder = Path(call.get("resume_from_checkpoint") or call.owner.state.best_model_checkpoint)
    model = call.get("model") or call.owner.model
    names = _names(folder)
    missing = {name for name, _ in model.named_parameters()} - names
    return bool(names) and not missing.isdisjoint(translated(model, names))


def _names(folder: Path) -> set[str]:
    """Names of the weights in a folder; none where they cannot be read."""
    for file in (folder / "model.safetensors.index.json", folder / "pytorch_model.bin.index.json"):
        if file.is_file():
            return set(json.loads(file.read_text(encoding="utf-8"))["weight_map"])
    file = folder / "model.safetensors"
    if not file.is_file():
        return set()
    from safetensors import safe_open

    with safe_open(str(file), "pt") as weights:
        return set(weights.keys())
