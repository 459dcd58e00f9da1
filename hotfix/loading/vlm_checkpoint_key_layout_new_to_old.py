"""Weights of a vision-language model have names of a later release, and are initialized at random.

Symptom   Silent except for "Some weights of … were not initialized from the model checkpoint" or a table of `MISSING`:
          LLaVA and Gemma 3 saved by 5.6 and later load in 4.x and in 5.0 to 5.5 with a random vision tower, and
          GPT-NeoX in 4.x with a random head. Files of FSDP and DeepSpeed under 4.52 and later
          (`model.language_model.…`) load in 4.51 and before with random weights only. Files of 5.4 and 5.5
          (`model.language_model.model.…`) load before 5.9, except in 5.4 and 5.5, with a random language model.
Cause     4.52.1 rearranged the modules of these models. 5.6.0 removed the module `vision_model` from the vision towers
          of CLIP and SigLIP, and writes the new names. 5.4 and 5.5 mix the old and the new name.
Releases  4.36.0 to 5.8.1
Upstream  vllm#19054, Qwen3-VL#1763, sglang#19850 (each reads the older layout; 5.9.0 reads all of them)
Here      A name that the model lacks is replaced by one of the model's names, if exactly one of the known changes leads
          to it and the file does not have it. A part of a model changes as a whole: if the file has names of this
          release for it, or less than half of it, nothing changes. Models that are neither of nor derived from a model
          class of the library stay as they are, and so do modules to which a subclass gives another shape, and names
          that a ``key_mapping`` or a method of the program's has changed. Only names change, file by file; no tensor is
          copied. Before 4.50.0 nothing changes if layers are offloaded to disk. All weights are those of the file.
"""

from __future__ import annotations

import ast
import copy
import logging
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import carefully, is_of_the_library
from hotfix.loading.weight_forms import candidates, renamed
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="LLaVA, Gemma 3 and others: Some weights were not initialized, from a checkpoint of a later transformers",
    kind="silent",
    upstream=("vllm#19054", "Qwen3-VL#1763", "sglang#19850", "colpali#413"),
    fixed_in="5.9.0",
)

MODULE = "transformers.modeling_utils"
LOAD = "PreTrainedModel._load_pretrained_model"
CONVERT = "convert_and_load_state_dict_in_model"
BEFORE_MAPPING = ">=4.36.0,<=4.49.0"
"""Releases that look names up in several places, and pass a list of them on."""

_changes: ContextVar[Optional[Mapping[str, str]]] = ContextVar(
    "_changes", default=None
)  # names in the files that are being read


@FIX.recognises
def looks_names_up_as_they_are(first: ast.AST, *more: ast.AST) -> bool:
    """Whether a release looks up the names in files as they are, except for its own old ones."""
    if not isinstance(first, ast.FunctionDef):
        return False
    if first.name == CONVERT:  # 5.9.0, which reads all layouts, passes the last argument by keyword
        return occurs("rename_source_key(original_key, renamings, converters, prefix, meta_model_state_dict)", first)
    return first.name == "_get_key_renaming_mapping" or "loaded_keys" in {argument.arg for argument in first.args.args}


