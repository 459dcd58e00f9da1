"""Remote code that guards its imports as published models do."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.get_imports_guarded_flash_attn import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

# Each in the manner of a file that is on the Hub.
GUARDED = {
    "block": """
if is_flash_attn_2_available():
    from no_such_flash_attn import flash_attn_func, flash_attn_varlen_func
    from no_such_flash_attn.bert_padding import index_first_axis, pad_input, unpad_input
""",
    "comment": """
if is_flash_attn_2_available():
    # the kernels
    from no_such_flash_attn import flash_attn_func
""",
    "signature": """
_flash_supports_window_size = False
if is_flash_attn_2_available():
    import inspect
    from no_such_flash_attn import flash_attn_func
    _flash_supports_window_size = "window_size" in list(inspect.signature(flash_attn_func).parameters)
""",
    "method": """
class Attention:
    def __init__(self):
        if is_flash_attn_2_available() and not is_flash_attn_greater_or_equal_2_10():
            from no_such_flash_attn import flash_attn_func
""",
    "try": """
try:
    from no_such_flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None
""",
    "docstring": '''
"""How to use it:

    from no_such_package import Model
    import no_such_thing
"""
''',
}
HEAD = """
import math
import torch
from transformers.utils import is_flash_attn_2_available
from .configuration import X
"""


@FIX.case(raises="ImportError: This modeling file requires the following packages")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Each file is accepted: the other files of the folder that it needs."""
    from transformers.dynamic_module_utils import check_imports

    results = {}
    with TemporaryDirectory() as folder:
        for name, text in GUARDED.items():
            file = Path(folder, f"{name}.py")
            file.write_text(text + HEAD if name == "docstring" else HEAD + text)
            results[name] = words(*sorted(check_imports(file)))
    return results
