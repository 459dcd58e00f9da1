"""``is_torch_greater_or_equal_than_1_13`` is missing from ``transformers.pytorch_utils``.

Symptom   ``ImportError: cannot import name 'is_torch_greater_or_equal_than_1_13' from 'transformers.pytorch_utils'``
          from remote code of DeepSeek-V2 and V3, MiniCPM and Hymba.
Cause     The flag was dropped with the support for older versions of torch, and so were those for 1.12 and 2.0.
Releases  4.48.0 and 4.48.1
Upstream  transformers#35734, restored in 4.48.2
Here      The values from 4.48.2 on: the numbers of the version of torch, compared.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_torch_greater_or_equal_than_1_13'",
    kind="removed-api",
    upstream=("transformers#35734",),
    fixed_in="4.48.2",
    group="removed-names",
)

LACKING = ">=4.48.0,<=4.48.1"


@FIX.adds_made(("transformers.pytorch_utils:is_torch_greater_or_equal_than_1_13", LACKING))
def is_torch_greater_or_equal_than_1_13(pytorch_utils: Any) -> bool:
    """The flag, like the existing ones for later versions."""
    return _is_at_least(pytorch_utils, "1.13")


@FIX.adds_made(("transformers.pytorch_utils:is_torch_greater_or_equal_than_1_12", LACKING))
def is_torch_greater_or_equal_than_1_12(pytorch_utils: Any) -> bool:
    """The same for 1.12."""
    return _is_at_least(pytorch_utils, "1.12")


@FIX.adds_made(("transformers.pytorch_utils:is_torch_greater_or_equal_than_2_0", LACKING))
def is_torch_greater_or_equal_than_2_0(pytorch_utils: Any) -> bool:
    """The same for 2.0."""
    return _is_at_least(pytorch_utils, "2.0")


def _is_at_least(pytorch_utils: Any, wanted: str) -> bool:
    from packaging.version import Version

    return bool(pytorch_utils.parsed_torch_version_base >= Version(wanted))
