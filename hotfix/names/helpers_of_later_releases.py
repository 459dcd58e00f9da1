"""Code for later releases imports small functions and constants that this release does not have yet.

Symptom   ``ImportError: cannot import name 'dynamic_rope_update' from 'transformers.modeling_rope_utils'``,
          ``'RopeParameters'``, ``'layer_type_validation'``, ``'flash_attn_supports_top_left_mask'``,
          ``'is_torch_greater_or_equal'``, ``'make_flat_list_of_images'``, ``'AutoModelForImageTextToText'``,
          ``'SizeDict'``, ``'concatenate_list'``, ``'MultiModalData'`` and others, from remote code and scripts for
          later releases.
Cause     They came with 4.45.0 to 5.0.0.
Releases  before the release that has the name
Upstream  the names are new
Here      Each does what it does in the first release that has it. `AutoModelForImageTextToText` knows the model types
          of the release's `AutoModelForVision2Seq`. `layer_type_validation` also takes the number of layers, as from
          4.57.0 on. Flash attention for NPUs is that of the release, which has none.
"""

from __future__ import annotations

from functools import wraps
from itertools import chain
from typing import Any, Callable, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'dynamic_rope_update' from 'transformers.modeling_rope_utils'",
    kind="removed-api",
    fixed_in="5.0.0",
    group="removed-names",
)

AUTO = "transformers.models.auto.modeling_auto"
FLASH = "transformers.modeling_flash_attention_utils"
IMAGES = "transformers.image_utils"
IMPORTS = "transformers.utils.import_utils"
ROPE = "transformers.modeling_rope_utils"

# ---------------------------------------------------------------------------------------------------------------------
# Rotary embeddings, and layers.

LAYER_TYPES = ("full_attention", "sliding_attention", "chunked_attention", "linear_attention")
_NUMBERS = "partial_rotary_factor factor attention_factor beta_fast beta_slow low_freq_factor high_freq_factor"


@FIX.adds_made((f"{ROPE}:RopeParameters", ">=4.43.0,<5.0.0"), only_needed=True)
def rope_parameters(module: Any) -> Any:
    """The keys of the rotary settings, for annotations."""
    import typing

    number, lengths = Optional[float], Optional[list[float]]
    types: dict[str, Any] = {"rope_theta": float, "rope_type": Optional[str]}
    types.update(dict.fromkeys(_NUMBERS.split(), number), original_max_position_embeddings=Optional[int])
    make: Any = typing.TypedDict
    return make("RopeParameters", {**types, "short_factor": lengths, "long_factor": lengths}, total=False)


@FIX.adds_made((f"{ROPE}:dynamic_rope_update", ">=4.43.0,<4.51.0"), only_needed=True)
def dynamic_rope_update(module: Any) -> Callable[..., Any]:
    """A decorator of a ``forward`` that chooses the frequencies by the length of the sequence first."""

    def dynamic_rope_update(rope_forward: Any) -> Any:
        @wraps(rope_forward)
        def forward(self: Any, x: Any, position_ids: Any) -> Any:
            choose = _grown if "dynamic" in self.rope_type else _long if self.rope_type == "longrope" else None
            if choose is not None:
                choose(self, position_ids.max() + 1, x.device)
            return rope_forward(self, x, position_ids)

        return forward

    return dynamic_rope_update


def _long(rope: Any, length: Any, device: Any) -> None:
    """Beyond the length of the training there are other frequencies, which are made once."""
    config = rope.config
    trained = getattr(config, "original_max_position_embeddings", config.max_position_embeddings)
    if length <= trained:
        _original(rope, device)
        return
    if not hasattr(rope, "long_inv_freq"):
        rope.long_inv_freq = rope.rope_init_fn(config, device, seq_len=trained + 1)[0]
    _use(rope, rope.long_inv_freq)


def _grown(rope: Any, length: Any, device: Any) -> None:
    """The frequencies follow the longest sequence until one is within the length of the training again."""
    if length > rope.max_seq_len_cached:
        frequencies, rope.attention_scaling = rope.rope_init_fn(rope.config, device, seq_len=length)
        _use(rope, frequencies)
        rope.max_seq_len_cached = length
    trained = rope.original_max_seq_len
    if length < trained < rope.max_seq_len_cached:
        _original(rope, device)
        rope.max_seq_len_cached = trained


