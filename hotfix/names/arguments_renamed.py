"""Functions no longer take an argument by the name that it had, or do not know the name of a later release yet.

Symptom   ``TypeError: create_causal_mask() got an unexpected keyword argument 'input_embeds'`` (or
          ``'cache_position'``) from models that were written for 4.53 to 5.8; ``TypeError:
          GroundingDinoProcessor.post_process_grounded_object_detection() got an unexpected keyword argument
          'box_threshold'``; ``'threshold'`` in releases before 4.49.0. ``ValueError: Make sure to provide either
          `input_features` or `encoder_outputs` to `generate`.`` from ``generate(inputs=…)`` of Whisper.
Cause     The argument was renamed, and what translated the old name was removed some releases later.
Releases  masks 5.9.0 and later; Grounding DINO 4.55.0 and later, and before 4.49.0; Whisper 5.0.0 and later
Upstream  Grounded-SAM-2#116, Grounded-SAM-2#117, labelU#283 (not put back)
Here      After the error, the call is repeated with the release's names. ``cache_position`` of a mask is left out:
          5.8.1 ignores it. A call that has both names raises as before.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.pattern import occurs

MASK = {"input_embeds": "inputs_embeds", "cache_position": ""}
BOXES = "post_process_grounded_object_detection"
THRESHOLD = {"box_threshold": "threshold"}
SOUND = {"inputs": "input_features"}
_NO_SOUND = "ValueError: Make sure to provide either `input_features` or `encoder_outputs` to `generate`."

FIX = Fix(
    title="TypeError: create_causal_mask() got an unexpected keyword argument 'input_embeds'",
    kind="removed-api",
    upstream=("Grounded-SAM-2#116", "Grounded-SAM-2#117", "labelU#283"),
    group="removed-names",
    exempt={
        "transformers.models.bloom.modeling_bloom:BloomForCausalLM.create_masks_for_generate": "it had one name only",
    },
    errors=(
        *(
            f"TypeError: create_{kind}mask() got an unexpected keyword argument '{name}'"
            for kind in ("causal_", "sliding_window_causal_", "chunked_causal_", "bidirectional_sliding_window_")
            for name in MASK
        ),
        "TypeError: create_bidirectional_mask() missing 1 required positional argument: 'inputs_embeds'",
        "TypeError: create_masks_for_generate() missing 1 required positional argument: 'inputs_embeds'",
        f"TypeError: GroundingDinoProcessor.{BOXES}() got an unexpected keyword argument 'box_threshold'",
        _NO_SOUND,
    ),
    on_error=(
        "TypeError: create_…mask() got an unexpected keyword argument …",
        "TypeError: create_…() missing 1 required positional argument: 'inputs_embeds'",
        f"TypeError: …{BOXES}() got an unexpected keyword argument …",  # Python 3.9 does not name the class
    ),
)


def by_names_of_the_release(names: dict[str, str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper that translates arguments.

    Args:
        names: pairs of names; a function gets the one that it has. An empty one stands for leaving the argument out.
    """

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        known = inspect.signature(original).parameters
        pairs = [(name, new) for pair in names.items() for name, new in (pair, pair[::-1]) if name]
        translated = {name: new for name, new in pairs if name not in known and (not new or new in known)}

        def call(*args: Any, **kwargs: Any) -> Any:
            for name, new in translated.items():
                if name in kwargs and new not in kwargs:
                    value = kwargs.pop(name)
                    if new:
                        kwargs[new] = value
            return original(*args, **kwargs)

        return call

    return decorate


_DINO = f"transformers.models.grounding_dino.processing_grounding_dino:GroundingDinoProcessor.{BOXES}"
_MASKS = (
    "create_causal_mask",
    "create_sliding_window_causal_mask",
    "create_chunked_causal_mask",
    "create_bidirectional_mask",
    "create_bidirectional_sliding_window_mask",
    "create_masks_for_generate",
)

for _name in _MASKS:
    FIX.wraps((f"transformers.masking_utils:{_name}", ">=5.9.0"))(by_names_of_the_release(MASK))
FIX.wraps((_DINO, ">=4.40.0,!=4.49.*,!=4.50.*,!=4.51.*,!=4.52.*,!=4.53.*,!=4.54.*"))(by_names_of_the_release(THRESHOLD))
FIX.wraps(
    ("transformers.models.whisper.generation_whisper:WhisperGenerationMixin.generate", ">=5.0.0"),
    on_error=(_NO_SOUND,),
)(by_names_of_the_release(SOUND))


@FIX.recognises
def has_one_name_only(function: ast.AST) -> bool:
    """A function that takes an argument by one of its names, and no decorator that translates the other."""
    if not isinstance(function, ast.FunctionDef) or _is_translated(function):
        return False
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    if function.name in _MASKS:
        return "inputs_embeds" in names
    if function.name == "generate":
        return {"input_features", "condition_on_prev_tokens"} <= names and not occurs("kwargs.pop('inputs')", function)
    return function.name == BOXES and "text_threshold" in names and len(names & {*THRESHOLD, *THRESHOLD.values()}) == 1


def _is_translated(function: ast.FunctionDef) -> bool:
    """Whether a decorator names one of the arguments, or says nothing that can be read."""
    ours = {*MASK, *MASK.values(), *THRESHOLD, *THRESHOLD.values(), *SOUND, *SOUND.values()}
    for decorator in function.decorator_list:
        names = {node.value for node in ast.walk(decorator) if isinstance(node, ast.Constant)}
        if not isinstance(decorator, ast.Call) or names & ours:
            return True
    return False
