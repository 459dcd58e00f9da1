"""Functions do not take an argument any more that callers still pass.

Symptom   ``TypeError: GenerationMixin._update_model_kwargs_for_generation() got an unexpected keyword argument
          'standardize_cache_format'``, ``Trainer._save_checkpoint() takes 3 positional arguments but 4 were given``,
          ``no_init_weights() got an unexpected keyword argument '_enable'``, and others.
Cause     The parameter was removed. Most callers pass its old default.
Releases  see ``parameters.txt``, which ``tools/signatures.py`` writes from the wheels
Upstream  not put back
Here      The argument is omitted if it has a value with which the function does the same: its old default, or one that
          the release's code acts by anyway. Any other value raises as before; from Python 3.11 on with a note.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.names import parameters_adapted
from hotfix.names.parameters_adapted import PACKAGE, without

_ROWS: dict[tuple[str, str], list[parameters_adapted.Row]] = {}
for _row in parameters_adapted.rows("removed"):
    _ROWS.setdefault((_row.function, _row.releases), []).append(_row)
_PARAMETERS: dict[str, set[str]] = {}
for (_function, _), _rows in _ROWS.items():
    _PARAMETERS.setdefault(_function.rpartition(":")[2].rpartition(".")[2], set()).update(_r.parameter for _r in _rows)

FIX = Fix(
    title="TypeError: _update_model_kwargs_for_generation() got an unexpected keyword argument of an older release",
    kind="removed-api",
    group="removed-names",
    errors=(
        *(
            f"TypeError: …{row.method}() got an unexpected keyword argument '{row.parameter}'"
            for rows in _ROWS.values()
            for row in rows
        ),
        "TypeError: Trainer._save_checkpoint() takes 3 positional arguments but 4 were given",
        "TypeError: …_prepare_cache_for_generation() takes 6 positional arguments but 7 were given",
    ),
    exempt={
        "transformers.models.*": "an override of a single model, which other code does not call with such an argument",
        "transformers.*TF*": "TensorFlow",
        "transformers.initialization:no_init_weights": "it never had the argument",
        **{
            f"transformers.models.{place}": "an override of a single model"
            for place in (
                "idefics.modeling_idefics:IdeficsForVisionText2Text._update_model_kwargs_for_generation",
                "luke.modeling_luke:LukeModel.get_extended_attention_mask",
                "musicgen_melody.modeling_musicgen_melody:MusicgenMelodyForConditionalGeneration."
                "_update_model_kwargs_for_generation",
                "qwen2_audio.modeling_qwen2_audio:Qwen2AudioForConditionalGeneration."
                "_update_model_kwargs_for_generation",
                "qwen2_vl.modeling_qwen2_vl:Qwen2VLForConditionalGeneration._update_model_kwargs_for_generation",
            )
        },
    },
    everyone="only a call with an argument that the function cannot take, and that no handler is around",
)

for (_function, _releases), _rows in _ROWS.items():
    FIX.wraps((f"{PACKAGE}.{_function}", _releases))(without(_rows, FIX.id))


@FIX.recognises
def is_without(function: ast.AST) -> bool:
    """A function that has lost the parameters, and takes no ``**kwargs``."""
    if not isinstance(function, ast.FunctionDef) or function.name not in _PARAMETERS or function.args.kwarg:
        return False
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    return names.isdisjoint(_PARAMETERS[function.name]) and not any(
        "deprecate_kwarg" in ast.unparse(decorator) for decorator in function.decorator_list
    )
