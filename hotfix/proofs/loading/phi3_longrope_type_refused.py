"""A small Phi-3 for long texts is saved and loaded, its scaling under the name of today."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

import torch

from hotfix.loading.phi3_longrope_type_refused import FIX
from hotfix.proofs.testbed import Target, Testbed

FACTORS: dict[str, Any] = {"short_factor": [1.0, 1.25, 1.5, 1.75], "long_factor": [2.0, 3.0, 4.0, 5.0]}


@FIX.case(raises="ValueError: `rope_scaling`'s type field must be one of", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of a short text and of one beyond the original length; without scaling nothing was wrong."""
    from transformers import Phi3Config, Phi3ForCausalLM

    config = Phi3Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        original_max_position_embeddings=16,
        pad_token_id=0,
    )
    texts = {length: testbed.randint(3, 64, 2, length, seed=length) for length in (9, 30)}
    results = {}
    scalings: dict[str, Optional[dict[str, Any]]] = {"none": None, "longrope": {"type": "longrope", **FACTORS}}
    with TemporaryDirectory() as place:
        testbed.fill(Phi3ForCausalLM(config)).save_pretrained(place)
        file = Path(place, "config.json")
        written = json.loads(file.read_text(encoding="utf-8"))
        for name, scaling in scalings.items():
            file.write_text(json.dumps({**written, "rope_scaling": scaling}), encoding="utf-8")
            model = Phi3ForCausalLM.from_pretrained(place, torch_dtype=torch.float32, attn_implementation="eager")
            with torch.no_grad():
                results.update({f"{name}, {length}": model.eval()(ids).logits for length, ids in texts.items()})
    return results
