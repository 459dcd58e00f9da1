"""A tiny T5 with a head of its own, in files that have its table under one name or the other."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_t5_tied_keys_order import FIX
from hotfix.proofs.testbed import Target, Testbed

_NAMES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "shared.weight")


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits and tables of each file, also after saving it again. With ``shared.weight`` there is no bug."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=48,
        d_model=32,
        d_kv=16,
        d_ff=48,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    model = testbed.fill(T5ForConditionalGeneration(config))
    results = {}
    for kept in (_NAMES[1:2], _NAMES[:1], _NAMES[:2], _NAMES):
        with TemporaryDirectory() as folder, TemporaryDirectory() as again:
            _save(testbed, model, folder, kept)
            loaded = T5ForConditionalGeneration.from_pretrained(folder)
            loaded.save_pretrained(again)
            for when, read in (("", loaded), (", again", T5ForConditionalGeneration.from_pretrained(again))):
                shown = _shown(testbed, read)
                results.update({f"{' and '.join(kept)}{when}: {name}": value for name, value in shown.items()})
    return results


def _save(testbed: Testbed, model: Any, folder: str, kept: tuple[str, ...]) -> None:
    from safetensors.torch import save_file

    tensors = {name: value.clone() for name, value in model.state_dict().items() if name not in _NAMES}
    tensors.update({name: model.shared.weight.detach().clone() for name in kept})
    tensors["lm_head.weight"] = testbed.randn(48, 32, seed=3).cpu() / 6
    model.config.save_pretrained(folder)
    save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})


def _shown(testbed: Testbed, model: Any) -> dict[str, torch.Tensor]:
    ids, outputs = testbed.randint(1, 48, 2, 7, seed=1), testbed.randint(1, 48, 2, 5, seed=2)
    with torch.no_grad():
        logits = model.to(testbed.device).eval()(input_ids=ids, decoder_input_ids=outputs).logits
    tables = {f"table of the {part}": getattr(model, part).embed_tokens.weight for part in ("encoder", "decoder")}
    return {"logits": logits, "head": model.lm_head.weight, **tables}
