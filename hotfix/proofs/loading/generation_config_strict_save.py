"""A model with Vicuna's generation_config.json is loaded and saved; and one in which the program has changed it."""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch

from hotfix.loading.generation_config_strict_save import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed

_VICUNA = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "temperature": 0.9, "top_p": 0.6}


@FIX.case(
    packages={"flash-attn": None},
    raises="ValueError: (The generation config instance is invalid|GenerationConfig is invalid)",
    with_fixes=("from-pretrained-without-accelerate",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The saved file, whether the weights were saved, and whether a changed configuration is refused."""
    with tempfile.TemporaryDirectory() as folder:
        model = loaded(testbed, Path(folder, "published"), {**_VICUNA, "do_sample": False})
        model.save_pretrained(Path(folder, "saved"))
        file = Path(folder, "saved", "generation_config.json")
        said = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else dict.fromkeys(_VICUNA, -1)  # in 4.36
        weights = any(Path(folder, "saved").glob("*.safetensors"))
        model.generation_config.temperature = 0.5
        try:
            model.save_pretrained(Path(folder, "changed"))
        except ValueError:
            refused = True
        else:
            refused = False
    kept = {name: said[name] for name in _VICUNA}
    return {
        "said": torch.tensor([*kept.values()], dtype=torch.float64),
        "weights, refused": torch.tensor([weights, refused]),
    }


def loaded(testbed: Testbed, folder: Path, said: dict[str, Any]) -> Any:
    """A small Llama that was loaded from a folder with such a generation_config.json.

    Args:
        testbed: the testbed of the case.
        folder: the folder, which is created.
        said: content of the file.
    """
    model = zoo.llama(testbed, attn="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save_pretrained(folder)
        (folder / "generation_config.json").write_text(json.dumps(said), encoding="utf-8")
        return type(model).from_pretrained(folder)
