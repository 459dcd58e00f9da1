"""The proof: a configuration like InternVL's is saved, and one that can be made without arguments."""

import json
import tempfile
from pathlib import Path
from typing import Any, Optional

import torch

from hotfix.loading.config_without_defaults_cannot_be_saved import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="KeyError: 'architectures'",
    packages={"flash-attn": None},
    with_fixes=("config-without-defaults-cannot-be-shown",),  # saving shows it, too
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The contents of the files."""
    from transformers import LlamaConfig, PretrainedConfig

    class Chat(PretrainedConfig):
        model_type = "chat"
        is_composition = True

        def __init__(self, llm_config: Optional[dict[str, Any]] = None, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            llm_config = llm_config or {}
            if llm_config["architectures"][0] == "LlamaForCausalLM":
                self.llm_config = LlamaConfig(**llm_config)

        def to_dict(self) -> dict[str, Any]:
            settings = {**vars(self), "model_type": self.model_type}
            return {**settings, "llm_config": self.llm_config.to_dict()}

    files = {}
    small = {"architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_attention_heads": 2}
    for name, config in (("composed", Chat(small)), ("plain", LlamaConfig(**small))):
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            saved = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
        saved = saved.get("llm_config", saved)
        files[name] = words(*(f"{key}={saved.get(key)}" for key in ("hidden_size", "architectures")))
    return files
