"""A tiny model of each class gets two texts as labels, their padding masked, and the number of their tokens."""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.training.encoder_decoder_given_the_number import FIX

SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
TEXT = {**SIZES, "vocab_size": 48, "pad_token_id": 0}


@FIX.case(
    raises=r"TypeError: .*forward\(\) got an unexpected keyword argument 'num_items_in_batch'",
    packages={"flash-attn": None},
    oracles={"*": "5.23.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss, logits and the gradient of the head, where the step is this batch: the loss is their mean."""
    model, inputs = model_of(testbed, target.qualname.partition(".")[0])
    output = model(**inputs, num_items_in_batch=(inputs["labels"] != -100).sum())
    output.loss.backward()
    return {"loss": output.loss, "logits": output.logits, "gradient": model.decoder.cls.predictions.bias.grad}


def model_of(testbed: Testbed, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model, and the inputs of a step.

    Args:
        testbed: makes the weights.
        name: of its class.
    """
    import transformers
    from transformers import BertConfig, BertLMHeadModel, BertModel, ViTConfig, ViTModel

    decoder = BertLMHeadModel(BertConfig(**TEXT, is_decoder=True, add_cross_attention=True))
    inputs: dict[str, torch.Tensor]
    if name == "EncoderDecoderModel":
        encoder: Any = BertModel(BertConfig(**TEXT))
        inputs = {"input_ids": testbed.randint(3, 48, 2, 5)}
    else:
        encoder = ViTModel(ViTConfig(**SIZES, image_size=8, patch_size=4))
        inputs = {"pixel_values": testbed.randn(2, 3, 8, 8)}
    model = getattr(transformers, name)(encoder=encoder, decoder=decoder)
    model.config.decoder_start_token_id, model.config.pad_token_id = 1, 0
    labels = testbed.randint(3, 48, 2, 6, seed=1)
    labels[0, 4:] = -100
    testbed.fill(decoder)
    for parameter in encoder.parameters():  # 5.x has other names in ViT, and so other weights
        parameter.data.zero_()
    return model.eval(), {**inputs, "labels": labels}
