"""Configurations like InternVL's, with and without is_composition, and one with defaults."""

import torch

from hotfix.loading.config_without_defaults_cannot_be_shown import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

CODE = """
from transformers import LlamaConfig, PretrainedConfig

class ChatConfig(PretrainedConfig):
    model_type = "chat-of-ours"

    def __init__(self, llm_config=None, template=None, **kwargs):
        super().__init__(**kwargs)
        llm_config = llm_config or {"architectures": [""]}
        if llm_config["architectures"][0] != "LlamaForCausalLM":
            raise ValueError(f"Unsupported architecture: {llm_config['architectures'][0]}")
        self.llm_config = LlamaConfig(**llm_config)
        self.template = template

class CompositionConfig(ChatConfig):
    model_type = "composition-of-ours"
    is_composition = True

class PlainConfig(PretrainedConfig):
    model_type = "plain-of-ours"

    def __init__(self, width=8, template="a", **kwargs):
        self.width = width
        self.template = template
        super().__init__(**kwargs)
"""


@FIX.case(raises="ValueError: Unsupported architecture:")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The repr of each, and its saved and reloaded values."""
    import json
    import tempfile
    from pathlib import Path

    code = remote(CODE)
    inner = {"architectures": ["LlamaForCausalLM"], "hidden_size": 32}
    results = {}
    for name, config in {
        "plain": code["PlainConfig"](width=9),
        "composition": code["CompositionConfig"](llm_config=inner, template="internvl2_5"),
        "chat": code["ChatConfig"](llm_config=inner, template="internvl2_5"),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            saved = json.loads((Path(folder) / "config.json").read_text())
            read = type(config).from_pretrained(folder)
        shown = json.loads(repr(config).partition(" ")[2])
        lines = [
            f"{key}: {content.get(key)}" for content in (shown, saved) for key in ("model_type", "width", "template")
        ]
        sizes = [str(content["llm_config"]["hidden_size"]) for content in (shown, saved) if "llm_config" in content]
        results[name] = words(*lines, *sizes, str(read.template), str(getattr(read, "llm_config", inner) is not None))
    return results
