"""Weights of a model of text and pictures stand under names of a later release, and are made anew at random.

Symptom   Silent but for "Some weights of … were not initialized from the model checkpoint": LLaVA that 5.x has saved
          loads in 4.x with a vision tower of random weights; what FSDP and DeepSpeed have saved under 4.52 and later
          (`model.language_model.…`) loads in 4.50 and 4.51 with nothing but random weights.
Cause     The modules of these models were put together otherwise in 4.52.1; 5.x has dropped the module `vision_model`
          inside of the vision towers of CLIP and SigLIP, and writes the new names.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  vllm#19054, Qwen3-VL#1763, sglang#19850 (4.52.1 reads the layout of before; nothing reads that of later)
Here      A name that the model does not have, and that is one of its own by exactly one of the known changes, is that
          one, if the file has not got it anyway. Names alone are changed, file by file; no tensor is copied. Before
          4.50.0 nothing is changed where layers are kept on disk. All weights are those of the file.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import carefully
from hotfix.loading.weight_forms import renamed

FIX = Fix(
    id="vlm-checkpoint-key-layout-new-to-old",
    title="Weights of a model of text and pictures stand under names of a later release, and are made anew at random",
    kind="silent",
    upstream=("vllm#19054", "Qwen3-VL#1763", "sglang#19850", "colpali#413"),
    fixed_in="5.0.0",
)


MODULE = "transformers.modeling_utils"
LOAD = "PreTrainedModel._load_pretrained_model"
BEFORE_MAPPING = ">=4.36.0,<=4.49.0"
"""Releases that look names up in several places, and hand the list of them from one to the next."""

_changes: ContextVar[Optional[Mapping[str, str]]] = ContextVar("_changes", default=None)  # in files that are read now


@FIX.recognises
def looks_names_up_as_they_are(first: ast.AST, *more: ast.AST) -> bool:
    """Whether a release takes names as files have them, but for its own old ones."""
    if not isinstance(first, ast.FunctionDef):
        return False
    return first.name == "_get_key_renaming_mapping" or "loaded_keys" in {one.arg for one in first.args.args}


@FIX.converts(
    (f"{MODULE}:PreTrainedModel._get_key_renaming_mapping", ">=4.50.0,<=4.57.6"),
    name="key_renaming_mapping",
    at="return key_renaming_mapping",
    given=("self",),
)
def with_names_of_this_release(names: dict[str, str], model: Any) -> dict[str, str]:
    """For each name in the files the name in the model.

    Args:
        names: as this release has it.
        model: the model that is loaded.
    """
    return carefully(FIX, "the index of the weights", names, lambda names: {**names, **_changed(names, model)})


@FIX.wraps((f"{MODULE}:{LOAD}", BEFORE_MAPPING), converts=True)
def with_names_changed_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that reads all files: it gets the names of this release, and each file comes with them."""

    def _load_pretrained_model(
        cls: Any, model: Any, state_dict: Any, loaded_keys: Iterable[str], *args: Any, **kwargs: Any
    ) -> Any:
        names = {name: name for name in loaded_keys}

        def changed(names: dict[str, str]) -> dict[str, str]:
            return {**names, **_changed(names, model)}

        on_disk = "disk" in (kwargs.get("device_map") or {}).values()
        known = names if on_disk else carefully(FIX, "the index of the weights", names, changed)
        found = {name: one for name, one in known.items() if one != name}
        if found:
            loaded_keys = list(known.values())
            state_dict = _with_names(state_dict, found)
        token = _changes.set(found)
        try:
            return original(cls, model, state_dict, loaded_keys, *args, **kwargs)
        finally:
            _changes.reset(token)

    return _load_pretrained_model


@FIX.wraps((f"{MODULE}:load_state_dict", BEFORE_MAPPING), fingerprint_of=(LOAD, "load_state_dict"), converts=True)
def with_names_in_each_file(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that reads one file."""

    def load_state_dict(*args: Any, **kwargs: Any) -> Any:
        return _with_names(original(*args, **kwargs), _changes.get())

    return load_state_dict


def _with_names(tensors: Any, changes: Optional[Mapping[str, str]]) -> Any:
    """The same tensors under other names, in their order."""
    if not tensors or not changes:
        return tensors
    renewed = type(tensors)((changes.get(name, name), one) for name, one in tensors.items())
    if hasattr(tensors, "_metadata"):  # what torch keeps of versions of modules
        renewed._metadata = tensors._metadata
    return renewed


def _changed(names: Mapping[str, str], model: Any) -> dict[str, str]:
    changes = renamed(names, model.state_dict().keys())
    if changes:
        first = next(iter(changes))
        sentence = (
            f"{len(changes)} weights of {type(model).__name__} have names of a later release in the file; {first}"
        )
        session.current().log.log(logging.INFO, f"{FIX.id}: {sentence} is {changes[first]} here.")
    return changes
