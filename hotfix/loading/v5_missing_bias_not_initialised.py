"""5.2.0 leaves a bias that is in no checkpoint as it finds the memory.

Symptom   Silent. A model whose checkpoint lacks a bias (``attention_bias`` turned on for a fine-tuning, a norm or a
          head that has got one) has whatever the memory held in its place: numbers of another tensor, or nan.
Cause     What is missing is initialised module by module, and 5.2.0 passes over a module whose ``weight`` was loaded,
          whatever else it has.
Releases  5.2.0
Upstream  fixed in 5.3.0
Here      In models of the library, a module is passed over only if all of its own parameters were loaded; what was
          loaded is kept, as its initialisation sees the marks. Equal to 5.3.0. Models from outside are left as they
          are: their ``_init_weights`` may not see the marks, and v5-custom-child-weights-initialised-again is for them.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="A bias that the checkpoint lacks is what the memory held before, numbers or nan",
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
    is_of_the_library = type(model).__module__.startswith("transformers.")
    return is_of_the_library and not all(getattr(one, "_is_hf_initialized", False) for one in own)
