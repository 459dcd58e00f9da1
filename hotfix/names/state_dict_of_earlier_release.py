"""``load_state_dict`` refuses the weights of an earlier release, whose modules had other names.

Symptom   ``RuntimeError: Error(s) in loading state_dict for ViTForImageClassification: Missing key(s) in state_dict:
          "vit.layers.0.attention.q_proj.weight", ... Unexpected key(s) in state_dict:
          "vit.encoder.layer.0.attention.attention.query.weight", ...``, of a file that a project has saved by itself
          with ``torch.save``; the same of LLaVA, Qwen2-VL, CLIP, AST and many more;
          ``Unexpected key(s) in state_dict: "model.layers.0.self_attn.rotary_emb.inv_freq"`` of Llama.
Cause     Modules were moved and renamed (vision-language models in 4.52, CLIP in 5.6, ViT in 5.9), and buffers are not
          saved any more. ``from_pretrained`` knows this, and ``load_state_dict`` does not.
Releases  4.36.0 and later; ``inv_freq`` of rotary embeddings 4.32.0 and later
Upstream  by design (not put back)
Here      Where ``load_state_dict`` would crash the program, the names are translated as the release's own
          ``from_pretrained`` translates them, if all weights of the model are there then and no others; buffers with
          the values of today are left out. With ``strict=False``, a handler of the program, or hooks that see the
          names, nothing is translated, as in the release. Weights of another form (experts of 5.x in one tensor) are
          not converted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.names.position_ids_in_state_dict import strict_load
from hotfix.patching import restoring, scope

FIX = Fix(
    title='RuntimeError: Missing key(s) in state_dict: "vit.layers.0.attention.q_proj.weight"',
    kind="removed-api",
    group="removed-names",
    errors=(
        'RuntimeError: Error(s) in loading state_dict for …Missing key(s) in state_dict: "…layers.0.attention.q_…"…',
        'RuntimeError: Error(s) in loading state_dict for …Missing key(s) in state_dict: "model.language_model.…"…',
        'RuntimeError: Error(s) in loading state_dict for …Unexpected key(s) in state_dict: "…rotary_emb.inv_freq"…',
    ),
)


@FIX.adds(("transformers.modeling_utils:PreTrainedModel._load_from_state_dict", ">=4.36.0"))
def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
    """Translate the names of an earlier release, and then do what every module does.

    Args:
        self: the model.
        state_dict: the tensors of this model and perhaps of others, by name.
        prefix: what the names of this model's tensors begin with.
        args: the metadata, whether all keys have to fit, and the lists of missing keys, unexpected keys and errors.
        kwargs: the same.
    """
    frame, further = strict_load(), _further(self)
    names = {} if frame is None else _translated(self, state_dict, prefix, frame, further)
    if frame is not None and names and not scope.is_handled(FIX.id, RuntimeError, frame.f_back):
        for old, new in names.items():
            tensor = state_dict.pop(old)
            if new is not None:
                state_dict[new] = tensor
        kind, first = type(self), next(iter(names))[len(prefix) :]
        restoring.note(f"{kind.__module__}:{kind.__qualname__}.{first}", FIX.id, frame.f_back or frame)
    further(state_dict, prefix, *args, **kwargs)


def _further(model: Any) -> Any:
    """The method that loads a model behind this one, which the program may have wrapped."""
    here: Any = _load_from_state_dict
    owner = next((base for base in type(model).__mro__ if vars(base).get(here.__name__) is here), None)
    owner = owner or sys.modules["transformers.modeling_utils"].PreTrainedModel
    above: Any = super(owner, model)
    return above._load_from_state_dict


def _translated(model: Any, state_dict: Any, prefix: str, load: Any, further: Any) -> dict[str, Optional[str]]:
    """The new names of keys, by their old ones; None for a buffer that is not saved any more.

    Args:
        model: the model.
        state_dict: the tensors, by name.
        prefix: of the names of this model's tensors.
        load: the frame of ``load_state_dict``.
        further: the method that loads the model afterwards.

    Returns:
        Nothing if the keys fit as they are, or do not fit afterwards either, or if code of the program's sees them.
    """
    try:
        return _renamed_as_a_whole(model, state_dict, prefix, load, further)
    except Exception as error:  # such as of a configuration of the program's
        scope.undecided(FIX.id, error)
        return {}


def _renamed_as_a_whole(model: Any, state_dict: Any, prefix: str, load: Any, further: Any) -> dict[str, Optional[str]]:
    saved, buffers = _tensors(model)
    given = [key[len(prefix) :] for key in state_dict if key.startswith(prefix)]
    by_torch = _renamed_by_torch(model)
    unknown = [name for name in given if name not in {*saved, *by_torch} and not name.endswith("_extra_state")]
    missing = saved.keys() - set(given) - {by_torch[name] for name in given if name in by_torch}
    if not unknown or _is_seen(load.f_locals["self"], type(model), further):
        return {}
    names: dict[str, Optional[str]] = {}
    for old, new in zip(unknown, _renamed(model, unknown, saved)):
        tensor = state_dict[f"{prefix}{old}"]
        if new in missing and getattr(tensor, "shape", None) == saved[new].shape:
            missing.remove(new)
            names[f"{prefix}{old}"] = f"{prefix}{new}"
        elif _is_buffer(new, tensor, buffers):
            names[f"{prefix}{old}"] = None
        else:
            return {}
    return {} if missing else names


def _is_buffer(name: str, tensor: Any, buffers: dict[str, Any]) -> bool:
    """Whether a tensor is a buffer that is made anew today.

    Args:
        name: of the tensor, as today.
        tensor: the tensor of the state dict.
        buffers: of the model, by name; those that are not saved.
    """
    if "rotary_emb.inv_freq" in name:  # those of the layers became one
        return any(buffer.endswith("rotary_emb.inv_freq") for buffer in buffers)
    last = name.rpartition(".")[2]  # some were moved, and Swin's have one dimension now
    return any(_is_same(tensor, buffer) for each, buffer in buffers.items() if each.rpartition(".")[2] == last)


def _is_same(tensor: Any, buffer: Any) -> bool:
    with suppress(AttributeError, RuntimeError, NotImplementedError):  # on the meta device there are no values
        return bool(tensor.shape.numel() == buffer.numel() and (tensor.to(buffer).flatten() == buffer.flatten()).all())
    return False


def _tensors(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a model saves and the buffers that it does not save, by name; no hook of `state_dict` runs."""
    saved: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for path, module in _walk(model, ""):
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                kind = buffers if name in module._non_persistent_buffers_set else saved
                kind[f"{path}{name}"] = tensor
    return saved, buffers


