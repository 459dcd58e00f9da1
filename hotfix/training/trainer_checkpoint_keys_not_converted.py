"""Resuming a Trainer keeps the initial weights of vision-language models, and of mixtures of experts in 5.x.

Symptom   Silent but for a line in the log, ``There were missing keys in the checkpoint model loaded``. After
          ``train(resume_from_checkpoint=…)`` the optimizer goes on where it was, and the weights begin again. The model
          that ``load_best_model_at_end=True`` leaves is the last one, not the best one.
Cause     `save_pretrained` writes the names of the Hub, and `from_pretrained` translates them. The Trainer reads the
          file with `load_state_dict`, which does not.
Upstream  transformers#43701, Qwen3-VL#1763; not fixed. 4.51.3 resumes vision-language models, 4.57.6 experts.
Here      Where the file has missing weights under a name that the release translates, the model gets the weights that
          `from_pretrained` reads from the folder. Everything else is loaded as in the release.
"""

from __future__ import annotations

import ast
import copy
import functools
import re
import sys
from collections.abc import Iterable
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Resuming a Trainer, or load_best_model_at_end, keeps the wrong weights of vision-language and MoE models",
    kind="silent",
    upstream=("transformers#43701", "Qwen3-VL#1763"),
    everyone="only where the file has missing weights under names that the release translates: the new code tests it",
)

_SAVE = "transformers.modeling_utils:PreTrainedModel.save_pretrained"
_WHOLE = "load_result = model.load_state_dict(state_dict, False)"
_SHARDS = "load_result = load_sharded_checkpoint(__MODEL, __FOLDER, **__REST)"

for _method, _folder in (
    ("_load_from_checkpoint", "resume_from_checkpoint"),
    ("_load_best_model", "self.state.best_model_checkpoint"),
):
    _completed = f"\nimport {__name__} as ours\nload_result = ours.completed(model, {_folder}, load_result)"
    FIX.edits(
        (f"transformers.trainer:Trainer.{_method}", ">=4.52.1,<=5.23.0"),
        old=(_WHOLE, _SHARDS),
        new=(_WHOLE + _completed, _SHARDS + _completed),
        fingerprint_of=(f"Trainer.{_method}", _SAVE),
    )


def completed(model: Any, folder: str, result: Any) -> Any:
    """Load the weights that a checkpoint has under other names.

    Args:
        model: into which the file was loaded; it is changed.
        folder: of the checkpoint.
        result: ``missing_keys`` and ``unexpected_keys``, as `load_state_dict` returned them.

    Returns:
        The same for what is loaded now; `result` itself where nothing was to be translated.
    """
    import torch

    missing = set(result.missing_keys)
    if not missing or not missing.intersection(translated(model, result.unexpected_keys)):
        return result
    if not scope.is_class_of(FIX.id, model):
        return result
    kinds = {weight.dtype for weight in model.parameters() if weight.is_floating_point()}
    with torch.random.fork_rng(devices=[]):
        loaded, report = type(model).from_pretrained(
            folder,
            config=copy.deepcopy(model.config),
            torch_dtype=functools.reduce(torch.promote_types, kinds),
            attn_implementation="eager",
            output_loading_info=True,
        )
    absent = {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}
    weights = {name: weight for name, weight in loaded.state_dict().items() if name not in absent}
    model.load_state_dict(weights, strict=False)
    return type(result)([name for name in result.missing_keys if name in absent], list(report["unexpected_keys"]))


def translated(model: Any, names: Iterable[str]) -> set[str]:
    """The names that `from_pretrained` gives the weights of a file.

    Args:
        model: into which they are loaded.
        names: of weights in the file.
    """
    later = sys.modules.get("transformers.conversion_mapping")
    if later is None:  # 4.x
        patterns = getattr(model, "_checkpoint_conversion_mapping", {}).items()
        renamed = ((re.sub(old, new, name) for old, new in patterns if re.search(old, name)) for name in names)
        return {name for each in renamed for name in [next(each, None)] if name}
    loading = sys.modules["transformers.core_model_loading"]
    steps = later.get_model_conversion_mapping(model)
    renamings = [step for step in steps if isinstance(step, loading.WeightRenaming)]
    converters = [step for step in steps if isinstance(step, loading.WeightConverter)]
    return {loading.rename_source_key(name, renamings, converters)[0] for name in names}


@FIX.recognises
def is_broken(load: ast.FunctionDef, save: ast.AST) -> bool:
    """What is saved has the names of the Hub, and the Trainer loads it without translating them."""
    written = ast.unparse(save)
    return _WHOLE in ast.unparse(load) and ("_checkpoint_conversion_mapping" in written or "revert_weight" in written)
