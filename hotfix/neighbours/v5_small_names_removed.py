"""``isin_mps_friendly`` is gone.

Symptom   ``ImportError: cannot import name 'isin_mps_friendly' from 'transformers.pytorch_utils'`` (Coqui XTTS and
          others with a copy of ``generate``).
Cause     It was for torch before 2.4.
Releases  5.1.0 and later
Upstream  not put back
Here      As in 4.57.6, for the torch that 5.x requires. ``download_url``, which went with it, is not given back: it
          downloads.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'isin_mps_friendly' from 'transformers.pytorch_utils'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.pytorch_utils:isin_mps_friendly", ">=5.1.0"))
def made(pytorch_utils: Any) -> Callable[..., Any]:
    """A function that calls `torch.isin`, which takes a number as well."""

    def isin_mps_friendly(elements: Any, test_elements: Any) -> Any:
        return pytorch_utils.torch.isin(elements, test_elements)

    return isin_mps_friendly