@FIX.converts(
    (f"{MODULE}:PreTrainedModel._get_key_renaming_mapping", ">=4.50.0,<=4.57.6"),
    name="key_renaming_mapping",
    at="return key_renaming_mapping",
    given=("self", "checkpoint_keys", "key_mapping", "loading_task_model_from_base_state_dict"),
)
def with_names_of_this_release(
    names: dict[str, str], model: Any, in_files: Iterable[str], mapping: Any, into_base_model: bool
) -> dict[str, str]:
    """Map each name in the files to the name in the model.

    Args:
        names: the map of this release.
        model: the model that is being loaded.
        in_files: all names; if some begin with the prefix of the base model, 4.50 and 4.51 ignore the others.
        mapping: the argument ``key_mapping``, or what a class of the library has in its place.
        into_base_model: whether the release loads the base model only, and removes its prefix from every name.
    """

    def changed(names: dict[str, str]) -> dict[str, str]:
        left_out = sorted(set(in_files).difference(names) & (model.state_dict().keys() - names.values()))
        kept = _renamed_by_the_program(names, model, mapping)
        changes = _changed({**names, **dict(zip(left_out, left_out))}, model, kept=kept)
        is_whole = is_of_the_library(type(model)) and hasattr(model.config, "text_config")
        if not changes and not is_whole:
            return names  # then the release leaves names out with reason, such as the head of another task
        if into_base_model and not all(new.startswith(f"{model.base_model_prefix}.") for new in changes.values()):
            sentence = f"{FIX.id}: the weights of {type(model).__name__} have names that this release cannot read"
            session.current().log.warn_or_raise(f"{sentence} ({min(changes)}): most of them are initialized at random.")
            return names
        return {**names, **(dict(zip(left_out, left_out)) if is_of_the_library(type(model)) else {}), **changes}

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
    """Replace names that this release would not find by those of the model.

    Args:
        tensors: names and tensors in the files, not read yet.
        model: the model that is being loaded.
        renamings: this release's table of old names.
        converters: its table of weights that are merged.
        prefix: prefix of the base model.
        expected: names in the model.
    """

    def changed(tensors: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        from transformers.core_model_loading import rename_source_key

        names, wanted = {}, set(expected)
        for name, _ in tensors:
            names[name], pattern = rename_source_key(name, renamings, converters, prefix, expected)
            if pattern is not None or name in expected:
                # A weight that is merged matches its pattern; a name of the model stays.
                names[name] = name
                wanted.add(name)
            elif names[name] not in expected and expected.keys().isdisjoint(candidates(names[name])):
                names[name] = f"{prefix}.{names[name]}"  # as this release does if the model has that name
        changes = _changed(names, model, wanted)
        # This release looks for a name of the model as it is.
        return [(changes.get(name, name), tensor) for name, tensor in tensors]

    return carefully(FIX, "the index of the weights", tensors, changed)


@FIX.wraps((f"{MODULE}:{LOAD}", BEFORE_MAPPING), converts=True)
def with_names_changed_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give the method that reads all files the names of this release."""

    def _load_pretrained_model(
        cls: Any, model: Any, state_dict: Any, loaded_keys: Iterable[str], *args: Any, **kwargs: Any
    ) -> Any:
        names = {name: name for name in loaded_keys}

        def changed(names: dict[str, str]) -> dict[str, str]:
            return {**names, **_changed(names, model)}

        on_disk = "disk" in (kwargs.get("device_map") or {}).values()
        known = names if on_disk else carefully(FIX, "the index of the weights", names, changed)
        changes = {name: new for name, new in known.items() if new != name}
        if changes:
            loaded_keys = list(known.values())
            state_dict = _with_names(state_dict, changes)
        token = _changes.set(changes)
        try:
            return original(cls, model, state_dict, loaded_keys, *args, **kwargs)
        finally:
            _changes.reset(token)

    return _load_pretrained_model


@FIX.wraps((f"{MODULE}:load_state_dict", BEFORE_MAPPING), fingerprint_of=(LOAD, "load_state_dict"), converts=True)
def with_names_in_each_file(original: Callable[..., Any]) -> Callable[..., Any]:
    """Rename the tensors of each file."""

    def load_state_dict(*args: Any, **kwargs: Any) -> Any:
        return _with_names(original(*args, **kwargs), _changes.get())

    return load_state_dict


def _with_names(tensors: Any, changes: Optional[Mapping[str, str]]) -> Any:
    """The same tensors under other names, in the same order."""
    if not tensors or not changes:
        return tensors
    renewed = type(tensors)((changes.get(name, name), tensor) for name, tensor in tensors.items())
    if hasattr(tensors, "_metadata"):  # versions of modules, kept by torch
        renewed._metadata = tensors._metadata
    return renewed


def _is_described(cls: type) -> bool:
    """Whether a class is, or extends, a model of the library, and not only the common base of a family."""
    nearest = next((base for base in cls.__mro__ if is_of_the_library(base)), None)
    return nearest is not None and ".models." in nearest.__module__ and not nearest.__name__.endswith("PreTrainedModel")


def _as_in_the_library(model: Any) -> Any:
    """The library's own model of a user's subclass, without memory for its weights."""
    import torch

    base = next(kind for kind in type(model).__mro__ if is_of_the_library(kind))
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return base(copy.deepcopy(model.config))


def _shapes(model: Any) -> dict[str, Any]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}


def _renamed_by_the_program(names: Mapping[str, str], model: Any, mapping: Any) -> set[str]:
    """The names in the files that the program's mapping or method changes, beyond the prefix of the base model."""
    cls, prefix = type(model), f"{model.base_model_prefix}."
    of_the_library = [
        vars(base).get("_checkpoint_conversion_mapping") for base in cls.__mro__ if is_of_the_library(base)
    ]
    has_own_mapping = bool(mapping) and mapping not in of_the_library
    if not has_own_mapping and scope.was_written_in("transformers", cls._fix_state_dict_key_on_load):
        return set()
    return {name for name, new in names.items() if new.removeprefix(prefix) != name.removeprefix(prefix)}


def _changed(
    names: Mapping[str, str], model: Any, expected: Optional[Iterable[str]] = None, kept: Collection[str] = ()
) -> dict[str, str]:
    if not _is_described(type(model)):
        return {}
    changes = renamed(names, model.state_dict().keys() if expected is None else expected, kept)
    if changes and not is_of_the_library(type(model)):
        shapes, of_the_library = _shapes(model), _shapes(_as_in_the_library(model))
        changes = {name: new for name, new in changes.items() if of_the_library.get(new) == shapes.get(new)}
    if changes:
        first = next(iter(changes))
        sentence = (
            f"{len(changes)} weights of {type(model).__name__} have names of a later release in the file; {first}"
        )
        session.current().log.log(logging.INFO, f"{FIX.id}: {sentence} is {changes[first]} here.")
    return changes
