"""Small functions and constants of ``transformers.utils`` are gone.

Symptom   ``ImportError: cannot import name 'is_jax_tensor' from 'transformers.utils'`` from image processors of one's
          own; the same of ``is_tf_tensor``, ``infer_framework``, ``is_ftfy_available``, ``is_ipex_available`` and
          others; of ``PYTORCH_PRETRAINED_BERT_CACHE`` and ``is_offline_mode`` from ``transformers.file_utils``.
Cause     They served TensorFlow, Flax and the cache of earlier releases.
Releases  5.0.0 and later, two of them 5.1.0 and later
Upstream  by design (not put back)
Here      The functions ``is_…_available`` say whether the package is installed, those about tensors whether a value is
          one of that framework, as in 4.57.6; ``is_ipex_available`` does not warn of another torch. The constants
          have the values of 4.57.6, from the same environment variables.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.installed import has, version

FIX = Fix(
    title="ImportError: cannot import name 'is_jax_tensor' from 'transformers.utils'",
    kind="removed-api",
    group="removed-names",
)

UTILS, HUB, IMPORTS = "transformers.utils", "transformers.utils.hub", "transformers.utils.import_utils"
GENERIC, OLD, TOP = "transformers.utils.generic", "transformers.file_utils", "transformers"

PACKAGES = {
    "is_eetq_available": ("eetq", (UTILS,)),
    "is_ftfy_available": ("ftfy", (UTILS, OLD)),
    "is_keras_nlp_available": ("keras_nlp", (UTILS, TOP)),
    "is_tensorflow_probability_available": ("tensorflow_probability", (UTILS, OLD)),
    "is_tensorflow_text_available": ("tensorflow_text", (UTILS, TOP)),
    "is_tf2onnx_available": ("tf2onnx", (UTILS, OLD)),
}
"""The package that a function asks for, and the modules that also offer it."""
LATER = {"is_ftfy_available", "is_ipex_available"}
"""Functions that 5.0.0 still has."""


def _since(name: str) -> str:
    return ">=5.1.0" if name in LATER else ">=5.0.0"


def _asks_for(name: str, package: str, places: tuple[str, ...]) -> None:
    @FIX.adds_made((f"{IMPORTS}:{name}", _since(name)), exported_by=places)
    def function(imports: Any) -> Callable[[], bool]:
        """Whether the package is installed."""

        def is_available() -> bool:
            return has(package)

        is_available.__name__ = is_available.__qualname__ = name
        return is_available


for _name, (_package, _places) in PACKAGES.items():
    _asks_for(_name, _package, _places)


@FIX.adds_made((f"{IMPORTS}:is_ipex_available", _since("is_ipex_available")), exported_by=(UTILS, OLD))
def is_ipex_available(imports: Any) -> Callable[..., bool]:
    """Intel's extension, which works with the torch of its own number."""

    def is_ipex_available(min_version: str = "") -> bool:
        from packaging.version import Version

        numbers = version("intel_extension_for_pytorch"), version("torch")
        if not all(numbers):
            return False
        extension, torch = map(Version, filter(None, numbers))
        is_old = bool(min_version) and extension < Version(min_version)
        return extension.release[:2] == torch.release[:2] and not is_old

    return is_ipex_available


@FIX.adds_made((f"{IMPORTS}:is_torch_compile_available", ">=5.0.0"), exported_by=(UTILS,))
def is_torch_compile_available(imports: Any) -> Callable[[], bool]:
    """Every torch that 5.x takes has it."""

    def is_torch_compile_available() -> bool:
        return bool(imports.is_torch_available())

    return is_torch_compile_available


# -- tensors of other frameworks ---------------------------------------------------------------------------------------


TENSORS = {"is_tf_tensor": ("tensorflow", "Tensor"), "is_jax_tensor": ("jax.numpy", "ndarray")}
"""The class that a function asks for, and its module."""


