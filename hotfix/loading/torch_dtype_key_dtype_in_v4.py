"""The dtype that a checkpoint was saved in is not read from its configuration.

Symptom   Silent. `config.torch_dtype` is None where `config.json` says ``"dtype": "bfloat16"``: `AutoModel.from_config`
          makes a model in float32, and what goes by the configuration (serving engines, adapters) takes its default.
Cause     4.56.0 renamed the key; what was written since has `dtype` alone, which older releases take for an attribute
          that they do not know.
Releases  4.36.0 to 4.55.4
Upstream  transformers#39782 (4.56.0 reads both)
Here      In a file that 4.56 or later wrote, the key has its old name as well before a configuration of the library is
          made of it, in sub-configurations, too. A file that has both keys is read as before, and so is every file of a
          configuration class of your own. Equal to `config.dtype` of 4.56.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import translated
from hotfix.loading.forms import Rule

FIX = Fix(
    title="The dtype that a checkpoint was saved in is not read from its configuration",
    kind="silent",
    upstream=("transformers#39782",),
    fixed_in="4.56.0",
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
    """A configuration with `torch_dtype`.

    Args:
        config: what was read.
        cls: the configuration class.
        given: what the caller has passed by keyword.
    """
    return translated(FIX, frozenset({Rule.DTYPE}), config, cls, given)
