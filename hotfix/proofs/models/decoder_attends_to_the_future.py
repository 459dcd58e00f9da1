"""A tiny model as a decoder that trains on two texts, and goes on behind a cache; and one as an encoder."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.decoder_attends_to_the_future import FIX
from hotfix.proofs.testbed import Target, Testbed

_MORE: dict[str, dict[str, Any]] = {
    "BigBird": {"attention_type": "original_full", "sep_token_id": 2},
    "RemBert": {"input_embedding_size": 16, "output_embedding_size": 16},
}


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, loss and gradients of the decoder, the logits of three tokens after six in a cache, and the encoder's.

    The second text is padded on the left. The encoder was right.
    """
    name = target.qualname.partition("Model.")[0]
    module: Any = import_module(target.module)
    configuration: Any = import_module(target.module.replace(".modeling_", ".configuration_"))
    sizes = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        **_MORE.get(name, {}),
    }

    def model(kind: str, decodes: bool) -> Any:
        config = getattr(configuration, f"{name}Config")(**sizes, is_decoder=decodes)
        return testbed.model(getattr(module, f"{name}{kind}"), config, "eager", torch.float32)

    ids = testbed.randint(5, 48, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    decoder = model("ForCausalLM", True)
    with torch.no_grad():
        first = decoder.eval()(ids[:, :6], attention_mask=mask[:, :6], use_cache=True)
        second = decoder(ids[:, 6:], attention_mask=mask, past_key_values=first.past_key_values)
    output = decoder.train()(ids, attention_mask=mask, labels=ids, use_cache=False)
    output.loss.backward()
    with torch.no_grad():
        encoder = model("ForMaskedLM", False).eval()(ids, attention_mask=mask)
    return {
        "logits": output.logits[mask.bool()],
        "loss": output.loss,
        "behind a cache": second.logits,
        "encoder": encoder.logits[mask.bool()],
        **testbed.gradients(decoder),
    }
