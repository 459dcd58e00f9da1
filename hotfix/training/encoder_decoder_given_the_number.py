"""The Trainer passes the number of labels to VisionEncoderDecoder and EncoderDecoder, whose encoders refuse it.

Symptom   ``TypeError: ViTModel.forward() got an unexpected keyword argument 'num_items_in_batch'`` in the first step of
          TrOCR, Donut, and BERT2BERT.
Cause     Since 4.47.1 the Trainer passes it to every forward with ``**kwargs``. These pass theirs on to the encoder.
Releases  4.47.1, and 4.48.1 to 4.49.0 (4.48.0 does not pass it: trainer-ga-num-items-dropped)
Upstream  not repaired; in 4.50.0 the number goes to the decoder
Here      The forward keeps the number for its loss: the sum over the labels, divided by it. An encoder that takes it
          is left alone. Without labels, which the Trainer keeps back for label smoothing, the error stays.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: ViTModel.forward() got an unexpected keyword argument 'num_items_in_batch'",
    kind="crash",
    errors=tuple(
        f"TypeError: {encoder}….forward() got an unexpected keyword argument 'num_items_in_batch'"
        for encoder in ("BertModel", "DeiTModel", "DonutSwinModel", "RobertaModel", "SwinModel", "ViTModel")
    ),
    prefilter="kwargs_encoder",
)

_CLASSES = {
    "transformers.models.vision_encoder_decoder.modeling_vision_encoder_decoder:VisionEncoderDecoderModel": "vit:ViT",
    "transformers.models.encoder_decoder.modeling_encoder_decoder:EncoderDecoderModel": "bert:Bert",
}
_TRAINER = "transformers.trainer:Trainer"
_NUMBER = "num_items_in_batch"

for _class, _encoder in _CLASSES.items():
    _folder, _name = _encoder.split(":")

    @FIX.wraps(
        (f"{_class}.forward", ">=4.47.1,<=4.49.0,!=4.48.0"),
        fingerprint_of=(
            f"{_class}.forward",
            f"transformers.models.{_folder}.modeling_{_folder}:{_name}Model.forward",
            f"{_TRAINER}.__init__",
            f"{_TRAINER}.training_step",
        ),
        on_error=("TypeError: …forward() got an unexpected keyword argument 'num_items_in_batch'",),
    )
    def by_the_number(original: Callable[..., Any]) -> Callable[..., Any]:
        """A forward whose loss is divided by the number of labels of the step."""
        names = [*inspect.signature(original).parameters][1:]

        def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            labels = {**dict(zip(names, args)), **kwargs}.get("labels")
            if labels is None or kwargs.get(_NUMBER) is None:
                return original(self, *args, **kwargs)
            number = kwargs.pop(_NUMBER)
            outputs = original(self, *args, **kwargs)
            share = (labels != -100).sum() / number  # the loss is a mean over the labels of this batch
            if isinstance(outputs, tuple):
                return (outputs[0] * share, *outputs[1:])
            outputs.loss = outputs.loss * share
            return outputs

        return forward


@FIX.recognises
def is_broken(*definitions: ast.AST) -> bool:
    """The forward passes the number on to an encoder that refuses it, and the Trainer passes it to the forward."""
    if len(definitions) < 4:
        return False
    forward, _, trainer, step = map(ast.unparse, definitions)
    passes_on = "kwargs_encoder" in forward and _NUMBER not in forward
    refuses = isinstance(definitions[1], ast.FunctionDef) and definitions[1].args.kwarg is None
    keeps_it_back = "if self.model_accepts_loss_kwargs:\n" in step
    return passes_on and refuses and "VAR_KEYWORD for " in trainer and not keeps_it_back