def _original(rope: Any, device: Any) -> None:
    rope.original_inv_freq = rope.original_inv_freq.to(device)  # it is no buffer, and does not move with the model
    _use(rope, rope.original_inv_freq)


def _use(rope: Any, frequencies: Any) -> None:
    rope.register_buffer("inv_freq", frequencies, persistent=False)


@FIX.adds_made(("transformers.configuration_utils:layer_type_validation", "<4.53.0"), only_needed=True)
def layer_type_validation(module: Any) -> Callable[..., None]:
    """A check of the types of layers of a configuration."""

    def layer_type_validation(layer_types: list[str], num_hidden_layers: Optional[int] = None) -> None:
        if not {*layer_types} <= {*LAYER_TYPES}:
            raise ValueError(f"The `layer_types` entries must be in {LAYER_TYPES}")
        if num_hidden_layers not in (None, len(layer_types)):
            raise ValueError(f"`num_hidden_layers` ({num_hidden_layers}), but {len(layer_types)} types of layers")

    return layer_type_validation


# ---------------------------------------------------------------------------------------------------------------------
# What is installed.


@FIX.adds_made((f"{FLASH}:flash_attn_supports_top_left_mask", ">=4.43.0,<4.51.0"), only_needed=True)
def flash_attn_supports_top_left_mask(flash: Any) -> Callable[[], bool]:
    """Whether the package aligns causal masks at the top left, as before 2.1.0."""

    def flash_attn_supports_top_left_mask() -> bool:
        from transformers.utils import is_flash_attn_2_available, is_flash_attn_greater_or_equal_2_10

        return bool(is_flash_attn_2_available()) and not is_flash_attn_greater_or_equal_2_10()

    return flash_attn_supports_top_left_mask


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function under another name."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _installed(package: str) -> Callable[[Any], Callable[[], bool]]:
    """Makes the function that says whether a package is installed."""

    def made(import_utils: Any) -> Callable[[], bool]:
        return _function(f"is_{package}_available", lambda: bool(import_utils._is_package_available(package)))

    return made


for _package, _lacking in (("rich", "<4.50.0"), ("kernels", "<4.52.0")):
    FIX.adds_made(
        (f"{IMPORTS}:is_{_package}_available", _lacking), exported_by=("transformers.utils",), only_needed=True
    )(_installed(_package))


@FIX.adds_made(
    (f"{IMPORTS}:is_torch_greater_or_equal", "<4.47.0"), exported_by=("transformers.utils",), only_needed=True
)
def is_torch_greater_or_equal(import_utils: Any) -> Callable[..., bool]:
    """A comparison with the version of torch."""

    def is_torch_greater_or_equal(library_version: str, accept_dev: bool = False) -> bool:
        from importlib.metadata import version

        from packaging.version import Version

        if not import_utils.is_torch_available():
            return False
        torch = Version(version("torch"))
        return (Version(torch.base_version) if accept_dev else torch) >= Version(library_version)

    return is_torch_greater_or_equal


# ---------------------------------------------------------------------------------------------------------------------
# Pictures and processors.


@FIX.adds_made(("transformers.integrations.fsdp:is_fsdp_enabled", ">=4.46.0,<4.56.0"), only_needed=True)
def is_fsdp_enabled(fsdp: Any) -> Any:
    """The function from the module that had it, which imports this one."""
    from importlib import import_module

    return _function("is_fsdp_enabled", lambda: bool(import_module("transformers.modeling_utils").is_fsdp_enabled()))


@FIX.adds_made(("transformers.processing_utils:Unpack", "<4.45.0"), only_needed=True)
def unpack(processing_utils: Any) -> Any:
    """The annotation, as Python or else ``typing_extensions`` has it."""
    import typing

    if hasattr(typing, "Unpack"):  # Python 3.11
        return typing.Unpack
    from importlib import import_module

    return import_module("typing_extensions").Unpack


def _record(name: str, kind: Any, fields: str, error: type[Exception], **more: Any) -> type:
    """A dataclass with fields that are None by default, and can be read like those of a dictionary.

    Args:
        name: of the class.
        kind: of the fields.
        fields: their names.
        error: for a name that it does not have.
        more: further arguments of `dataclasses.make_dataclass`.
    """
    from dataclasses import field, make_dataclass

    def item(self: Any, key: str) -> Any:
        try:
            return getattr(self, key)
        except AttributeError:
            raise error(f"{name} has no {key}") from None

    namespace = {"__getitem__": item, **more.pop("namespace", {})}
    columns = [(column, kind, field(default=None)) for column in fields.split()]
    return make_dataclass(name, columns, namespace=namespace, **more)


