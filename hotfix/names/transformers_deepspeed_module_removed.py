"""The module ``transformers.deepspeed`` is gone.

Symptom   ``ModuleNotFoundError: No module named 'transformers.deepspeed'`` from the training scripts of FastChat,
          LLaVA, Qwen and LMFlow: ``from transformers.deepspeed import is_deepspeed_zero3_enabled``.
Cause     It was a deprecated name of ``transformers.integrations.deepspeed``.
Releases  4.46.1 and later
Upstream  transformers#34582 (not put back)
Here      A module of that name with its ten names. On first use it imports the other module and warns, as before.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.modules import given_back

FIX = Fix(
    title="ModuleNotFoundError: No module named 'transformers.deepspeed'",
    kind="removed-api",
    upstream=("transformers#34582",),
    group="removed-names",
)

NAMES = (
    "HfDeepSpeedConfig",
    "HfTrainerDeepSpeedConfig",
    "deepspeed_config",
    "deepspeed_init",
    "deepspeed_load_checkpoint",
    "deepspeed_optim_sched",
    "is_deepspeed_available",
    "is_deepspeed_zero3_enabled",
    "set_hf_deepspeed_config",
    "unset_hf_deepspeed_config",
)


@FIX.adds_modules(("transformers:deepspeed", ">=4.46.1"))
def deepspeed(transformers: Any) -> ModuleType:
    """The module."""

    def find(name: str) -> Any:
        return getattr(import_module("transformers.integrations.deepspeed"), name)

    return given_back("transformers.deepspeed", NAMES, "transformers.integrations", find)
