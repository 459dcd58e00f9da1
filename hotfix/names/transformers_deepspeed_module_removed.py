"""The module ``transformers.deepspeed`` is gone.

Symptom   ``ModuleNotFoundError: No module named 'transformers.deepspeed'`` from the training scripts of FastChat,
          LLaVA, Qwen and LMFlow: ``from transformers.deepspeed import is_deepspeed_zero3_enabled``.
Cause     It was a deprecated name of ``transformers.integrations.deepspeed``.
Releases  4.46.1 to 5.23.0
Upstream  transformers#34582 (not put back)
Here      A module of that name with the ten names that it had. It imports the other one when it is first asked for one
          of them, and then gives the warning that it gave.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    id="transformers-deepspeed-module-removed",
    title="ModuleNotFoundError: No module named 'transformers.deepspeed'",
    kind="removed-api",
    upstream=("transformers#34582",),
    optin=True,
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


@FIX.adds_made(("transformers:deepspeed", ">=4.46.1"))
def deepspeed(transformers: Any) -> Any:
    """The module."""
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    module = ModuleType("transformers.deepspeed", "Another name of transformers.integrations.deepspeed.")
    module.__spec__ = ModuleSpec(module.__name__, None, origin="hotfix")
    module.__package__ = "transformers"

    def ask(name: str) -> Any:
        if name not in NAMES:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        import warnings
        from importlib import import_module

        warnings.warn(
            "transformers.deepspeed is gone from this release and given back by hotfix: "
            "import from transformers.integrations instead.",
            FutureWarning,
            stacklevel=2,
        )
        there = import_module("transformers.integrations.deepspeed")
        vars(module).update({one: getattr(there, one) for one in NAMES})
        return vars(module)[name]

    vars(module).update(__getattr__=ask, __dir__=lambda: sorted(NAMES), __all__=list(NAMES))
    return module
