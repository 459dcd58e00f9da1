"""Cases for fa2-varlen-kwargs-ignored; ``eager`` is what eager attention in float32 gives for each sequence alone."""

from __future__ import annotations

from importlib import import_module

from hotfix.proofs.models import fa2_varlen_kwargs_ignored
from tests.fixes.models.attention import traces


def everything(testbed, target):
    import transformers

    models = {"cohere2": cohere2, "qwen2_5_vl": qwen2_5_vl}
    if transformers.__version__ == "4.53.1":
        del models["qwen2_5_vl"]  # it refuses positions of three rows there
    return traces.traced(testbed, target, **models, case=fa2_varlen_kwargs_ignored.case)


def cohere2(testbed, target):
    return packed(testbed, "cohere2", "Cohere2Model", "Cohere2Config")


def windowed(testbed, target):
    return packed(testbed, "cohere2", "Cohere2Model", "Cohere2Config", sliding_window=3)


def qwen2_5_vl(testbed, target):
    mrope = {"type": "mrope", "mrope_section": [2, 3, 3]}
    return packed(testbed, "qwen2_5_vl", "Qwen2_5_VLTextModel", "Qwen2_5_VLTextConfig", rope_scaling=mrope)


def packed(testbed, package, model, config, **options):
    """Sequences of 5 and 4 tokens in one row, with their lengths."""
    import torch

    modeling = import_module(f"transformers.models.{package}.modeling_{package}")
    sizes = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0}
    chosen = getattr(modeling, config)(**sizes, **heads, **options)
    flash = testbed.model(getattr(modeling, model), chosen)
    eager = testbed.model(getattr(modeling, model), chosen, attn="eager", dtype=torch.float32)

    input_ids = testbed.randint(3, 64, 1, 9, seed=1)
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3]], device=testbed.device)
    bounds = torch.tensor([0, 5, 9], dtype=torch.int32, device=testbed.device)
    lengths = {"cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds, "max_length_q": 5, "max_length_k": 5}
    with torch.no_grad():
        together = flash(input_ids, position_ids=positions, use_cache=False, **lengths).last_hidden_state
        alone = [eager(piece, use_cache=False).last_hidden_state for piece in input_ids.split((5, 4), dim=1)]
    testbed.assert_flash()
    return {"flash": together, "eager": torch.cat(alone, dim=1)}