def _asks_for_a(name: str, module: str, kind: str) -> None:
    @FIX.adds_made((f"{GENERIC}:{name}", ">=5.0.0"), exported_by=(UTILS,))
    def function(generic: Any) -> Callable[[Any], bool]:
        """Whether a value is a tensor of the framework."""

        def is_tensor(x: Any) -> bool:
            return _is_a(x, module, kind)

        is_tensor.__name__ = is_tensor.__qualname__ = name
        is_tensor.__module__ = GENERIC
        return is_tensor


for _name, (_module, _kind) in TENSORS.items():
    _asks_for_a(_name, _module, _kind)


@FIX.adds_made((f"{GENERIC}:is_tf_symbolic_tensor", ">=5.0.0"), exported_by=(UTILS,))
def is_tf_symbolic_tensor(generic: Any) -> Callable[[Any], bool]:
    """A tensor of TensorFlow without a value."""

    def is_tf_symbolic_tensor(x: Any) -> bool:
        return _is_a(x, "tensorflow", "Tensor") and not hasattr(x, "numpy")

    return is_tf_symbolic_tensor


@FIX.adds_made((f"{GENERIC}:infer_framework", ">=5.0.0"), exported_by=(UTILS,))
def infer_framework(generic: Any) -> Callable[[type], str]:
    """``pt``, ``tf`` or ``flax``, for the class of a model."""
    signs = {
        "tf": (("tensorflow", "keras"), "TFPreTrainedModel"),
        "pt": (("torch",), "PreTrainedModel"),
        "flax": (("flax", "jax"), "FlaxPreTrainedModel"),
    }

    def infer_framework(model_class: type) -> str:
        for base in model_class.__mro__:
            for framework, (packages, name) in signs.items():
                if base.__module__.startswith(packages) or base.__name__ == name:
                    return framework
        raise TypeError(f"{model_class} is not a model of torch, TensorFlow or Flax")

    return infer_framework


# -- the hub -----------------------------------------------------------------------------------------------------------


@FIX.adds_made((f"{HUB}:PYTORCH_PRETRAINED_BERT_CACHE", ">=5.0.0"), exported_by=(UTILS, OLD, TOP))
def bert_cache(hub: Any) -> str:
    """The folder of downloads, from an environment variable or the default."""
    return _from_environment("PYTORCH_PRETRAINED_BERT_CACHE") or str(hub.constants.HF_HUB_CACHE)


@FIX.adds_made((f"{HUB}:PYTORCH_TRANSFORMERS_CACHE", ">=5.0.0"), exported_by=(UTILS, OLD, TOP))
def transformers_cache(hub: Any) -> str:
    """The folder of downloads, from one of two environment variables or the default."""
    return _from_environment("PYTORCH_TRANSFORMERS_CACHE") or bert_cache(hub)


@FIX.adds_made((f"{HUB}:default_cache_path", ">=5.0.0"), exported_by=(UTILS, OLD))
def default_cache_path(hub: Any) -> str:
    """The folder of downloads without any environment variable of its own."""
    return str(hub.constants.default_cache_path)


@FIX.adds_made((f"{HUB}:HUGGINGFACE_CO_RESOLVE_ENDPOINT", ">=5.0.0"), exported_by=(UTILS, OLD))
def endpoint(hub: Any) -> str:
    """The address of the hub."""
    set_by_program = _from_environment("HF_ENDPOINT") or _from_environment("HUGGINGFACE_CO_RESOLVE_ENDPOINT")
    return set_by_program or "https://huggingface.co"


@FIX.adds_made((f"{HUB}:HUGGINGFACE_CO_PREFIX", ">=5.0.0"), exported_by=(UTILS, OLD))
def prefix(hub: Any) -> str:
    """The address of a file, with fields for its model, revision and name."""
    return endpoint(hub) + "/{model_id}/resolve/{revision}/{filename}"


@FIX.adds_made((f"{OLD}:is_offline_mode", ">=5.0.0"))
def is_offline_mode(file_utils: Any) -> Any:
    """The function of huggingface_hub."""
    from importlib import import_module

    return import_module("huggingface_hub").is_offline_mode


# ----------------------------------------------------------------------------------------------------------------------
# Below: the environment.


def _from_environment(name: str) -> str:
    from os import environ

    return environ.get(name, "")


def _is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class, whose module must be loaded if it is."""
    import sys

    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
