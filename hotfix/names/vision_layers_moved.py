"""ViT and its relatives have no encoder any more, and the parts of their layers have other names.

Symptom   ``AttributeError: 'ViTModel' object has no attribute 'encoder'`` from code that calls the layers itself,
          freezes or prunes them; ``'ViTAttention' object has no attribute 'attention'`` and ``'ViTLayer' object has no
          attribute 'intermediate'`` from code that replaces parts of a layer (LoRA of one's own, explanations).
Cause     The model contains its layers, and they contain projections and an MLP.
Releases  5.9.0 and later; DINOv2's attention 5.18.0 and later
Upstream  lightning-pose#432 (not put back)
Here      The same layers and projections under the names of 5.8. What is set there is set in the model. An encoder can
          be called, and returns what 5.8 returned, with hidden states as in 4.57. It takes no hooks, because the model
          never calls it: there is an error with an explanation.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.refusing import Gone

FIX = Fix(
    title="AttributeError: 'ViTModel' object has no attribute 'encoder'",
    kind="removed-api",
    upstream=("lightning-pose#432",),
    group="removed-names",
    errors=(
        "AttributeError: 'ViTModel' object has no attribute 'encoder'",
        "AttributeError: 'ViTAttention' object has no attribute 'attention'",
        "AttributeError: 'ViTLayer' object has no attribute 'intermediate'",
    ),
)

ENCODERS = """
    audio_spectrogram_transformer:AST beit:Beit deit:DeiT ijepa:IJepa vit:ViT vit_mae:ViTMAE vit_msn:ViTMSN vivit:Vivit
"""
"""Folder and beginning of the class, also of its layers and attentions."""
_QUERY_KEY_VALUE = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
_OF_ATTENTION = {"attention": _QUERY_KEY_VALUE, "output": {"dense": "o_proj"}}
_OF_SWIN = {"self": _QUERY_KEY_VALUE, "output": {"dense": "o_proj"}}
_OF_LAYER = {"intermediate": {"dense": "mlp.fc1"}, "output": {"dense": "mlp.fc2"}}


class Part:
    """A part that was a module, with the modules that it had: those of today's owner."""

    def __init__(self, owner: Any, names: dict[str, str]) -> None:
        """Keep both.

        Args:
            owner: the module that contains them today.
            names: where they are, by their old names.
        """
        self.__dict__.update(owner=owner, names=names)

    def __getattr__(self, name: str) -> Any:
        """A module under its old name; anything else is the owner's."""
        owner, last = self._place(name)
        return getattr(owner, last)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it in the owner."""
        owner, last = self._place(name)
        setattr(owner, last, value)

    def _place(self, name: str) -> tuple[Any, str]:
        *path, last = self.names.get(name, name).split(".")
        owner = self.owner
        for each in path:
            owner = getattr(owner, each)
        return owner, last


@cache
def _encoder_class() -> Any:
    from torch import nn
    from transformers.modeling_outputs import BaseModelOutput

    class Encoder(nn.Module):  # type: ignore[misc]
        """The layers of a model as a module of their own."""

        def __init__(self, model: Any) -> None:
            super().__init__()
            self.layer = model.layers
            self.__dict__.update(model=model, config=model.config)

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "layer" and "model" in vars(self):
                self.model.layers = value

        def forward(
            self,
            hidden_states: Any,
            head_mask: Any = None,
            output_attentions: bool = False,
            output_hidden_states: bool = False,
            return_dict: bool = True,
            **kwargs: Any,
        ) -> Any:
            if head_mask is not None or output_attentions:
                raise Gone("The layers of this release take no head_mask and return no attentions. Call the model.")
            states = [hidden_states]
            for layer in self.layer:
                states.append(layer(states[-1], **kwargs))
            results = {
                "last_hidden_state": states[-1],
                "hidden_states": tuple(states) if output_hidden_states else None,
            }
            if not return_dict:
                return tuple(value for value in results.values() if value is not None)
            return BaseModelOutput(**results)

        def _no_hook(self, *args: Any, **kwargs: Any) -> None:
            raise Gone("The model does not call this encoder, so that a hook would never run. Use a hook of a layer.")

        register_forward_hook = register_forward_pre_hook = _no_hook
        register_full_backward_hook = register_full_backward_pre_hook = _no_hook

    return Encoder


def _reading(name: str, make: Callable[[Any], Any]) -> Callable[[Any], property]:
    """A function that makes the property; a module that the program sets there is found first."""

    def get(module: Any) -> Any:
        return module._modules[name] if name in module._modules else make(module)

    return lambda owner: property(get)


def _as_part(names: dict[str, str]) -> Callable[[Any], Part]:
    return lambda module: Part(module, names)


def _add(place: str, releases: str, name: str, make: Callable[[Any], Any]) -> None:
    folder, _, kind = place.partition(":")
    target = f"transformers.models.{folder}.modeling_{folder}:{kind}.{name}"
    FIX.adds_made((target, releases), of_instances=True)(_reading(name, make))


for _family in ENCODERS.split():
    _add(f"{_family}Model", ">=5.9.0", "encoder", lambda model: _encoder_class()(model))
for _family in (*ENCODERS.split(), "swin:Swin"):
    for _part, _names in _OF_LAYER.items():
        _add(f"{_family}Layer", ">=5.9.0", _part, _as_part(_names))
for _family in (*ENCODERS.split(), "dinov2:Dinov2", "dinov2_with_registers:Dinov2WithRegisters"):
    for _part, _names in _OF_ATTENTION.items():
        _add(f"{_family}Attention", ">=5.18.0" if "dinov2" in _family else ">=5.9.0", _part, _as_part(_names))
for _part, _names in _OF_SWIN.items():
    _add("swin:SwinAttention", ">=5.9.0", _part, _as_part(_names))
