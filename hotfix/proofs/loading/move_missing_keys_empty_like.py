"""A custom model with rotary frequencies and a mask as buffers and with new weights, and one of the library, loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.move_missing_keys_empty_like import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "4.50.3"}, packages={"accelerate": "1.15.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tensors and logits after loading, in float32 and in bfloat16."""
    from packaging.version import Version
    from transformers import LlamaForCausalLM, __version__

    keyword = "dtype" if Version(__version__) >= Version("4.56.0") else "torch_dtype"
    ids = testbed.randint(0, 32, 2, 9)
    # An uninitialized buffer is likely to get the memory that is freed here.
    torch.full((4096,), float("nan")).sum()
    results = {}
    with TemporaryDirectory() as folder:
        cls = _custom()
        built = testbed.fill(cls(cls.config_class()))
        saved = {name: weight for name, weight in built.state_dict().items() if not name.startswith("new")}
        built.save_pretrained(folder, state_dict=saved)
        for dtype in (torch.float32, torch.bfloat16):
            loaded = cls.from_pretrained(folder, **{keyword: dtype}).to(testbed.device).eval()
            results[f"{dtype}, logits"] = loaded(ids).float()
            results.update({f"{dtype}, {name}": buffer.float() for name, buffer in loaded.named_buffers()})
            results.update(
                {f"{dtype}, {name}": weight.detach().float() for name, weight in loaded.new.named_parameters()}
            )
    with TemporaryDirectory() as folder:
        small_llama(testbed).save_pretrained(folder)
        results["Llama"] = LlamaForCausalLM.from_pretrained(folder).to(testbed.device).eval()(ids).logits
        with _a_module_replaced():
            loaded = LlamaForCausalLM.from_pretrained(folder).to(testbed.device).eval()
        results["replaced"] = loaded.model.rotary_emb.inv_freq
        results["Llama, replaced"] = loaded(ids).logits
    return results


@contextmanager
def _a_module_replaced() -> Iterator[None]:
    """As Unsloth replaces the rotary embedding of Llama."""
    from transformers.models.llama import modeling_llama

    before = modeling_llama.LlamaRotaryEmbedding

    class Faster(torch.nn.Module):
        def __init__(self, config: Any, device: Any = None) -> None:
            super().__init__()
            width = config.hidden_size // config.num_attention_heads
            self.register_buffer("inv_freq", 1.0 / 500 ** (torch.arange(0, width, 2).float() / width), persistent=False)

        def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            angles = position_ids[..., None].float() * self.inv_freq
            angles = torch.cat((angles, angles), -1)
            return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    vars(modeling_llama)["LlamaRotaryEmbedding"] = Faster
    try:
        yield
    finally:
        vars(modeling_llama)["LlamaRotaryEmbedding"] = before


def _custom() -> Any:
    """A model as remote code has it: nothing in its ``_init_weights`` knows of its buffers."""
    from transformers import PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "hotfix-custom"

    class Frequencies(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, 16, 2).float() / 16), persistent=False)
            self.register_buffer("mask", torch.ones(12, 12).tril(), persistent=False)

    class New(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(16)
            self.gate = torch.nn.Parameter(torch.linspace(0.5, 1.5, 16))

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return hidden + self.gate * self.norm(hidden)

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.embed = torch.nn.Embedding(32, 16)
            self.rotary = Frequencies()
            self.new = New()
            self.head = torch.nn.Linear(16, 32)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, std=0.02)

        def forward(self, input_ids: torch.Tensor) -> Any:
            length = input_ids.shape[1]
            angles = torch.arange(length, device=input_ids.device)[:, None] * self.rotary.inv_freq
            hidden = self.embed(input_ids) * torch.cat((angles.cos(), angles.sin()), -1).to(self.embed.weight.dtype)
            mixed = self.rotary.mask[:length, :length].to(hidden.dtype) @ hidden
            return self.head(self.new(mixed))

    return Model
