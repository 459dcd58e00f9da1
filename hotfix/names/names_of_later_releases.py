"""Code for 5.x imports names that 4.x does not have yet.

Symptom   ``ImportError: cannot import name 'PreTrainedConfig' from 'transformers'``, ``'TokenizersBackend'``,
          ``'initialization'``, ``'AutoModelForMultimodalLM'``, ``'TransformersKwargs'``, ``'maybe_autocast'`` and
          others, from remote code and scripts for 5.x; ``AttributeError: 'AttentionInterface' object has no attribute
          'get_interface'``.
Cause     5.0.0 renamed classes, and gave small functions of the models a name.
Releases  before the release that has the name: most of them before 5.0.0
Upstream  the names came with 4.50.0 to 5.1.0
Here      A renamed class is an alias. A function does what it does in the first release that has it; decorators that
          only write documentation or mark a kernel return what they decorate, as they do without the package
          ``kernels``. `AutoModelForMultimodalLM` knows the model types of the release's
          `AutoModelForImageTextToText` (before 4.46.1 `AutoModelForVision2Seq`), and those of sound that it has.
          What needs an algorithm of a later release (``capture_outputs``, ``create_bidirectional_mask``) is not there.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'PreTrainedConfig' from 'transformers'",
    kind="removed-api",
    fixed_in="5.0.0",
    group="removed-names",
    errors=(
        "AttributeError: 'AttentionInterface' object has no attribute 'get_interface'",
        "AttributeError: '…' object has no attribute 'get_parameter_or_buffer'",
    ),
)

BEFORE_5 = ">=4.36.0,<5.0.0"
AUTO = "transformers.models.auto.modeling_auto"
INITIALIZERS = """
    constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_ trunc_normal_ uniform_
    xavier_normal_ xavier_uniform_ zeros_
