"""A tokenizer whose file or arguments have ``add_special_tokens`` cannot be loaded.

Symptom   ``AttributeError: add_special_tokens conflicts with the method add_special_tokens in PreTrainedTokenizerFast``
          from ``from_pretrained``, for older files (LUAR) and for an argument of the call (ReFinED). Without protobuf,
          an ImportError about that follows it in many releases.
Cause     Names of methods among the arguments are refused: they could not be saved. Older releases took a boolean and
          did nothing with it.
Releases  4.44.0 and later
Upstream  transformers#36032, not repaired
Here      A boolean is left out, and so is not saved. Other values are refused. The results are those of 4.43.4.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: add_special_tokens conflicts with the method add_special_tokens",
    kind="crash",
    upstream=("transformers#36032",),
    errors=("AttributeError: … conflicts with the method … in …",),
    on_error=True,
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase.__init__", ">=4.44.0"),
    old="""
for key in kwargs:
    if hasattr(self, key) and callable(getattr(self, key)):
        raise AttributeError(__REFUSAL)
""",
    new=f"""
for key in list(kwargs):
    if hasattr(self, key) and callable(getattr(self, key)):
        from {__name__} import is_left_out
        if not is_left_out(kwargs[key]):
            raise AttributeError(__REFUSAL)
        del kwargs[key]
""",
)


def is_left_out(value: Any) -> bool:
    """Whether an argument is a boolean, and the program does not handle the ImportError that may follow either."""
    frame: Any = sys._getframe(1)
    while frame is not None and _is_between(str(frame.f_globals.get("__name__"))):
        frame = frame.f_back
    return type(value) is bool and not scope.is_handled(FIX.id, ImportError, frame)


def _is_between(module: str) -> bool:
    """Whether a module is the library's, or ours and no proof, which stands for a program."""
    return module.startswith("transformers.") or (module.startswith("hotfix.") and ".proofs." not in module)
