"""Resuming a Trainer keeps the initial weights of vision-language models, and of mixtures of experts in 5.x.

Symptom   Silent but for a line in the log, ``There were missing keys in the checkpoint model loaded``. After
          ``train(resume_from_checkpoint=…)`` the optimizer goes on where it was, and the weights begin again. The model
          that ``load_best_model_at_end=True`` leaves is the last one, not the best one.
Cause     `save_pretrained` writes the names of the Hub, and `from_pretrained` translates them. The Trainer reads the
          file with `load_state_dict`, which does not.
Upstream  transformers#43701, Qwen3-VL#1763; not fixed. 4.51.3 resumes vision-language models, 4.57.6 experts.
Here      Weights that the file has under a name that the release translates are copied into the model, one after the
          other: no second model is made, nothing else is read again, and no random number is taken. Everything else is
          loaded as in the release. A weight that cannot be translated, or has another shape, stays missing, and the
          release reports it. Left alone are the user's classes, a user's ``load_state_dict``, quantized models, and
          weights that are no plain tensors (DTensor).
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Callable

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
    _completed = f"\nimport {__name__} as ours\nload_result = ours.completed(model, {_folder}, load_result{{}})"
    FIX.edits(
        (f"transformers.trainer:Trainer.{_method}", ">=4.52.1,<=5.24.0"),
        old=(_WHOLE, _SHARDS),
        new=(_WHOLE + _completed.format(", state_dict"), _SHARDS + _completed.format("")),
        fingerprint_of=(f"Trainer.{_method}", _SAVE),
    )


def completed(model: Any, folder: str, result: Any, file: Any = None) -> Any:
    """Load the weights that a checkpoint has under other names.

    Args:
        model: into which the file was loaded; it is changed.
        folder: of the checkpoint.
        result: ``missing_keys`` and ``unexpected_keys``, as `load_state_dict` returned them.
        file: the weights by name, where all of them are in one file.

    Returns:
        The same after the translation; `result` itself without a name to translate.
    """
    missing, unexpected = set(getattr(result, "missing_keys", ())), getattr(result, "unexpected_keys", ())
    try:  # the release reports what is missing and goes on, and so does a run of which this cannot be repaired
        if not missing or missing.isdisjoint(translated(model, unexpected)) or not _is_of_the_library(model):
            return result
        loaded, read = _load(model, missing, unexpected, _reader(Path(folder), file))
    except Exception as error:
        scope.leave_alone(FIX.id, f"{folder} cannot be read by other names ({type(error).__name__}: {error})")
        return result
    if not loaded:
        return result
    return type(result)(
        [name for name in result.missing_keys if name not in loaded], [name for name in unexpected if name not in read]
    )


def translated(model: Any, names: Iterable[str]) -> set[str]:
    """The names that `from_pretrained` gives the weights of a file.

    Args:
        model: into which they are loaded.
        names: of weights in the file.
    """
    return {name for name, _ in _sources(model, names)}


# ---------------------------------------------------------------------------------------------------------------------


def _is_of_the_library(model: Any) -> bool:
    if not scope.is_class_of(FIX.id, model) or not scope.is_own(FIX.id, model, "load_state_dict"):
        return False
    config = getattr(model, "config", None)
    is_quantized = getattr(config, "quantization_config", None) or getattr(model, "hf_quantizer", None)
    return not is_quantized or scope.leave_alone(FIX.id, "the model is quantized")


def _sources(model: Any, names: Iterable[str]) -> Iterator[tuple[str, tuple[str, str, Any]]]:
    """Names of the model, each with a name in the file, and the pattern and the step that convert it, if any do."""
    later = sys.modules.get("transformers.conversion_mapping")
    if later is None:  # 4.x
        patterns = (getattr(model, "_checkpoint_conversion_mapping", None) or {}).items()
        for name in names:
            new = next((re.sub(old, new, name) for old, new in patterns if re.search(old, name)), None)
            if new:
                yield new, (name, "", None)
        return
    loading = sys.modules["transformers.core_model_loading"]
    steps = later.get_model_conversion_mapping(model)
    renamings = [step for step in steps if isinstance(step, loading.WeightRenaming)]
    converters = [step for step in steps if isinstance(step, loading.WeightConverter)]
    known = dict.fromkeys(model.state_dict(), True)
    by_pattern = {pattern: step for step in converters for pattern in step.source_patterns}
    ordered = sorted(names, key=loading.dot_natural_key)  # experts are stacked in this order
    plain = {name: loading.rename_source_key(name, renamings, converters) for name in ordered}
    is_translated = any(new != name for name, (new, _) in plain.items())
    for name, (new, pattern) in plain.items():
        if (
            is_translated and new not in known
        ):  # in 5.4 and 5.5 the reader of the file adds the prefix of the inner model
            new, pattern = loading.rename_source_key(name, renamings, converters, model.base_model_prefix, known)
        yield new, (name, pattern or "", by_pattern.get(pattern))


def _load(model: Any, missing: set[str], names: Iterable[str], read: Callable[[str], Any]) -> tuple[set[str], set[str]]:
    """Copy missing weights into a model; returns their names in the model, and those in the file."""
    import torch

    sources = defaultdict(list)
    for name, source in _sources(model, names):
        sources[name].append(source)
    places = dict(model.named_buffers(remove_duplicate=False))
    places.update(model.named_parameters(remove_duplicate=False))
    loaded: set[str] = set()
    used: set[str] = set()
    for name in sorted(missing.intersection(sources)):
        try:
            values = _converted(model, name, sources[name], read)
            fitting = {
                target: value
                for target, value in values.items()
                if target in missing and _fits(value, places.get(target))
            }
            with torch.no_grad():
                for target, value in fitting.items():
                    places[target].copy_(value)
        except Exception as error:  # one that has another form is missing, as in the release
            scope.leave_alone(FIX.id, f"{name} cannot be converted ({type(error).__name__}: {error})")
            continue
        loaded.update(fitting)
        if len(fitting) == len(values):
            used.update(source for source, _, _ in sources[name])
    return loaded, used


def _converted(model: Any, name: str, sources: list[Any], read: Callable[[str], Any]) -> dict[str, Any]:
    """The weights of a model that are made of some of a file."""
    import copy

    (first, pattern, step), *others = sources
    if step is None:
        return {} if others else {name: read(first)}
    step = copy.deepcopy(step)
    for source, pattern, _ in sources:
        step.add_tensor(name, source, pattern, read(source))
    made = step.convert(name, model=model, config=model.config)
    made = made[0] if isinstance(made, tuple) else made  # with its errors, in the first releases
    return {target: value[0] if isinstance(value, list) else value for target, value in made.items()}


def _fits(value: Any, place: Any) -> bool:
    """Whether a tensor can be copied to its place as it is."""
    import torch

    return (
        type(place) in (torch.nn.Parameter, torch.Tensor)
        and place.device.type != "meta"
        and value.shape == place.shape
        and value.is_floating_point() == place.is_floating_point()
    )


def _reader(folder: Path, file: Any) -> Callable[[str], Any]:
    """A function that reads a weight of a checkpoint by its name, without the others if the format allows it."""
    if file is not None:
        return file.__getitem__  # type: ignore[no-any-return]
    safe = folder / "model.safetensors.index.json"
    index = safe if safe.is_file() else folder / "pytorch_model.bin.index.json"
    places = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    opened: dict[str, Any] = {}

    def read(name: str) -> Any:
        path = folder / places[name]
        if path.suffix == ".safetensors":
            from safetensors import safe_open

            with safe_open(str(path), "pt") as weights:
                return weights.get_tensor(name)
        if path.name not in opened:
            import torch

            opened.clear()  # one at a time, as the release reads them
            opened[path.name] = torch.load(path, map_location="cpu", weights_only=True)
        return opened[path.name][name]

    return read


@FIX.recognises
def is_broken(load: ast.FunctionDef, save: ast.AST) -> bool:
    """`save_pretrained` writes the names of the Hub, and the Trainer loads them untranslated."""
    written = ast.unparse(save)
    return _WHOLE in ast.unparse(load) and ("_checkpoint_conversion_mapping" in written or "revert_weight" in written)
