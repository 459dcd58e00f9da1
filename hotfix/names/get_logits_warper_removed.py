"""Models no longer have ``_get_logits_warper``.

Symptom   ``AttributeError: 'GPT2LMHeadModel' object has no attribute '_get_logits_warper'`` from a program with its own
          loop of sampling, streaming or guided generation.
Cause     ``_get_logits_processor`` returns the warpers as well.
Releases  4.45.0 and later
Upstream  jsonformer, sonar#826 (not put back)
Here      The warpers of 4.44.2, made from the release's own classes. The device may be left out, as up to 4.41. A
          setting that is None has the value that ``generate`` takes. Classes do not get it: ``generate`` would not call
          the function that a program puts in its place.
"""

from __future__ import annotations

import sys
from types import MethodType
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'GPT2LMHeadModel' object has no attribute '_get_logits_warper'",
    kind="removed-api",
    upstream=("sonar#826",),
    group="removed-names",
    errors=("AttributeError: '…' object has no attribute '_get_logits_warper'",),
)

_WARPERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "temperature": ("TemperatureLogitsWarper", lambda value: value != 1),
    "top_k": ("TopKLogitsWarper", lambda value: value != 0),
    "top_p": ("TopPLogitsWarper", lambda value: value < 1),
    "min_p": ("MinPLogitsWarper", lambda value: True),
    "typical_p": ("TypicalLogitsWarper", lambda value: value < 1),
    "epsilon_cutoff": ("EpsilonLogitsWarper", lambda value: 0 < value < 1),
    "eta_cutoff": ("EtaLogitsWarper", lambda value: 0 < value < 1),
}
"""The class for each setting, and the values that have an effect, in the order of their use."""


@FIX.adds_made(("transformers.generation.utils:GenerationMixin._get_logits_warper", ">=4.45.0"))
def of_instances(module: Any) -> Any:
    """The method, for models alone.

    A program that reads it from the class wants to put a function of its own around it, which ``generate`` would not
    call.
    """

    class Method:
        def __get__(self, model: Any, kind: Any) -> Any:
            if model is None:
                raise AttributeError(f"type object {kind.__name__!r} has no attribute '_get_logits_warper'")
            return MethodType(_get_logits_warper, model)

    return Method()


def _get_logits_warper(self: Any, generation_config: Any, device: Any = None) -> Any:
    """The warpers of the scores that sampling with a configuration uses.

    Args:
        self: the model.
        generation_config: a `GenerationConfig`.
        device: where the scores are; only `eta_cutoff` uses it.
    """
    classes: Any = sys.modules["transformers.generation.logits_process"]
    ask: Any = getattr(type(generation_config), "_get_default_generation_params", dict)
    defaults: dict[str, Any] = ask()
    warpers = classes.LogitsProcessorList()
    for name, (warper, has_effect) in _WARPERS.items():
        value = getattr(generation_config, name, None)
        value = defaults.get(name) if value is None else value
        if value is None or not has_effect(value):
            continue
        others = {} if name == "temperature" else {"min_tokens_to_keep": _tokens_to_keep(generation_config)}
        if name == "eta_cutoff" and device is not None:
            others["device"] = device
        warpers.append(getattr(classes, warper)(value, **others))
    if generation_config.renormalize_logits is True:
        warpers.append(classes.LogitNormalization())
    return warpers


def _tokens_to_keep(generation_config: Any) -> int:
    """One token; in a beam search, one that is not the end of the text as well."""
    if (generation_config.num_beams or 1) == 1:
        return 1
    ends: Any = getattr(generation_config, "_eos_token_tensor", None)
    ends = generation_config.eos_token_id if ends is None else ends
    return len(ends) + 1 if isinstance(ends, list) or getattr(ends, "ndim", None) else 2
