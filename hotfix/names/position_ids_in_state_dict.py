"""A state dict of an earlier release has ``position_ids``, and ``load_state_dict`` refuses it.

Symptom   ``RuntimeError: Error(s) in loading state_dict for ...: Unexpected key(s) in state_dict:
          "cond_stage_model.transformer.text_model.embeddings.position_ids"``, from Stable Diffusion and other projects
          that load the file of a model around CLIP or BERT by themselves.
Cause     To 4.30, these buffers were saved. They are not part of the state dict any more, and no one ignores them.
Releases  4.36.0 and later (4.31.0, before the releases that are examined)
Upstream  TOSS#2, transformers#24505; meant, for safetensors
Here      Where ``load_state_dict`` would crash the program, a key is ignored that has the name of such a buffer and its
          values. With ``strict=False``, a handler of the program, or code of the program's that is called with the
          unexpected keys (a hook of ``load_state_dict``, an override), the key is unexpected, as in the release.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import restoring, scope

FIX = Fix(
    title='RuntimeError: Unexpected key(s) in state_dict: "text_model.embeddings.position_ids"',
    kind="removed-api",
    group="removed-names",
    upstream=("TOSS#2", "transformers#24505"),
    errors=('RuntimeError: Error(s) in loading state_dict for …Unexpected key(s) in state_dict: "…position_ids"…',),
)

# The classes that have the buffers, by folder.
CLASSES = {
    "albert": ("AlbertEmbeddings",),
    "bert": ("BertEmbeddings",),
    "camembert": ("CamembertEmbeddings",),
    "clip": ("CLIPTextEmbeddings", "CLIPVisionEmbeddings"),
    "deberta_v2": ("DebertaV2Embeddings",),
    "electra": ("ElectraEmbeddings",),
    "mpnet": ("MPNetEmbeddings",),
    "roberta": ("RobertaEmbeddings",),
    "xlm_roberta": ("XLMRobertaEmbeddings",),
}
TARGETS = [
    f"transformers.models.{folder}.modeling_{folder}:{name}._load_from_state_dict"
    for folder, names in CLASSES.items()
    for name in names
]


@FIX.adds(*((target, ">=4.36.0") for target in TARGETS))
def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
    """What every module does, and then forget the unexpected keys that are buffers of this one.

    Args:
        self: the module.
        state_dict: the tensors of the whole model, by name.
        prefix: what the names of this module's tensors begin with.
        args: the metadata, whether all keys have to fit, and the lists of missing keys, unexpected keys and errors.
        kwargs: the same.
    """
    order = type(self).__mro__
    owner = next((kind for kind in order if vars(kind).get("_load_from_state_dict") is _load_from_state_dict), None)
    if owner is None:  # the program has wrapped this method
        import torch

        torch.nn.Module._load_from_state_dict(self, state_dict, prefix, *args, **kwargs)
        return
    further: Any = super(owner, self)
    further._load_from_state_dict(state_dict, prefix, *args, **kwargs)
    unexpected = kwargs["unexpected_keys"] if "unexpected_keys" in kwargs else args[3]
    known = [
        f"{prefix}{name}" for name in self._non_persistent_buffers_set if _is_saved(self, name, state_dict, prefix)
    ]
    for key in known:
        if key in unexpected:
            frame = strict_load()
            if frame is None or _shows_keys(frame.f_locals.get("self"), order[: order.index(owner)]):
                return
            if scope.is_handled(FIX.id, RuntimeError, frame.f_back):
                return
            unexpected.remove(key)
            restoring.note(f"{owner.__module__}:{owner.__qualname__}.position_ids", FIX.id, frame.f_back or frame)


def _is_saved(module: Any, name: str, state_dict: Any, prefix: str) -> bool:
    """Whether a state dict has a buffer of a module, with the values that it has anyway."""
    import torch

    saved, buffer = state_dict.get(f"{prefix}{name}"), module._buffers.get(name)
    with suppress(RuntimeError, NotImplementedError):  # on the meta device there are no values
        return isinstance(saved, torch.Tensor) and buffer is not None and torch.equal(saved.to(buffer), buffer)
    return False


def _shows_keys(model: Any, below: Sequence[type]) -> bool:
    """Whether code of the program's is called with the unexpected keys: a hook of a module, or an override.

    Args:
        model: whose ``load_state_dict`` runs.
        below: the classes of the embeddings that may override what the library's own class does.
    """
    if any("_load_from_state_dict" in vars(kind) for kind in below):
        return True
    return any(getattr(module, "_load_state_dict_post_hooks", None) for module in model.modules())


def strict_load() -> Optional[Any]:
    """The frame of ``load_state_dict``, if it demands that all keys fit."""
    import torch

    code = getattr(torch.nn.Module.load_state_dict, "__code__", None)  # the program may have replaced it
    if code is None:
        return None
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame if frame is not None and frame.f_locals.get("strict") else None
