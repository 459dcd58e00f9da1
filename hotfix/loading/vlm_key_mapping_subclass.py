"""A subclass of a vision-language model is loaded with random weights.

Symptom   Silent except for "Some weights of … were not initialized": ``class Reward(Qwen2VLForConditionalGeneration)``
          (ColQwen2, reward models) has random weights after ``from_pretrained``.
Cause     The release maps names of the Hub only if the name of the class contains that of a model of the library.
Releases  4.52.1 to 4.53.0
Upstream  fixed in 4.53.1
Here      Reading a file also considers the library's classes that it extends. A name is mapped only if the model lacks
          it, and has the mapped one with the same shape: modules of your own, such as a whole ``LlamaForCausalLM``
          under the name ``language_model``, are read as before, and so is a file with the names of the model. Saving
          uses the names of the release, so that a process without hotfix can read the file.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library
from hotfix.pattern import occurs

FIX = Fix(
    title="Subclass of Qwen2VLForConditionalGeneration has random weights after from_pretrained",
    kind="silent",
    everyone="only where a class extends one of the library, for names that it lacks: the new code tests it itself",
    fixed_in="4.53.1",
    prefilter="for allowed_name in VLMS",
)

RELEASES = ">=4.52.1,<=4.53.0"
_BY_NAME = "any(allowed_name in cls.__name__.lower() for allowed_name in VLMS)"
_LOADS = """
(model, *__RESULTS) = cls._load_pretrained_model(
    model, state_dict, checkpoint_files, __PLACE, **__OPTIONS, key_mapping={}, weights_only=weights_only
)
"""

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", RELEASES),
    old=('key_mapping = kwargs.pop("key_mapping", None)', _LOADS.format("key_mapping")),
    new=(
        f"""
        from {__name__} import mapping_of
        key_mapping = kwargs.pop("key_mapping", mapping_of(cls, VLMS))
        """,
        f"from {__name__} import with_files\n"
        + _LOADS.format("with_files(key_mapping, model, state_dict, checkpoint_files, weights_only, hf_quantizer)"),
    ),
    beside=_BY_NAME,
)


@FIX.wraps(
    ("transformers.modeling_utils:PreTrainedModel._get_key_renaming_mapping", RELEASES),
    fingerprint_of=("PreTrainedModel.from_pretrained",),
)
def where_the_model_lacks_it(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that maps the names of a file to those of the model."""

    def _get_key_renaming_mapping(
        self: Any, checkpoint_keys: Any, key_mapping: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        mapped = original(self, checkpoint_keys, key_mapping, *args, **kwargs)
        if not isinstance(key_mapping, Inherited):
            return mapped
        return key_mapping.chosen(original(self, checkpoint_keys, None, *args, **kwargs), mapped)

    return _get_key_renaming_mapping


@FIX.recognises
def is_broken(loading: ast.AST) -> bool:
    """Whether the name of a class alone decides if names are mapped."""
    return occurs('key_mapping = kwargs.pop("key_mapping", None)', loading) and occurs(_BY_NAME, loading)


class Inherited(dict[str, Any]):
    """The mapping of a class of the library, for one that extends it: patterns, and functions for `re.sub`.

    The functions serve the names of adapters, which `load_adapter` maps by itself: a name that belongs to a module of
    the model stays.

    Attributes:
        model: the model that is loaded.
        shapes: makes the shape of each weight in the file, by name; None if the shapes cannot be compared.
    """

    model: Any = None
    shapes: Optional[Callable[[], dict[str, tuple[int, ...]]]] = None

    def __init__(self, mapping: Mapping[str, str]) -> None:
        super().__init__((pattern, self._unless_known(replacement)) for pattern, replacement in mapping.items())

    def _unless_known(self, replacement: str) -> Callable[[re.Match[str]], str]:
        return lambda match: match[0] if _belongs_to(self.model, match.string) else match.expand(replacement)

    def chosen(self, plain: Mapping[str, str], mapped: Mapping[str, str]) -> dict[str, str]:
        """The name in the model of each weight, by its name in the file.

        Args:
            plain: the names that the release gives without this mapping.
            mapped: those with it.
        """
        filled = set(plain.values())
        added = {
            name: target
            for name, target in mapped.items()
            if target not in filled
            and _belongs_to(self.model, target)
            and not _belongs_to(self.model, plain.get(name, ""))
        }
        if added and self.shapes is not None:
            shapes, wanted = self.shapes(), _tensors(self.model)
            added = {name: target for name, target in added.items() if shapes.get(name) == wanted.get(target)}
        return {**plain, **added}


def with_files(mapping: Any, model: Any, weights: Any, files: Any, weights_only: bool, quantizer: Any) -> Any:
    """Let a mapping know what it is used for.

    Args:
        mapping: the result of `mapping_of`, or what the caller gave.
        model: the model.
        weights: the weights by name, or None if they are in files.
        files: paths of the files.
        weights_only: whether files of pickle may contain nothing else.
        quantizer: what quantizes the model, whose files may have other shapes; or None.
    """
    if isinstance(mapping, Inherited):
        mapping.model = model
        if quantizer is None:
            mapping.shapes = lambda: _shapes(weights, files, weights_only)
    return mapping


def _shapes(weights: Any, files: Any, weights_only: bool) -> dict[str, tuple[int, ...]]:
    read = sys.modules["transformers.modeling_utils"].load_state_dict
    parts = (
        [weights]
        if weights is not None
        else (read(file, map_location="meta", weights_only=weights_only) for file in files)
    )
    return {name: tuple(weight.shape) for part in parts for name, weight in part.items()}


def _tensors(model: Any) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor; DeepSpeed has it under another name."""
    tensors = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
    return {name: tuple(getattr(tensor, "ds_shape", tensor.shape)) for name, tensor in tensors}


def _belongs_to(model: Any, name: str) -> bool:
    """Whether a name is one of a tensor of a model, or of what a quantizer or an adapter adds to a module."""
    module = model
    for part in name.split("."):
        if module is None:
            return False
        if part in module._parameters or part in module._buffers:
            return True
        if part not in module._modules:
            return bool(module._parameters or module._buffers or "base_layer" in module._modules)
        module = module._modules[part]
    return False


def mapping_of(cls: Any, known: Iterable[str]) -> Optional[Inherited]:
    """Map names of the Hub to those of a class that extends one of the library.

    Names of the class's own modules are not names of the Hub: a pattern has to match whole parts of a name, and the
    text model of the Hub has layers, embeddings and a norm.

    Args:
        cls: the class.
        known: pieces of the names of the library's classes, in lower case.
    """
    parts = list(known)
    if any(name in cls.__name__.lower() for name in parts):
        return None  # the release itself maps these
    for base in cls.__mro__[1:-1]:
        if is_of_the_library(base) and any(name in base.__name__.lower() for name in parts):
            mapping = vars(base).get("_checkpoint_conversion_mapping")
            if mapping is None or mapping is not cls._checkpoint_conversion_mapping:
                return None
            return Inherited({_whole(pattern): replacement for pattern, replacement in mapping.items()})
    return None


def _whole(pattern: str) -> str:
    is_text = pattern.startswith("^model")
    return pattern + (r"(?=\.(?:layers|embed_tokens|norm)\.)" if is_text else r"(?=\.|$)")
