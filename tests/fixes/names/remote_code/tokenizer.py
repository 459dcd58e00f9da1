# mypy: ignore-errors
"""A tokenizer in the manner of GLM-4: it pads on the left by an override that knows no ``padding_side``."""

from transformers import PreTrainedTokenizerFast
from transformers.utils import PaddingStrategy


class PaddingTokenizer(PreTrainedTokenizerFast):
    model_input_names = ["input_ids", "attention_mask", "position_ids"]  # noqa: RUF012

    def __init__(self, *args, padding_side="left", **kwargs):
        super().__init__(*args, padding_side=padding_side, **kwargs)

    def _pad(
        self,
        encoded_inputs,
        max_length=None,
        padding_strategy=PaddingStrategy.DO_NOT_PAD,
        pad_to_multiple_of=None,
        return_attention_mask=None,
    ):
        assert self.padding_side == "left"
        required = encoded_inputs["input_ids"]
        length = len(required)
        if padding_strategy == PaddingStrategy.LONGEST:
            max_length = length
        if max_length is not None and pad_to_multiple_of is not None and max_length % pad_to_multiple_of != 0:
            max_length = ((max_length // pad_to_multiple_of) + 1) * pad_to_multiple_of
        encoded_inputs.setdefault("attention_mask", [1] * length)
        encoded_inputs.setdefault("position_ids", list(range(length)))
        if padding_strategy != PaddingStrategy.DO_NOT_PAD and length != max_length:
            short = max_length - length
            encoded_inputs["attention_mask"] = [0] * short + encoded_inputs["attention_mask"]
            encoded_inputs["position_ids"] = [0] * short + encoded_inputs["position_ids"]
            encoded_inputs["input_ids"] = [self.pad_token_id] * short + required
        return encoded_inputs
