"""The proof: older frameworks ask what there is, and import names of files."""

import warnings
from importlib import import_module
from typing import Any

import torch

from hotfix.names.is_tf_flax_available_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one, and ask it."""
    restored = ask(target)
    if isinstance(restored, str):
        text = restored if target.qualname != "TRANSFORMERS_CACHE" else f"{restored == _cache()}"
        return {"text": words(text), "listed": listed(target)}
    if target.qualname in USES:
        answers = USES[target.qualname](restored)
    else:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            answers = {"answer": torch.tensor(restored())}
        answers["warnings"] = words(*(warning.category.__name__ for warning in seen))
    return {**answers, "listed": listed(target), "pickled": same_when_pickled(restored)}


def _cache() -> Any:
    return import_module("huggingface_hub").constants.HF_HUB_CACHE


def _addresses(is_remote_url: Any) -> dict[str, torch.Tensor]:
    texts = ("https://example.org/a", "http://example.org", "ftp://example.org", "/a/b", "a/b", "", "httpsfolder")
    return {"answers": torch.tensor([is_remote_url(text) for text in texts])}


def _folders(working_or_temp_dir: Any) -> dict[str, torch.Tensor]:
    from pathlib import Path

    with working_or_temp_dir("here") as own, working_or_temp_dir("here", use_temp_dir=True) as other:
        seen = [own == "here", other == "here", Path(other).is_dir()]
    return {"seen": torch.tensor([*seen, Path(other).is_dir()])}


def _same(function: Any) -> dict[str, torch.Tensor]:
    return {"same": torch.tensor(function is getattr(import_module("huggingface_hub"), function.__name__))}


def _offline(is_offline_mode: Any) -> dict[str, torch.Tensor]:
    return {"answer": torch.tensor(bool(is_offline_mode()))}


USES = {
    "is_remote_url": _addresses,
    "working_or_temp_dir": _folders,
    "get_full_repo_name": _same,
    "is_offline_mode": _offline,
}
