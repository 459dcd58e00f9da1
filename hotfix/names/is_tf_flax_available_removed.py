"""``is_tf_available``, ``is_safetensors_available`` and other small names are gone from ``transformers.utils``.

Symptom   ``ImportError: cannot import name 'is_tf_available' from 'transformers.utils'``, or ``'is_flax_available'``,
          ``'is_safetensors_available'``, ``'is_remote_url'``, ``'TRANSFORMERS_CACHE'`` and others, from older optimum,
          diffusers, lmdeploy and remote code.
Cause     TensorFlow and Flax are no longer supported; the names that only they used were removed with them.
Releases  5.0.0 and later
Upstream  lmdeploy#4304 (not put back)
Here      ``is_tf_available`` and ``is_flax_available`` return False: the release has no models for either, and code
          that gets True imports them next. The other functions describe the environment as in 4.57.6. Names of files
          and re-exports are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.installed import has

FIX = Fix(
    title="ImportError: cannot import name 'is_tf_available' from 'transformers.utils'",
    kind="removed-api",
    upstream=("lmdeploy#4304",),
    group="removed-names",
)

LACKING = ">=5.0.0"
UTILS, HUB, IMPORTS = "transformers.utils", "transformers.utils.hub", "transformers.utils.import_utils"
GENERIC, OLD, TOP = "transformers.utils.generic", "transformers.file_utils", "transformers"

FILES = {
    "TF2_WEIGHTS_NAME": "tf_model.h5",
    "TF2_WEIGHTS_INDEX_NAME": "tf_model.h5.index.json",
    "TF_WEIGHTS_NAME": "model.ckpt",
    "FLAX_WEIGHTS_NAME": "flax_model.msgpack",
    "FLAX_WEIGHTS_INDEX_NAME": "flax_model.msgpack.index.json",
}


# -- what is installed -------------------------------------------------------------------------------------------------


@FIX.adds_made((f"{IMPORTS}:is_tf_available", LACKING), exported_by=(UTILS, OLD, TOP))
def is_tf_available(import_utils: Any) -> Callable[[], bool]:
    """TensorFlow: the release has no models for it, installed or not."""

    def is_tf_available() -> bool:
        return False

    return is_tf_available


@FIX.adds_made((f"{IMPORTS}:is_flax_available", LACKING), exported_by=(UTILS, OLD, TOP))
def is_flax_available(import_utils: Any) -> Callable[[], bool]:
    """Flax: the same."""

    def is_flax_available() -> bool:
        return False

    return is_flax_available


@FIX.adds_made((f"{IMPORTS}:is_safetensors_available", LACKING), exported_by=(UTILS, TOP))
def is_safetensors_available(import_utils: Any) -> Callable[[], bool]:
    """5.x needs it."""

    def is_safetensors_available() -> bool:
        return has("safetensors")

    return is_safetensors_available


@FIX.adds_made((f"{IMPORTS}:is_torchdynamo_available", LACKING), exported_by=(UTILS,))
def is_torchdynamo_available(import_utils: Any) -> Callable[[], bool]:
    """Every torch that 5.x takes has it."""

    def is_torchdynamo_available() -> bool:
        return bool(import_utils.is_torch_available())

    return is_torchdynamo_available


@FIX.adds_made((f"{IMPORTS}:is_torch_bf16_available", LACKING), exported_by=(UTILS,))
def is_torch_bf16_available(import_utils: Any) -> Callable[[], bool]:
    """Whether the device has bfloat16; already deprecated in 4.x."""

    def is_torch_bf16_available() -> bool:
        import warnings

        warnings.warn(
            "is_torch_bf16_available is deprecated: use is_torch_bf16_gpu_available or is_torch_bf16_cpu_available.",
            FutureWarning,
            stacklevel=2,
        )
        return bool(import_utils.is_torch_bf16_gpu_available())

    return is_torch_bf16_available


@FIX.adds_made((f"{IMPORTS}:is_auto_gptq_available", LACKING), exported_by=(UTILS,))
def is_auto_gptq_available(import_utils: Any) -> Callable[[], bool]:
    """auto_gptq."""

    def is_auto_gptq_available() -> bool:
        return has("auto_gptq")

    return is_auto_gptq_available


@FIX.adds_made((f"{IMPORTS}:is_auto_awq_available", LACKING), exported_by=(UTILS,))
def is_auto_awq_available(import_utils: Any) -> Callable[[], bool]:
    """A module ``awq`` from any distribution."""

    def is_auto_awq_available() -> bool:
        from importlib.util import find_spec

        return find_spec("awq") is not None

    return is_auto_awq_available


# -- the hub, and names of files ---------------------------------------------------------------------------------------


@FIX.adds_made((f"{HUB}:is_remote_url", LACKING), exported_by=(UTILS,))
def is_remote_url(hub: Any) -> Callable[[Any], bool]:
    """Whether a value is a URL."""

    def is_remote_url(url_or_filename: Any) -> bool:
        from urllib.parse import urlparse

        return urlparse(url_or_filename).scheme in ("http", "https")

    return is_remote_url


@FIX.adds_made((f"{HUB}:TRANSFORMERS_CACHE", LACKING), exported_by=(UTILS,))
def transformers_cache(hub: Any) -> str:
    """The folder of downloads, from one of three environment variables or the default."""
    from os import environ

    for name in ("TRANSFORMERS_CACHE", "PYTORCH_TRANSFORMERS_CACHE", "PYTORCH_PRETRAINED_BERT_CACHE"):
        if name in environ:
            return environ[name]
    return str(hub.constants.HF_HUB_CACHE)


@FIX.adds_made((f"{UTILS}:is_offline_mode", LACKING))
def is_offline_mode(utils: Any) -> Any:
    """The function of huggingface_hub."""
    from importlib import import_module

    return import_module("huggingface_hub").is_offline_mode


@FIX.adds_made((f"{UTILS}:get_full_repo_name", LACKING))
def get_full_repo_name(utils: Any) -> Any:
    """The function of huggingface_hub."""
    from importlib import import_module

    return import_module("huggingface_hub").get_full_repo_name


@FIX.adds_made((f"{GENERIC}:working_or_temp_dir", LACKING), exported_by=(UTILS,))
def working_or_temp_dir(generic: Any) -> Callable[..., Any]:
    """A context manager that returns a folder."""
    from contextlib import contextmanager

    @contextmanager
    def working_or_temp_dir(working_dir: Any, use_temp_dir: bool = False) -> Iterator[Any]:
        if not use_temp_dir:
            yield working_dir
            return
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            yield folder

    return working_or_temp_dir


def _file(name: str) -> None:
    @FIX.adds_made((f"{UTILS}:{name}", LACKING))
    def constant(utils: Any) -> str:
        return FILES[name]


for _name in FILES:
    _file(_name)
