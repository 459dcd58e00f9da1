"""Correct programs that generate with encoder-decoders on 4.49.0."""

from __future__ import annotations

import torch


def _t5(testbed, cls):
    from transformers import T5Config

    config = T5Config(vocab_size=64, d_model=32, d_kv=16, d_ff=48, num_layers=1, num_heads=2, decoder_start_token_id=0)
    model = testbed.fill(cls(config)).eval()
    model.generation_config.eos_token_id = None
    return model


def _written(testbed, model, padded=True):
    texts = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(texts)
    if padded:
        mask[1, 3:] = texts[1, 3:] = 0
    output = model.generate(
        texts,
        attention_mask=mask,
        max_new_tokens=5,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return {"tokens": output.sequences, "logits": torch.stack(output.logits, dim=1)}


def with_a_workaround(testbed, target):
    """The program puts the mask back itself."""
    from transformers import T5ForConditionalGeneration

    class Masked(T5ForConditionalGeneration):
        def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
            inputs = super().prepare_inputs_for_generation(input_ids, attention_mask=attention_mask, **kwargs)
            return {**inputs, "attention_mask": attention_mask}

    return _written(testbed, _t5(testbed, Masked))


def without_padding(testbed, target):
    """No mask is needed."""
    from transformers import T5ForConditionalGeneration

    return _written(testbed, _t5(testbed, T5ForConditionalGeneration), padded=False)


def without_an_argument(testbed, target):
    """The forward takes no mask: it remembers that of the encoder."""
    from transformers import T5ForConditionalGeneration

    class Remembers(T5ForConditionalGeneration):
        def forward(self, decoder_input_ids, encoder_outputs, past_key_values=None, cache_position=None):
            return super().forward(
                attention_mask=self.mask,
                decoder_input_ids=decoder_input_ids,
                encoder_outputs=encoder_outputs,
                past_key_values=past_key_values,
                cache_position=cache_position,
            )

    model = _t5(testbed, Remembers)
    texts = testbed.randint(3, 60, 2, 9, seed=1)
    model.mask = torch.ones_like(texts)
    model.mask[1, 3:] = 0
    inputs = model.prepare_inputs_for_generation(
        texts[:, :2], attention_mask=model.mask, cache_position=torch.arange(2), encoder_outputs=None
    )
    assert "attention_mask" not in inputs
    return {"ids": inputs["decoder_input_ids"]}


def with_longer_encoder_outputs(testbed, target):
    """Features of an image follow those of the text, and the mask is that of the text: stock attends to both."""
    from transformers import T5ForConditionalGeneration
    from transformers.modeling_outputs import BaseModelOutput

    model = _t5(testbed, T5ForConditionalGeneration)
    texts = testbed.randint(3, 60, 2, 9, seed=1)
    features = testbed.randn(2, 4, 32, seed=2)
    hidden = torch.cat([model.encoder(texts).last_hidden_state, features], dim=1)
    tokens = model.generate(
        texts,
        attention_mask=torch.ones_like(texts),
        encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
        max_new_tokens=5,
        do_sample=False,
    )
    return {"tokens": tokens}
