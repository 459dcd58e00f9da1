"""A small mixture of experts is saved and loaded, its number of experts under the old key and that of 5.1."""

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.qwen3_moe_experts_key import FIX
from hotfix.proofs.testbed import Target, Testbed

MODELS = {
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM"),
    "qwen3_omni_moe": ("Qwen3OmniMoeTalkerTextConfig", "Qwen3OmniMoeTalkerModel"),
    "qwen3_vl_moe": ("Qwen3VLMoeTextConfig", "Qwen3VLMoeTextModel"),
}
SECTIONS = {"rope_type": "default", "mrope_section": [2, 1, 1]}


@FIX.case(raises="RuntimeError: ", with_fixes=("from-pretrained-without-accelerate",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The number of experts under either key, and how far apart the outputs are."""
    name = target.module.split(".")[2]
    config_name, model_name = MODELS[name]
    config_class = getattr(import_module(f"transformers.models.{name}.configuration_{name}"), config_name)
    model_class = getattr(import_module(f"transformers.models.{name}.modeling_{name}"), model_name)
    config = config_class(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        moe_intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        shared_expert_intermediate_size=24,
        pad_token_id=0,  # the mixture of Qwen3-VL asks for it in 5.0.0
        decoder_sparse_step=1,
        num_experts=4,
        num_experts_per_tok=2,
        rope_scaling=SECTIONS if name != "qwen3_moe" else None,
    )
    outputs, numbers = [], []
    with TemporaryDirectory() as place:
        testbed.fill(model_class(config)).save_pretrained(place)
        file = Path(place, "config.json")
        written = json.loads(file.read_text(encoding="utf-8"))
        number = written.pop("num_experts", written.pop("num_local_experts", None))
        for key in ("num_experts", "num_local_experts"):
            release = {"transformers_version": "5.4.0"} if key == "num_local_experts" else {}
            file.write_text(json.dumps({**written, **release, key: number}), encoding="utf-8")
            model = model_class.from_pretrained(place, attn_implementation="eager").eval()
            vectors = model.get_input_embeddings()(torch.arange(3, 13)[None])  # the talker takes these alone
            with torch.no_grad():
                outputs.append(model(inputs_embeds=vectors)[0].float())
            numbers.append(model.config.num_experts)
    # Releases keep experts in other parameters and fill them otherwise: the two loaded models are compared.
    return {"experts": torch.tensor(numbers), "difference": (outputs[0] - outputs[1]).abs().max()}
