"""Helpers of the fixes for old cache names: the content of a cache, and whether its caller is old code.

Until 4.53.3 a growing cache held every token that it had seen, in two lists of tensors; its maximum was None. Since
4.54.0 a cache is a list of layers, and since 4.56.0 some layers keep only a window.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

from hotfix.names.refusing import Gone
from hotfix.patching import scope

# A function that uses one of these was written before 4.54.0, in whatever module.
_OLD_NAMES = {"seen_tokens", "_seen_tokens", "get_usable_length"}


def maximum(cache: Any) -> Optional[int]:
    """The number of tokens that a cache can hold, as before 4.49.0: None if it grows.

    Args:
        cache: any `Cache`; for an `EncoderDecoderCache`, its self-attention cache counts.
    """
    cache = getattr(cache, "self_attention_cache", cache)
    if not hasattr(cache, "layers"):  # up to 4.53.3, and caches of remote code
        shape: Optional[int] = cache.get_max_cache_shape()
        return shape
    lengths = [layer.max_cache_len for layer in cache.layers if hasattr(layer, "max_cache_len")]
    return max(lengths, default=None)


def usable_length(cache: Any, new_seq_length: int, layer_idx: Optional[int] = 0) -> Any:
    """The number of tokens that a layer keeps when new ones are added.

    Args:
        cache: any `Cache`.
        new_seq_length: the number of new tokens.
        layer_idx: the number of the layer.

    Raises:
        Gone: the layer has already dropped tokens.
    """
    refuse_a_window(cache, layer_idx or 0)
    limit, length = maximum(cache), cache.get_seq_length(layer_idx)
    return limit - new_seq_length if limit is not None and length + new_seq_length > limit else length


def filled(cache: Any) -> list[Any]:
    """The layers of a cache up to the last one with content, as its lists were before 4.54.0.

    Layers that were created before the first token are left out.
    """
    layers = list(cache.layers)
    while layers and getattr(layers[-1], "keys", None) is None:
        layers.pop()
    return layers


def refuse_a_window(cache: Any, layer_idx: Optional[int] = None) -> None:
    """Raise `Gone` if a layer has dropped tokens: old code would take the rest for all tokens.

    Args:
        cache: any `Cache`.
        layer_idx: the number of the layer; None for all.
    """
    layers = getattr(getattr(cache, "self_attention_cache", cache), "layers", [])
    chosen = layers if layer_idx is None else layers[layer_idx : layer_idx + 1]
    if any(_has_dropped(layer) for layer in chosen):
        raise Gone(
            "This cache keeps the last tokens only (a sliding window, or a quantized rest), and the code that asks "
            "was written for one that keeps all. Pass past_key_values=DynamicCache(), made without a configuration, "
            "to generate()."
        )


def is_asked_the_old_way(caller: types.FrameType) -> bool:
    """Whether a caller expects the results of before 4.54.0: remote code, or code that also uses older names.

    Args:
        caller: the frame of the caller.
    """
    module = str(caller.f_globals.get("__name__", ""))
    return module.startswith("transformers_modules.") or not _OLD_NAMES.isdisjoint(caller.f_code.co_names)


class ReadOnly:
    """A computed attribute; an attribute of the instance with the same name takes precedence.

    A property would break classes that set the attribute themselves.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read
        self.__doc__ = read.__doc__

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        """The value; for the class, this descriptor."""
        return self if instance is None else self.read(instance)


class Lists:
    """The attribute ``key_cache`` or ``value_cache``: assignments reach the layers.

    A class outside of transformers that assigns it while the cache is empty creates an attribute of its own.

    Args:
        name: the name of the attribute.
        member: the attribute of a layer: ``keys`` or ``values``.
    """

    takes_assignments = True

    def __init__(self, name: str, member: str) -> None:
        self.name = name
        self.member = member
        self.__doc__ = f"The {member} of all layers."

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        """The list; for the class, this descriptor."""
        if instance is None:
            return self
        own = vars(instance)
        return own[self.name] if self.name in own else Tensors(instance, self.member)

    def __set__(self, instance: Any, value: Any) -> None:
        """Put tensors into the layers.

        Raises:
            AttributeError: there are fewer tensors than layers.
        """
        held = Tensors(instance, self.member) if hasattr(instance, "layers") else ()
        of_the_library = scope.was_written_in("transformers", type(instance))
        if self.name in vars(instance) or not (held or of_the_library):
            vars(instance)[self.name] = value
            return
        given = list(value)
        if len(given) < len(held):
            raise AttributeError(
                f"{self.name} cannot take {len(given)} tensors: the cache holds {len(held)} layers. Build a new one."
            )
        tensors = Tensors(instance, self.member)
        tensors[: len(held)] = given[: len(held)]
        for tensor in given[len(held) :]:
            tensors.append(tensor)

    def __delete__(self, instance: Any) -> None:
        """Delete the attribute of a class outside of transformers."""
        if self.name not in vars(instance):
            raise AttributeError(self.name)
        del vars(instance)[self.name]


class Tensors(Sequence[Any]):
    """The keys or values of a cache as a list, as before 4.54.0; assignments reach the layers.

    Args:
        cache: the cache.
        name: ``keys`` or ``values``.
    """

    def __init__(self, cache: Any, name: str) -> None:
        refuse_a_window(cache)
        self._cache, self._name = cache, name

    def __len__(self) -> int:
        """The number of layers with content."""
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        """The tensors, of shape ``(batch, heads, tokens, head_dim)``; an empty tensor for a skipped layer."""
        import torch

        for layer in filled(self._cache):
            tensor = getattr(layer, self._name, None)
            yield torch.tensor([]) if tensor is None else tensor

    def __getitem__(self, index: Any) -> Any:
        """A tensor, or a list for a slice."""
        return list(self)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace a tensor, or those of a slice."""
        layers = filled(self._cache)[index]
        for layer, tensor in zip(layers, value) if isinstance(index, slice) else [(layers, value)]:
            setattr(layer, self._name, tensor)

    def append(self, tensor: Any) -> None:
        """Add the tensor of one more layer."""
        layers = self._cache.layers
        number = next((n for n, layer in enumerate(layers) if getattr(layer, self._name, None) is None), len(layers))
        if number == len(layers):
            layers.append(self._cache.layer_class_to_replicate())
        layer = layers[number]
        if getattr(layer, "keys", None) is None and getattr(layer, "values", None) is None:
            layer.dtype, layer.device, layer.is_initialized = tensor.dtype, tensor.device, True
        setattr(layer, self._name, tensor)

    def __repr__(self) -> str:
        """As a list."""
        return repr(list(self))


# ---------------------------------------------------------------------------------------------------------------------


def _has_dropped(layer: Any) -> bool:
    keys = getattr(layer, "keys", None)
    return keys is not None and keys.dim() > 1 and bool(layer.get_seq_length() > keys.shape[-2])
