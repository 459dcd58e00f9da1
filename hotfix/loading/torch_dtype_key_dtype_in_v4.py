"""The dtype that a checkpoint was saved in is not read from its configuration.

Symptom   Silent. `config.torch_dtype` is None although `config.json` has ``"dtype": "bfloat16"``.
          `AutoModel.from_config` builds a model in float32, and other readers of the configuration (serving engines,
          adapters) use a default.
Cause     4.56.0 renamed the key. Files written since have only `dtype`, an unknown attribute for older releases.
Releases  4.36.0 to 4.55.4
Upstream  transformers#39782 (4.56.0 reads both)
Here      In a file that 4.56 or later wrote, the key gets its old name as well before the configuration is built, also
          in sub-configurations. A file with both keys is read as before, and so is every file of a configuration class
          of your own. Equal to `config.dtype` of 4.56.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import translated
from hotfix.loading.forms import Rule

FIX = Fix(
    title="config.torch_dtype is None for checkpoints saved by transformers 4.56 or later",
    kind="silent",
    upstream=("transformers#39782",),
    fixed_in="4.56.0",
    optin="it changes the dtype of every model that is built from a configuration alone, and a program may need "
    "the float32 that it gets without hotfix",
)

CLASS = "PretrainedConfig"
FROM_DICT = f"transformers.configuration_utils:{CLASS}.from_dict"


@FIX.converts(
    (FROM_DICT, ">=4.36.0,<=4.55.4"),
    name="config_dict",
    at="config = cls(**config_dict)",
    given=("cls", "kwargs"),
    unless="self.dtype = __DTYPE",
    fingerprint_of=(f"{CLASS}.from_dict", f"{CLASS}.__init__"),
)
def with_dtype_of_this_release(config: Mapping[str, Any], cls: type, given: dict[str, Any]) -> Mapping[str, Any]:
    """Add `torch_dtype` to a configuration.

    Args:
        config: the content of the file.
        cls: the configuration class.
        given: the caller's keyword arguments.
    """
    return translated(FIX, frozenset({Rule.DTYPE}), config, cls, given)
