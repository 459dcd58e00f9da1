"""A small Gemma 2 whose file has whole numbers for two limits of its logits, and configurations with flags and null."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.v5_config_values_refused import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="StrictDataclassFieldValidationError: Validation error for field", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits below the limits of the file, what a second file has, and what other configurations have stored."""
    from transformers import Gemma2Config, Gemma2ForCausalLM, OlmoConfig, TableTransformerConfig

    ids = testbed.randint(3, 64, 2, 9, seed=1)
    small = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "head_dim": 8, "vocab_size": 64}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    with TemporaryDirectory() as place:
        Gemma2Config(**small, **heads, attn_implementation="eager").save_pretrained(place)
        file = Path(place, "config.json")
        written = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**written, "final_logit_softcapping": 3, "attn_logit_softcapping": 5}), "utf-8")
        config = Gemma2Config.from_pretrained(place, attn_implementation="eager")
        config.save_pretrained(place)
        again = Gemma2Config.from_pretrained(place, attention_dropout=0, query_pre_attn_scalar=8)
    with torch.no_grad():
        logits = testbed.fill(Gemma2ForCausalLM(config)).eval()(ids).logits
    detector = TableTransformerConfig(use_timm_backbone=False, backbone_config={"model_type": "resnet"}, dilation=None)
    stored = [again.final_logit_softcapping, again.attn_logit_softcapping, OlmoConfig().tie_word_embeddings]
    return {"logits": logits, "stored": torch.tensor([*map(float, stored), float(detector.dilation is None)])}