@FIX.adds_made((f"{IMAGES}:SizeDict", "<4.49.0"), only_needed=True)
def size_dict(image_utils: Any) -> type:
    """The size of a picture, as a key for tables."""
    return _record(
        "SizeDict", int, "height width longest_edge shortest_edge max_height max_width", KeyError, frozen=True
    )


@FIX.adds_made(("transformers.processing_utils:MultiModalData", "<4.53.0"), only_needed=True)
def multi_modal_data(processing_utils: Any) -> type:
    """The numbers of tokens and patches that inputs will take."""

    def contains(self: Any, key: str) -> bool:
        return getattr(self, key, None) is not None

    fields = "num_image_tokens num_video_tokens num_audio_tokens num_image_patches"
    return _record("MultiModalData", list[int], fields, AttributeError, namespace={"__contains__": contains})


@FIX.adds_made((f"{IMAGES}:concatenate_list", "<4.52.0"), only_needed=True)
def concatenate_list(image_utils: Any) -> Callable[[Any], Any]:
    """One list, array or tensor of several; None of anything else."""

    def concatenate_list(input_list: Any) -> Any:
        first = input_list[0]
        if isinstance(first, list):
            return list(chain.from_iterable(input_list))
        import numpy as np

        if isinstance(first, np.ndarray):
            return np.concatenate(input_list)
        import torch

        return torch.cat(list(input_list)) if isinstance(first, torch.Tensor) else None

    return concatenate_list


@FIX.adds_made((f"{IMAGES}:load_images", "<4.47.0"), only_needed=True)
def load_images(image_utils: Any) -> Callable[..., Any]:
    """Pictures from addresses, in the lists in which these are."""

    def load_images(images: Any, timeout: Optional[float] = None) -> Any:
        if not isinstance(images, (list, tuple)):
            return image_utils.load_image(images, timeout=timeout)
        is_nested = bool(images) and isinstance(images[0], (list, tuple))
        return [load_images(list(each), timeout) if is_nested else load_images(each, timeout) for each in images]

    return load_images


@FIX.adds_made((f"{IMAGES}:make_flat_list_of_images", "<4.49.0"), only_needed=True)
def make_flat_list_of_images(image_utils: Any) -> Callable[[Any], Any]:
    """All pictures of a picture, a batch, or lists of them."""

    def is_picture(image: Any) -> bool:
        return bool(image_utils.is_valid_image(image))

    def are_pictures(images: Any) -> bool:
        return isinstance(images, (list, tuple)) and bool(images) and all(map(is_picture, images))

    def make_flat_list_of_images(images: Any) -> Any:
        is_list = isinstance(images, (list, tuple))
        if is_list and all(map(are_pictures, images)):
            return [image for batch in images for image in batch]
        dimensions = getattr(images[0] if are_pictures(images) else images, "ndim", 3)  # a PIL image has none
        if dimensions == 3 and (are_pictures(images) or is_picture(images)):
            return images if is_list else [images]
        if dimensions == 4 and are_pictures(images):
            return [image for batch in images for image in batch]
        if dimensions == 4 and is_picture(images):
            return list(images)
        raise ValueError(f"Could not make a flat list of images from {images}")

    return make_flat_list_of_images


@FIX.adds_made((f"{AUTO}:AutoModelForImageTextToText", "<4.46.0"), exported_by=("transformers",), only_needed=True)
def auto_class(auto: Any) -> type:
    """The class, built like its neighbours."""
    names = type(auto.MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES)(auto.MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES)
    mapping = type(auto.MODEL_MAPPING)(auto.CONFIG_MAPPING_NAMES, names)
    members = {"_model_mapping": mapping, "__module__": AUTO}
    made = type("AutoModelForImageTextToText", (auto._BaseAutoModelClass,), members)
    updated: type = auto.auto_class_update(made, head_doc="image-text-to-text modeling")
    return updated


# ---------------------------------------------------------------------------------------------------------------------
# Constants.

for _name, _value in (
    ("CHAT_TEMPLATE_FILE", "chat_template.jinja"),
    ("CHAT_TEMPLATE_DIR", "additional_chat_templates"),
):
    FIX.adds_made((f"transformers.utils:{_name}", "<4.52.0"), only_needed=True)(lambda utils, value=_value: value)