"""
SOUND = {
    "granite_speech": "GraniteSpeechForConditionalGeneration",
    "kyutai_speech_to_text": "KyutaiSpeechToTextForConditionalGeneration",
    "phi4_multimodal": "Phi4MultimodalForCausalLM",
    "qwen2_5_omni": "Qwen2_5OmniForConditionalGeneration",
    "qwen2_audio": "Qwen2AudioForConditionalGeneration",
    "qwen3_omni_moe": "Qwen3OmniMoeForConditionalGeneration",
    "voxtral": "VoxtralForConditionalGeneration",
}
"""The classes of `AutoModelForMultimodalLM` that take sound, by model type."""
PACKED = {"cu_seq_lens_q": None, "cu_seq_lens_k": None, "max_length_q": int, "max_length_k": int}
"""Types by key; None stands for a tensor."""
OF_A_FORWARD = {
    "num_items_in_batch": None,
    "output_hidden_states": bool,
    "output_attentions": bool,
    "output_router_logits": bool,
}

# ---------------------------------------------------------------------------------------------------------------------
# Renamed classes.

FIX.adds_made(
    ("transformers.configuration_utils:PreTrainedConfig", BEFORE_5), exported_by=("transformers",), only_needed=True
)(lambda configuration_utils: configuration_utils.PretrainedConfig)


def _module(file: str, name: str, original: str, leaf: str) -> Callable[[Any], Any]:
    """A module with a class of another module under another name; it imports nothing before first use."""

    def made(transformers: Any) -> Any:
        from importlib import import_module
        from importlib.machinery import ModuleSpec
        from types import ModuleType

        module = ModuleType(f"transformers.{file}", f"{name}, under the name that 5.x has for it.")
        module.__spec__ = ModuleSpec(module.__name__, None, origin="hotfix")
        module.__package__ = "transformers"

        def ask(asked: str) -> Any:
            if asked not in (name, original):
                raise AttributeError(f"module {module.__name__!r} has no attribute {asked!r}")
            return getattr(import_module(f"transformers.{leaf}"), original)

        vars(module).update(__getattr__=ask, __all__=[name])
        return module

    return made


def _under(name: str) -> Callable[[Any], Any]:
    """A function that returns a class of a module by its name."""

    def of_the_release(module: Any) -> Any:
        return getattr(module, name)

    return of_the_release


for _name, _original, _leaf, _file in (
    ("TokenizersBackend", "PreTrainedTokenizerFast", "tokenization_utils_fast", "tokenization_utils_tokenizers"),
    ("PythonBackend", "PreTrainedTokenizer", "tokenization_utils", "tokenization_python"),
):
    FIX.adds_modules((f"transformers:{_file}", BEFORE_5))(_module(_file, _name, _original, _leaf))
    FIX.adds_made((f"transformers.{_leaf}:{_name}", BEFORE_5), exported_by=("transformers",), only_needed=True)(
        _under(_original)
    )

# ---------------------------------------------------------------------------------------------------------------------
# Initialization.


@FIX.adds_modules(("transformers:initialization", BEFORE_5))
def initialization(transformers: Any) -> Any:
    """The functions of `torch.nn.init`, which leave tensors alone that are marked as loaded. It imports torch late."""
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    module = ModuleType("transformers.initialization", "Initializers that leave loaded tensors alone.")
    module.__spec__ = ModuleSpec(module.__name__, None, origin="hotfix")
    module.__package__ = "transformers"

    def fill(name: str, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(tensor, "_is_hf_initialized", False):
            return tensor
        import torch

        # Looked up at each call: from_pretrained replaces them for a while.
        function = tensor.copy_ if name == "copy_" else partial(getattr(torch.nn.init, name), tensor)
        with torch.no_grad():
            return function(*args, **kwargs)

    functions = {name: partial(fill, name) for name in ("copy_", *INITIALIZERS.split())}
    vars(module).update(functions, __all__=[*functions])
    return module


# ---------------------------------------------------------------------------------------------------------------------
# Attention, and parts of models.


@FIX.adds(("transformers.modeling_utils:AttentionInterface.get_interface", ">=4.51.0,<5.1.0"))
def get_interface(self: Any, attn_implementation: Optional[str], default: Any) -> Any:
    """The attention function of a name.

    Args:
        self: the attention functions.
        attn_implementation: the name, or None.
        default: the function for "eager" and None.

    Raises:
        KeyError: there is no function of this name.
    """
    if attn_implementation not in (None, "eager") and attn_implementation not in self:
        raise KeyError(f"`{attn_implementation}` is not an attention implementation of the `AttentionInterface`")
    return self.get(attn_implementation, default)


@FIX.adds(("transformers.modeling_utils:PreTrainedModel.get_parameter_or_buffer", "<4.50.0"))
def get_parameter_or_buffer(self: Any, target: str) -> Any:
    """The parameter or the buffer of a path, or the extra state of a module.

    Args:
        self: the model.
        target: the path, with dots.

    Raises:
        AttributeError: it is none of them.
    """
    path, _, name = target.rpartition(".")
    module = self.get_submodule(path)
    for tensors in (module._parameters, module._buffers):
        if tensors.get(name) is not None:
            return tensors[name]
    import torch

    if name == "_extra_state" and type(module).get_extra_state is not torch.nn.Module.get_extra_state:
        return module.get_extra_state()
    raise AttributeError(f"`{target}` is neither a parameter, buffer, nor extra state.")


@FIX.adds_made(("transformers.utils.generic:maybe_autocast", BEFORE_5), only_needed=True)
def maybe_autocast(generic: Any) -> Callable[..., Any]:
    """A context with `torch.autocast` only where that changes something."""

    def maybe_autocast(
        device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Optional[bool] = None
    ) -> Any:
        from contextlib import nullcontext

        import torch

        if device_type == "meta" or not (enabled or _autocasts(device_type)):
            return nullcontext()
        return torch.autocast(device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    return maybe_autocast


def _autocasts(device_type: str) -> bool:
    import torch

    if hasattr(torch, "get_autocast_dtype"):  # torch 2.4
        return bool(torch.is_autocast_enabled(device_type))
    return bool(torch.is_autocast_cpu_enabled() if device_type == "cpu" else torch.is_autocast_enabled())


@FIX.adds_made(("transformers.utils.generic:is_flash_attention_requested", BEFORE_5), only_needed=True)
def is_flash_attention_requested(generic: Any) -> Callable[..., bool]:
    """Whether a name, or the one of a configuration, is that of a flash attention."""

    def is_flash_attention_requested(config: Any = None, requested_attention_implementation: Any = None) -> bool:
        if config is not None:
            if requested_attention_implementation is not None:
                raise ValueError("Pass either the config or the name of the attention implementation, not both.")
            requested_attention_implementation = config._attn_implementation
        return "flash" in (requested_attention_implementation or "")

    return is_flash_attention_requested


# ---------------------------------------------------------------------------------------------------------------------
# Decorators, and classes for annotations.


OUTERMOST = "_is_top_level_module"
"""An attribute that 4.51.3 sets to False while an outer module runs."""


@FIX.adds_made(
    ("transformers.utils.generic:can_return_tuple", "<4.51.0"), exported_by=("transformers.utils",), only_needed=True
)
def can_return_tuple(generic: Any) -> Callable[..., Any]:
    """A decorator: the output is a tuple if ``return_dict=False`` is passed, or by the configuration.

    The second only in the outermost of modules that have it, as in 4.51.3.
    """

    def can_return_tuple(func: Any) -> Any:
        @wraps(func)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            is_wanted = kwargs.pop("return_dict", True) is False
            is_outermost = hasattr(self, "config") and self.config.use_return_dict is False
            is_outermost = is_outermost and getattr(self, OUTERMOST, True)
            for module in self.modules() if is_outermost else ():
                setattr(module, OUTERMOST, False)
            try:
                output = func(self, *args, **kwargs)
                return output.to_tuple() if is_wanted or is_outermost else output
            finally:
                for module in self.modules() if is_outermost else ():
                    if hasattr(module, OUTERMOST):
                        delattr(module, OUTERMOST)

        return call

    return can_return_tuple


@FIX.adds_made(("transformers.utils:auto_docstring", "<4.52.0"), only_needed=True)
def auto_docstring(utils: Any) -> Callable[..., Any]:
    """A decorator, with and without arguments, that writes documentation in later releases."""

    def auto_docstring(obj: Any = None, **texts: Any) -> Any:
        return (lambda documented: documented) if obj is None else obj

    return auto_docstring


def _marks(name: str) -> Callable[[Any], Any]:
    """A decorator that marks a class for a kernel from the Hub."""

    def made(integrations: Any) -> Callable[..., Any]:
        def mark(*args: Any, **kwargs: Any) -> Any:
            return lambda cls: cls

        mark.__name__ = mark.__qualname__ = name
        return mark

    return made


for _name, _lacking in (
    ("use_kernel_forward_from_hub", "<4.50.0"),
    ("use_kernel_func_from_hub", BEFORE_5),
    ("use_kernelized_func", BEFORE_5),
):
    FIX.adds_made((f"transformers.integrations:{_name}", _lacking), only_needed=True)(_marks(_name))


def _typed(name: str, keys: dict[str, Any]) -> Callable[[Any], Any]:
    """A TypedDict without required keys."""

    def made(module: Any) -> Any:
        import typing

        make: Any = typing.TypedDict
        reference: Any = typing.ForwardRef("torch.Tensor")  # torch is not imported for an annotation
        types = {key: Optional[kind or reference] for key, kind in keys.items()}
        return make(name, types, total=False)

    return made


FIX.adds_made(
    ("transformers.modeling_flash_attention_utils:FlashAttentionKwargs", ">=4.43.0,<4.47.0"), only_needed=True
)(_typed("FlashAttentionKwargs", PACKED))
FIX.adds_made(
    ("transformers.utils.generic:TransformersKwargs", "<4.54.0"), exported_by=("transformers.utils",), only_needed=True
)(_typed("TransformersKwargs", {**OF_A_FORWARD, **PACKED}))

# ---------------------------------------------------------------------------------------------------------------------
# The Auto class for every kind of input.


@FIX.adds_made((f"{AUTO}:AutoModelForMultimodalLM", BEFORE_5), exported_by=("transformers",), only_needed=True)
def auto_class(auto: Any) -> type:
    """The class, built like its neighbours."""
    pictures = getattr(auto, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", auto.MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES)
    sound = [(kind, name) for kind, name in SOUND.items() if kind in auto.CONFIG_MAPPING_NAMES]
    mapping = type(auto.MODEL_MAPPING)(auto.CONFIG_MAPPING_NAMES, type(pictures)([*pictures.items(), *sound]))
    made: type = auto.auto_class_update(
        type("AutoModelForMultimodalLM", (auto._BaseAutoModelClass,), {"_model_mapping": mapping, "__module__": AUTO}),
        head_doc="multimodal generation",
    )
    return made
