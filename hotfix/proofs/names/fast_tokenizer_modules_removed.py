"""The proof: the class is imported from its module, and reads a tokenizer."""

from typing import Any

import torch

from hotfix.names.fast_tokenizer_modules_removed import FIX, NAMES
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ModuleNotFoundError: No module named")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it in each way; it is what the package gives, and a fast tokenizer."""
    import warnings
    from importlib import import_module
    from importlib.util import find_spec

    from transformers import PreTrainedTokenizerBase

    model = target.qualname.removeprefix("tokenization_").removesuffix("_fast")
    path, name = f"{target.module}.{target.qualname}", f"{NAMES[model]}TokenizerFast"
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exec(f"from {path} import {name}", namespace)
        exec(f"from {target.module} import {target.qualname} as module", namespace)
        exec(f"import {path} as same", namespace)
    restored = namespace[name]
    return {
        "the package's": torch.tensor(restored is getattr(import_module("transformers"), name)),
        "one module": torch.tensor(namespace["module"] is namespace["same"]),
        "a tokenizer": torch.tensor(issubclass(restored, PreTrainedTokenizerBase)),
        "found": torch.tensor(find_spec(path) is not None),
        "listed": torch.tensor(name in dir(namespace["module"])),
        "called": words(namespace["module"].__name__, namespace["module"].__package__),
    }
