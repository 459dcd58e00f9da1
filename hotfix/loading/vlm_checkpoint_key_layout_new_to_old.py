"""Weights of a model of text and pictures stand under names of a later release, and are made anew at random.

Symptom   Silent but for "Some weights of … were not initialized from the model checkpoint" or a table of `MISSING`:
          LLaVA and Gemma 3 that 5.6 and later have saved load in 4.x and in 5.0 to 5.5 with a vision tower of random
          weights, in 4.x GPT-NeoX with a random head; what FSDP and DeepSpeed have saved under 4.52 and later
          (`model.language_model.…`) loads in 4.51 and before with nothing but random weights. What 5.4 and 5.5 have
          saved (`model.language_model.model.…`) loads before 5.9 with a language model of random weights, but in 5.4
          and 5.5.
Cause     The modules of these models were put together otherwise in 4.52.1; 5.6.0 has dropped the module `vision_model`
          inside of the vision towers of CLIP and SigLIP, and writes the new names; 5.4 and 5.5 put half of the old name
          into the new one.
Releases  4.36.0 to 5.8.1
Upstream  vllm#19054, Qwen3-VL#1763, sglang#19850 (each reads the layout of before; 5.9.0 reads all of them)
Here      A name that the model does not have, and that is one of its own by exactly one of the known changes, is that
          one, if the file has not got it anyway. A part of a model changes as a whole: where the file has names of this
          release for it, or less than half of it, nothing does. Models that no class of the library describes stay as
          they are. Names alone are changed, file by file; no tensor is copied. Before 4.50.0 nothing is changed where
          layers are kept on disk. All weights are those of the file.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import carefully, is_of_the_library
from hotfix.loading.weight_forms import candidates, renamed
from hotfix.pattern import occurs

FIX = Fix(
    title="Weights of a model of text and pictures stand under names of a later release, and are made anew at random",
    kind="silent",
    upstream=("vllm#19054", "Qwen3-VL#1763", "sglang#19850", "colpali#413"),
    fixed_in="5.9.0",
)

MODULE = "transformers.modeling_utils"
LOAD = "PreTrainedModel._load_pretrained_model"
CONVERT = "convert_and_load_state_dict_in_model"
BEFORE_MAPPING = ">=4.36.0,<=4.49.0"
"""Releases that look names up in several places, and hand the list of them from one to the next."""

_changes: ContextVar[Optional[Mapping[str, str]]] = ContextVar("_changes", default=None)  # in files that are read now


@FIX.recognises
def looks_names_up_as_they_are(first: ast.AST, *more: ast.AST) -> bool:
    """Whether a release takes names as files have them, but for its own old ones."""
    if not isinstance(first, ast.FunctionDef):
        return False
    if first.name == CONVERT:  # 5.9.0, which reads all layouts, names the last of these arguments
        return occurs("rename_source_key(original_key, renamings, converters, prefix, meta_model_state_dict)", first)
    return first.name == "_get_key_renaming_mapping" or "loaded_keys" in {one.arg for one in first.args.args}


@FIX.converts(
    (f"{MODULE}:PreTrainedModel._get_key_renaming_mapping", ">=4.50.0,<=4.57.6"),
    name="key_renaming_mapping",
    at="return key_renaming_mapping",
    given=("self", "checkpoint_keys", "loading_task_model_from_base_state_dict"),
)
def with_names_of_this_release(
    names: dict[str, str], model: Any, in_files: Iterable[str], into_base_model: bool
) -> dict[str, str]:
    """For each name in the files the name in the model.

    Args:
        names: as this release has it.
        model: the model that is loaded.
        in_files: all names; where some begin with the prefix of the base model, 4.50 and 4.51 leave the others out.
        into_base_model: whether the release loads the base model alone, and takes its prefix off every name.
    """

    def changed(names: dict[str, str]) -> dict[str, str]:
        left_out = set(in_files).difference(names)
        if left_out:
            left_out &= model.state_dict().keys() - names.values()
            names = {**names, **{name: name for name in sorted(left_out)}}
        changes = _changed(names, model)
        if into_base_model and not all(one.startswith(f"{model.base_model_prefix}.") for one in changes.values()):
            sentence = f"{FIX.id}: the weights of {type(model).__name__} have names that this release cannot read"
            session.current().log.warn_or_raise(f"{sentence} ({min(changes)}): most of them are made anew at random.")
            return names
        return {**names, **changes}

    return carefully(FIX, "the index of the weights", names, changed)


@FIX.converts(
    (f"transformers.core_model_loading:{CONVERT}", ">=5.0.0,<=5.8.1"),
    name="state_dict",
    at="state_dict = sorted(state_dict.items(), key=lambda kv: dot_natural_key(kv[0]))",
    given=("model", "renamings", "converters", "prefix", "meta_model_state_dict"),
)
def with_names_of_this_model(
    tensors: list[tuple[str, Any]],
    model: Any,
    renamings: Any,
    converters: Any,
    prefix: str,
    expected: Mapping[str, Any],
) -> list[tuple[str, Any]]:
    """Names and tensors; a name that this release would not find gives way to that which the model has.

    Args:
        tensors: what is in the files, not read yet.
        model: the model that is loaded.
        renamings: what this release knows of old names.
        converters: what it knows of weights that have become one.
        prefix: of the base model.
        expected: the names that the model has.
    """

    def changed(tensors: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        from transformers.core_model_loading import rename_source_key

        names, found = {}, set(expected)
        for name, _ in tensors:
            names[name], pattern = rename_source_key(name, renamings, converters, prefix, expected)
            if pattern is not None or name in expected:
                # What several become one of is found by its pattern; what has the model's name already is that.
                names[name] = name
                found.add(name)
            elif names[name] not in expected and expected.keys().isdisjoint(candidates(names[name])):
                names[name] = f"{prefix}.{names[name]}"  # as this release does where the model has that
        changes = _changed(names, model, found)
        # A name of the model's own is looked for as it stands.
        return [(changes.get(name, name), tensor) for name, tensor in tensors]

    return carefully(FIX, "the index of the weights", tensors, changed)


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


def _is_described(cls: type) -> bool:
    """Whether a class is a model of the library, or extends one, and not only what the models of a family share."""
    nearest = next((base for base in cls.__mro__ if is_of_the_library(base)), None)
    return nearest is not None and ".models." in nearest.__module__ and not nearest.__name__.endswith("PreTrainedModel")


def _changed(names: Mapping[str, str], model: Any, expected: Optional[Iterable[str]] = None) -> dict[str, str]:
    if not _is_described(type(model)):
        return {}
    changes = renamed(names, model.state_dict().keys() if expected is None else expected)
    if changes:
        first = next(iter(changes))
        sentence = (
            f"{len(changes)} weights of {type(model).__name__} have names of a later release in the file; {first}"
        )
        session.current().log.log(logging.INFO, f"{FIX.id}: {sentence} is {changes[first]} here.")
    return changes
