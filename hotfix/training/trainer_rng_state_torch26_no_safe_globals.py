"""A run cannot be resumed with torch 2.6 or newer: the Trainer does not load its own file.

Symptom   ``_pickle.UnpicklingError: Weights only load failed`` ... ``Unsupported global: GLOBAL
          numpy._core.multiarray._reconstruct was not an allowed global by default`` from
          ``trainer.train(resume_from_checkpoint=True)``.
Cause     From 2.6 on ``torch.load`` takes tensors and little else, unless more is allowed. The state of
          numpy's random numbers, in ``rng_state.pth``, is an array.
Releases  4.36.0 to 4.46.3, with torch 2.6 or newer
Upstream  transformers#34631 (fixed in 4.47.0)
Here      Stock reads the file first. If torch refuses it, the file is read again, and the parts of an array are allowed
          meanwhile, as in 4.47.0; by the names of numpy 1 and of numpy 2, whichever has written it. Globals that the
          program has allowed before stay allowed. (4.47.0 and later allow the names of the numpy that is installed:
          trainer-rng-state-safe-globals-incomplete.)
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="A run cannot be resumed with torch 2.6 or newer: Weights only load failed",
    kind="training",
    needs={"torch": ">=2.6"},
    upstream=("transformers#34631",),
    fixed_in="4.47.0",
    errors=(
        "UnpicklingError: Weights only load failed… "
        "Unsupported global: GLOBAL numpy._core.multiarray._reconstruct was not an allowed global by default.",
    ),
    on_error=("UnpicklingError: Weights only load failed…",),
    prefilter="checkpoint_rng_state = torch.load(rng_file)",
)

_READ = "checkpoint_rng_state = torch.load(rng_file)"

FIX.edits(
    ("transformers.trainer:Trainer._load_rng_state", ">=4.36.0,<=4.46.3"),
    old=_READ,
    new=f"from {__name__} import allowed\nwith allowed():\n    {_READ}",
    unless="safe_globals()",
)


def allowed() -> Any:
    """As long as this is entered, ``torch.load`` takes arrays of whole numbers, and nothing else that it refuses."""
    import numpy
    import torch

    make = numpy.empty(0).__reduce__()[0]  # whichever module this numpy has it in
    both = [(make, f"numpy.{package}.multiarray._reconstruct") for package in ("core", "_core")]
    needed = [*both, numpy.ndarray, numpy.dtype, type(numpy.dtype(numpy.uint32))]
    # It removes its entries on exit, also those that the program has allowed itself.
    known = torch.serialization.get_safe_globals()
    return torch.serialization.safe_globals([name for name in needed if name not in known])