def _renamed_by_torch(model: Any) -> dict[str, str]:
    """The names that `weight_norm` of torch had for its tensors, which it translates itself; by them those of today."""
    numbers = {"weight_g": 0, "weight_v": 1}
    names: dict[str, str] = {}
    for path, module in _walk(model, ""):
        hooks = getattr(module, "_load_state_dict_pre_hooks", {}).values()
        if any(str(getattr(hook, "__module__", "")).startswith("torch.nn.utils.") for hook in hooks):
            names.update({f"{path}{old}": f"{path}parametrizations.weight.original{at}" for old, at in numbers.items()})
    return names


def _walk(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A module and those within it, with the beginnings of their names; its own methods may have side effects."""
    yield path, module
    for name, inner in module._modules.items():
        if inner is not None:
            yield from _walk(inner, f"{path}{name}.")


def _renamed(model: Any, names: list[str], saved: dict[str, Any]) -> list[str]:
    """Names as the release's `from_pretrained` reads them in a file, for a model that saves these tensors."""
    if sys.modules["transformers"].__version__.startswith("4."):
        patterns = getattr(type(model), "_checkpoint_conversion_mapping", {})  # 4.52.1 and later
        return [_first(patterns, name) for name in names] if isinstance(patterns, dict) else names
    from transformers import conversion_mapping, core_model_loading

    changes = conversion_mapping.get_model_conversion_mapping(model)
    changes = [change for change in changes if not getattr(change, "operations", None)]
    prefix = model.base_model_prefix
    return [core_model_loading.rename_source_key(name, changes, [], prefix, saved)[0] for name in names]


def _first(patterns: dict[str, str], key: str) -> str:
    """A key, replaced by the first pattern that it has."""
    for pattern, replacement in patterns.items():
        changed, count = re.subn(pattern, replacement, key)
        if count:
            return changed
    return key


def _is_seen(root: Any, kind: type, further: Any) -> bool:
    """Whether code of the program's sees the names: a hook of a module, or a module that loads its part itself.

    Args:
        root: whose ``load_state_dict`` runs.
        kind: the class of the model.
        further: the method that loads the model afterwards.
    """
    if next(base for base in kind.__mro__ if "_load_from_state_dict" in vars(base)).__name__ != "PreTrainedModel":
        return True
    if not _is_of_a_library(further):
        return True
    names = ("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
    for _, module in _walk(root, ""):
        if "_load_from_state_dict" in vars(module) or not _is_of_a_library(type(module)._load_from_state_dict):
            return True
        hooks = (hook for name in names for hook in getattr(module, name, {}).values())
        if any(not str(getattr(hook, "__module__", "")).startswith("torch.") for hook in hooks):
            return True
    return False


def _is_of_a_library(function: Any) -> bool:
    return any(scope.was_written_in(package, function) for package in ("torch", "transformers"))
