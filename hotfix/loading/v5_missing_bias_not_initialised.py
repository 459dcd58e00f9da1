"""5.2.0 does not initialize a bias that the checkpoint lacks.

Symptom   Silent. A bias that the checkpoint lacks (``attention_bias`` turned on for a fine-tuning, a new bias of a norm
          or a head) holds uninitialized memory: numbers of another tensor, or nan.
Cause     5.2.0 initializes missing weights module by module, and skips a module whose ``weight`` was loaded.
Releases  5.2.0
Upstream  fixed in 5.3.0
Here      In models of the library, a module is skipped only if all of its own parameters were loaded. Loaded
          parameters stay, since the initialization checks their flags. Equal to 5.3.0. Other models are left as they
          are: their ``_init_weights`` may ignore the flags; see v5-custom-child-weights-initialised-again.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Missing bias is nan or uninitialized memory after from_pretrained",
    kind="silent",
    fixed_in="5.3.0",
    everyone="only for parameters of the library's models that no checkpoint has: the new code tests it",
)

_PASSES_OVER = """
if (
    {more}(weight := getattr(module, "weight", None)) is not None
    and getattr(weight, "_is_hf_initialized", False)
    and not list(module.named_buffers())
):
    module._is_hf_initialized = True
    return
"""

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", "==5.2.0"),
    old=_PASSES_OVER.format(more=""),
    new=f"from {__name__} import lacks_a_parameter\n"
    + _PASSES_OVER.format(more="not lacks_a_parameter(self, module) and "),
)


def lacks_a_parameter(model: Any, module: Any) -> bool:
    """Whether a module of a model of the library has a parameter of its own that was not loaded."""
    own = module.parameters(recurse=False)
    is_of_the_library = scope.was_written_in("transformers", type(model))
    return is_of_the_library and not all(getattr(parameter, "_is_hf_initialized", False) for parameter in own)
