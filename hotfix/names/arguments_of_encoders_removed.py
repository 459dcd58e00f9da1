"""Encoders of models for images refuse arguments that a program's own model passes to them.

Symptom   ``TypeError: CLIPEncoder.forward() got an unexpected keyword argument 'return_dict'``, or ``ViTEncoder`` and
          ``'output_attentions'``, ``'output_hidden_states'``, ``'head_mask'``, from models of a program's own that call
          the encoder as the library's model did.
Cause     The model records hidden states and attentions now, and the encoder lost the arguments.
Releases  4.54.0 and later; most encoders take further arguments again since 5.4.0
Upstream  Arc2Face#45 (not put back)
Here      After the error, arguments that ask for nothing are left out: ``return_dict``, whose result is converted, and
          others that are None or False, or a list of None. A call that asks for attentions, hidden states or a mask
          raises as before, and a program that handles the error gets it.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix

ARGUMENTS = ("head_mask", "output_attentions", "output_hidden_states", "return_dict")
_LATER = ">=4.56.0,<=5.3.0"
_ENCODERS = {
    "audio_spectrogram_transformer AST": _LATER,
    "clip CLIP": ">=4.54.0,<=4.57.6",
    "convnext ConvNext": _LATER,
    "convnextv2 ConvNextV2": _LATER,
    "deit DeiT": _LATER,
    "dinov2 Dinov2": _LATER,
    "dinov2_with_registers Dinov2WithRegisters": _LATER,
    "dpt DPTViT": _LATER,
    "idefics3 Idefics3": ">=4.57.1",
    "ijepa IJepa": _LATER,
    "mllama MllamaVision": ">=4.55.0",
    "videomae VideoMAE": _LATER,
    "vit ViT": _LATER,
    "vit_mae ViTMAE": _LATER,
    "vit_msn ViTMSN": _LATER,
    "vitpose_backbone VitPoseBackbone": _LATER,
    "vivit Vivit": ">=4.56.0,<=5.8.1",
    "yolos Yolos": ">=4.56.0",
}

_BY_CONFIGURATION = {f"{name}Encoder.forward" for name in ("CLIP", "Idefics3", "MllamaVision")}
"""The encoders for which `return_dict=None` means what the configuration says; for the others it means a tuple."""
_NAMES = {f"{model.split()[1]}Encoder" for model in _ENCODERS}

FIX = Fix(
    title="TypeError: CLIPEncoder.forward() got an unexpected keyword argument 'return_dict'",
    kind="removed-api",
    group="removed-names",
    upstream=("Arc2Face#45",),
    errors=tuple(
        f"TypeError: {name}Encoder.forward() got an unexpected keyword argument '{argument}'"
        for name in ("CLIP", "Dinov2", "ViT")
        for argument in ARGUMENTS
    ),
    on_error=("TypeError: …forward() got an unexpected keyword argument …",),
    prefilter="Encoder(nn.Module):",
)


def without_what_asks_for_nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call without the arguments that the encoder does not take."""
    known = inspect.signature(original).parameters

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        removed = {name: kwargs.pop(name) for name in ARGUMENTS if name in kwargs and name not in known}
        by_name = removed.pop("return_dict", True)
        if by_name is None and original.__qualname__ in _BY_CONFIGURATION:
            by_name = self.config.return_dict
        if any(map(_asks, removed.values())):
            return original(self, *args, **kwargs, **removed)  # the release's own error
        states = original(self, *args, **kwargs)
        return states if by_name else states.to_tuple()

    return forward


for _model, _releases in _ENCODERS.items():
    _folder, _name = _model.split()
    FIX.wraps(
        (f"transformers.models.{_folder}.modeling_{_folder}:{_name}Encoder.forward", _releases),
        fingerprint_of=(f"{_name}Encoder",),
    )(without_what_asks_for_nothing)


@FIX.recognises
def refuses(definition: ast.AST) -> bool:
    """One of the encoders, whose `forward` takes neither `return_dict` nor ``**kwargs``, and no decorator does."""
    if not isinstance(definition, ast.ClassDef) or definition.name not in _NAMES:
        return False
    method = next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == "forward")
    takes = {argument.arg for argument in method.args.args}
    decorators = {ast.unparse(each) for each in method.decorator_list}
    return method.args.kwarg is None and "return_dict" not in takes and decorators <= {"auto_docstring"}


def _asks(value: Any) -> bool:
    """Whether an argument asks for anything."""
    return any(each is not None for each in value) if isinstance(value, (list, tuple)) else value not in (None, False)
