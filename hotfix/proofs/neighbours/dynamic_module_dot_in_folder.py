"""The proof: two files of remote code, one of which imports the other, in folders with and without a dot."""

import torch

from hotfix.neighbours.dynamic_module_dot_in_folder import FIX
from hotfix.proofs.testbed import Target, Testbed

FILES = {
    "helping.py": "FACTOR = 3\n",
    "modeling_helped.py": "from .helping import FACTOR\n\n\nclass Helped:\n    factor = FACTOR\n",
}


@FIX.case(raises="ModuleNotFoundError: No module named 'transformers_modules.Model-of-the-test-2")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Take the class from each."""
    import tempfile
    from pathlib import Path

    from transformers import dynamic_module_utils

    factors = {}
    with tempfile.TemporaryDirectory() as home:
        kept, dynamic_module_utils.HF_MODULES_CACHE = dynamic_module_utils.HF_MODULES_CACHE, f"{home}/modules"
        try:
            for name in ("Model-of-the-test-2", "Model-of-the-test-2.6"):
                folder = Path(home, "models", name)
                folder.mkdir(parents=True)
                for file, text in FILES.items():
                    Path(folder, file).write_text(text, encoding="utf-8")
                cls = dynamic_module_utils.get_class_from_dynamic_module("modeling_helped.Helped", str(folder))
                factors[name] = torch.tensor(cls.factor)
        finally:
            dynamic_module_utils.HF_MODULES_CACHE = kept
    return factors
