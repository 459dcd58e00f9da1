"""The proof: training scripts import from the module."""

from typing import Any

import torch

from hotfix.names.transformers_deepspeed_module_removed import FIX, NAMES
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ModuleNotFoundError: No module named 'transformers.deepspeed'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it in each way in which it is imported."""
    import warnings
    from importlib import import_module
    from importlib.util import find_spec

    import transformers

    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exec("from transformers.deepspeed import is_deepspeed_zero3_enabled, HfDeepSpeedConfig", namespace)
        exec("from transformers import deepspeed", namespace)
        exec("import transformers.deepspeed as module", namespace)
        exec(f"from transformers.deepspeed import {', '.join(NAMES)}", namespace)
    module = namespace["module"]
    there = import_module("transformers.integrations.deepspeed")
    return {
        "same": torch.tensor([namespace[name] is getattr(there, name) for name in NAMES]),
        "answer": torch.tensor(namespace["is_deepspeed_zero3_enabled"]()),
        "one module": torch.tensor([module is namespace["deepspeed"], module is transformers.deepspeed]),
        "found": torch.tensor(find_spec("transformers.deepspeed") is not None),
        "lacks": torch.tensor(hasattr(module, "is_deepspeed_zero4_enabled")),
        "listed": torch.tensor(set(NAMES) <= set(dir(module))),
        "called": words(module.__name__, module.__package__),
    }
