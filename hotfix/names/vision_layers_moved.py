"""ViT and its relatives have no encoder any more, and the parts of their layers have other names.

Symptom   ``AttributeError: 'ViTModel' object has no attribute 'encoder'`` from code that calls the layers itself,
          freezes or prunes them; ``'ViTAttention' object has no attribute 'attention'`` and ``'ViTLayer' object has no
          attribute 'intermediate'`` from code that replaces parts of a layer (LoRA of one's own, explanations).
Cause     The model contains its layers, and they contain projections and an MLP.
Releases  5.9.0 and later; DINOv2's attention 5.18.0 and later
Upstream  lightning-pose#432 (not put back)
Here      The same layers and projections under the names of 5.8. A part that the program sets there is set in the
          model. An encoder can be called, and returns what 5.8 returned, with hidden states as in 4.57. Its layers can
          be read, frozen and replaced, but not called one by one: since 5.0 they return no tuple, and
          ``layer(states)[0]`` would be the first image without a sign. Encoders and layers take no hooks: there is an
          error with an explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    audio_spectrogram_transformer:AST beit:Beit deit:DeiT vit:ViT vit_mae:ViTMAE
"""
"""Folder and beginning of the class, also of its layers and attentions."""
_QUERY_KEY_VALUE = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
_OF_ATTENTION = {"attention": _QUERY_KEY_VALUE, "output": {"dense": "o_proj"}}
_OF_SWIN = {"self": _QUERY_KEY_VALUE, "output": {"dense": "o_proj"}}
_OF_LAYER = {"intermediate": {"dense": "mlp.fc1"}, "output": {"dense": "mlp.fc2"}}


class Part:
    """A part that was a module, with the modules that it had: those of today's owner. It computes nothing."""

    def __init__(self, owner: Any, names: dict[str, str]) -> None:
        """Keep both.

        Args:
            owner: the module that contains them today.
            names: where they are, by their old names.
        """
        self.__dict__.update(owner=owner, names=names)

    def __getattr__(self, name: str) -> Any:
        """A module under its old name."""
        _refuse_of_python(name)
        owner, last = self._place(name)
        return getattr(owner, last)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it in the owner."""
        owner, last = self._place(name)
        setattr(owner, last, value)

    def _place(self, name: str) -> tuple[Any, str]:
        if name not in self.names:
            raise Gone(f"{type(self.owner).__name__} has no part with {name!r} in this release.")
        *path, last = self.names[name].split(".")
        owner = self.owner
        for each in path:
            owner = getattr(owner, each)
        return owner, last


class Layer:
    """A layer of a model, to be read, frozen and changed. It is not called, because it returns no tuple as in 4.x."""

    def __init__(self, layer: Any) -> None:
        """Keep the layer.

        Args:
            layer: of the model.
        """
        self.__dict__["layer"] = layer

    def __getattr__(self, name: str) -> Any:
        """Return any attribute of the layer, except for its computation and hooks around it."""
        _refuse_of_python(name)
        if name == "forward" or name.endswith("hook"):
            raise Gone(_NO_TUPLE)
        return getattr(self.layer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it in the layer."""
        setattr(self.layer, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: ``layer(states)[0]`` would be the first text.

        Raises:
            Gone: always.
        """
        raise Gone(_NO_TUPLE)


class Layers(Sequence[Any]):
    """The layers of a model."""

    def __init__(self, layers: Any) -> None:
        """Keep them.

        Args:
            layers: a ``ModuleList``.
        """
        self.layers = layers

    def __len__(self) -> int:
        """How many there are."""
        return len(self.layers)

    def __getitem__(self, place: Any) -> Any:
        """One layer, or some."""
        return Layers(self.layers[place]) if isinstance(place, slice) else Layer(self.layers[place])

    def __setitem__(self, place: int, layer: Any) -> None:
        """Put another layer into the model."""
        self.layers[place] = layer

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the list, such as ``parameters``."""
        _refuse_of_python(name)
        return getattr(self.layers, name)


class Encoder:
    """The layers of a model, as if they were a module of their own."""

    def __init__(self, model: Any) -> None:
        """Keep the model.

        Args:
            model: with the layers.
        """
        self.__dict__["model"] = model

    @property
    def layer(self) -> Layers:
        """The layers; a slice of them may be set."""
        return Layers(self.model.layers)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the layers of the model."""
        if name != "layer":
            raise Gone(f"This release has no encoder to set {name} on. Set it on the model or its layers.")
        self.model.layers = getattr(value, "layers", value)

    def __getattr__(self, name: str) -> Any:
        """Methods of all layers, such as ``parameters`` and ``eval``; hooks would never run."""
        _refuse_of_python(name)
        if name not in _OF_ALL_LAYERS:
            raise Gone(f"This release has no encoder with {name!r}. Use the model or its layers.")
        return getattr(self.model.layers, name)

    def __call__(
        self,
        hidden_states: Any,
        head_mask: Any = None,
        output_attentions: bool = False,
        output_hidden_states: bool = False,
        return_dict: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Call one layer after the other.

        Args:
            hidden_states: the embeddings (texts or images, tokens, width).
            head_mask: None.
            output_attentions: False.
            output_hidden_states: whether the states before each layer and behind the last are returned.
            return_dict: whether the result has names.
            kwargs: for the layers.

        Raises:
            Gone: for attentions or a mask of heads, which the layers do not have any more.
        """
        from transformers.modeling_outputs import BaseModelOutput

        if head_mask is not None or output_attentions:
            raise Gone("The layers of this release take no head_mask and return no attentions. Call the model.")
        states = [hidden_states]
        for layer in self.model.layers:
            states.append(layer(states[-1], **kwargs))
        hidden = tuple(states) if output_hidden_states else None
        results = {"last_hidden_state": states[-1], "hidden_states": hidden}
        if not return_dict:
            return tuple(value for value in results.values() if value is not None)
        return BaseModelOutput(**results)


_NO_TUPLE = (
    "A layer of this release returns its states, and no tuple, so that [0] would be the first image. "
    "Call the layers in model.layers, without [0]."
)
_OF_ALL_LAYERS = frozenset("apply eval float half modules parameters requires_grad_ to train".split())


def _refuse_of_python(name: str) -> None:
    """Have Python see no special method, of a copy that is not filled yet."""
    if name.startswith("__"):
        raise AttributeError(name)


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
    _add(f"{_family}Model", ">=5.9.0", "encoder", Encoder)
for _family in (*ENCODERS.split(), "swin:Swin"):
    for _part, _names in _OF_LAYER.items():
        _add(f"{_family}Layer", ">=5.9.0", _part, _as_part(_names))
for _family in (*ENCODERS.split(), "dinov2:Dinov2", "dinov2_with_registers:Dinov2WithRegisters"):
    for _part, _names in _OF_ATTENTION.items():
        _add(f"{_family}Attention", ">=5.18.0" if "dinov2" in _family else ">=5.9.0", _part, _as_part(_names))
for _part, _names in _OF_SWIN.items():
    _add("swin:SwinAttention", ">=5.9.0", _part, _as_part(_names))
