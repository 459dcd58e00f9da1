"""Tiny models with one table for encoder and decoder and a head of their own, in files of 4.57.6: shared tables once.

The second file has every table, as files in PyTorch's own format have; nothing was wrong with those.
"""

from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_umt5_config_unties_encoder import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {
    "vocab_size": 48,
    "d_model": 32,
    "d_kv": 16,
    "d_ff": 48,
    "num_layers": 1,
    "num_decoder_layers": 1,
    "num_heads": 2,
    "decoder_start_token_id": 0,
    "tie_word_embeddings": False,
    "dropout_rate": 0.0,
}
_NAMES = {"longt5": "LongT5", "pop2piano": "Pop2Piano", "umt5": "UMT5"}


@FIX.case(oracles={"*": "4.57.6"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, and the tables, of each file; and once more after the first was saved again."""
    results = {}
    for package, name in _NAMES.items():
        for key, value in _of(testbed, package, name).items():
            # From 5.3.0 on UMT5 scales its logits, whatever the file says.
            if not (package == "umt5" and key.endswith("logits")):
                results[f"{name}, {key}"] = value
    return results


def _of(testbed: Testbed, package: str, name: str) -> dict[str, torch.Tensor]:
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    cls = getattr(module, f"{name}ForConditionalGeneration")
    results = {}
    with TemporaryDirectory() as once, TemporaryDirectory() as every, TemporaryDirectory() as again:
        model = testbed.fill(cls(cls.config_class(**_SIZES)))
        _save(testbed, model, once, every)
        loaded = cls.from_pretrained(once)
        loaded.save_pretrained(again)
        results.update(_told(testbed, "tables once", loaded))
        results.update(_told(testbed, "every table", cls.from_pretrained(every)))
        results.update(_told(testbed, "saved again", cls.from_pretrained(again)))
        encoder = getattr(module, f"{name}EncoderModel", None)
        if encoder is not None:
            results["encoder alone"] = encoder.from_pretrained(once).get_input_embeddings().weight
    return results


def _save(testbed: Testbed, model: Any, once: str, every: str) -> None:
    """Two files of one model with one table, and a head that is another one."""
    from safetensors.torch import save_file

    shared = model.shared.weight
    tensors = {name: value.clone() for name, value in model.state_dict().items()}
    tables = [name for name in tensors if name.endswith("embed_tokens.weight")]
    tensors.update({name: shared.clone() for name in tables})
    tensors["lm_head.weight"] = testbed.randn(*shared.shape, seed=3).cpu() / 6
    for folder, left_out in ((once, tables), (every, [])):
        model.config.tie_word_embeddings = False  # what 4.57.6 writes
        vars(model.config).pop("scale_decoder_outputs", None)
        model.config.save_pretrained(folder)
        kept = {name: value for name, value in tensors.items() if name not in left_out}
        save_file(kept, f"{folder}/model.safetensors", {"format": "pt"})


def _told(testbed: Testbed, file: str, model: Any) -> dict[str, torch.Tensor]:
    ids, outputs = testbed.randint(1, 48, 2, 7, seed=1), testbed.randint(1, 48, 2, 5, seed=2)
    with torch.no_grad():
        logits = model.to(testbed.device).eval()(input_ids=ids, decoder_input_ids=outputs).logits
    return {
        f"{file}: logits": logits,
        f"{file}: table of the encoder": model.encoder.embed_tokens.weight,
        f"{file}: table of the decoder": model.decoder.embed_tokens.weight,
        f"{file}: head": model.lm_head.weight,
    }
