"""The proof: a configuration in the manner of Florence-2's, built, read from a file, copied and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.v5_config_generation_defaults_removed import DEFAULTS, FIX
from hotfix.proofs.names.asking import remote, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed

OLD = """
from transformers import PretrainedConfig

class LanguageConfig(PretrainedConfig):
    model_type = "language-of-ours"

    def __init__(self, width=8, num_beams=3, pad_token_id=1, **kwargs):
        self.width = width
        super().__init__(num_beams=num_beams, pad_token_id=pad_token_id, **kwargs)
        if self.forced_bos_token_id is None and kwargs.get("force_bos_token_to_be_generated", False):
            self.forced_bos_token_id = self.bos_token_id

def read(config, names):
    return [f"{name}: {getattr(config, name)!r}" for name in names] + [str(hasattr(config, "no_such_thing"))]
"""


@FIX.case(raises="AttributeError: 'LanguageConfig' object has no attribute 'forced_bos_token_id'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What each of them says of everything that every configuration had."""
    import copy
    import json
    import tempfile
    from pathlib import Path

    code = remote(OLD)
    config, read = code["LanguageConfig"], code["read"]
    names = sorted(DEFAULTS)
    found = {
        "bare": read(config(), names),
        "given": read(config(forced_bos_token_id=0, max_length=77, is_decoder=True, eos_token_id=2), names),
        "copied": read(copy.deepcopy(config(forced_bos_token_id=5, early_stopping=True)), names),
        "forced": read(config(force_bos_token_to_be_generated=True, bos_token_id=4), names),
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = {"model_type": config.model_type, "width": 9, "forced_bos_token_id": 0, "no_repeat_ngram_size": 3}
        (Path(folder) / "config.json").write_text(json.dumps(settings))
        found["from a file"] = read(config.from_pretrained(folder), names)
        config(width=11).save_pretrained(folder)
        found["saved"] = [*read(config.from_pretrained(folder), names), str(config.from_pretrained(folder).width)]
    return {name: words(*lines) for name, lines in found.items()}
