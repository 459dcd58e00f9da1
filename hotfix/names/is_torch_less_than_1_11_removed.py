"""Flags for torch 1.8 and 1.11 are gone from ``transformers.pytorch_utils``.

Symptom   ``ImportError: cannot import name 'is_torch_less_than_1_11' from 'transformers.pytorch_utils'``
Cause     The library needs a later torch.
Releases  4.37.0 and later
Upstream  Edge-LLM#1 (not put back)
Here      The version of torch, without what follows its numbers, compared as in 4.36.2.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_torch_less_than_1_11'",
    kind="removed-api",
    upstream=("Edge-LLM#1",),
    group="removed-names",
)


@FIX.adds_made(("transformers.pytorch_utils:is_torch_less_than_1_11", ">=4.37.0"))
def is_torch_less_than_1_11(pytorch_utils: Any) -> bool:
    """Whether torch is older than 1.11."""
    return bool(_torch() < _version("1.11"))


@FIX.adds_made(("transformers.pytorch_utils:is_torch_greater_or_equal_than_1_11", ">=4.37.0"))
def is_torch_greater_or_equal_than_1_11(pytorch_utils: Any) -> bool:
    """Whether it is not."""
    return bool(_torch() >= _version("1.11"))


@FIX.adds_made(("transformers.pytorch_utils:is_torch_1_8_0", ">=4.37.0"))
def is_torch_1_8_0(pytorch_utils: Any) -> bool:
    """Whether it is 1.8.0."""
    return bool(_torch() == _version("1.8.0"))


def _torch() -> Any:
    import torch

    return _version(_version(str(torch.__version__)).base_version)


def _version(text: str) -> Any:
    from packaging.version import Version

    return Version(text)
