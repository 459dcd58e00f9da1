"""Remote code: what a configuration sets as ``rope_scaling`` is completed before it has looked at it.

Symptom   ``ValueError: `rope_scaling` must be a dictionary with two fields``, as the remote code of Phi-3, InternLM2
          or MiniCPM says; ``AttributeError: ... has no attribute 'max_position_embeddings'`` where a
          configuration sets that after a YaRN scaling.
Cause     Setting ``rope_scaling`` writes the kind and the base into it at once, also before the library's ``__init__``
          was called, which does it anyway, with all that it needs at hand.
Releases  5.21.0
Upstream  fixed in 5.21.1
Here      Where the class checks its scaling itself (``_rope_scaling_validation``), what it sets before that
          ``__init__`` stays as it was set, as in 5.21.1. Any other scaling is completed as before; where that raises
          the AttributeError, it stays as it was set. A caller of the function gets it completed, as before.
"""

from __future__ import annotations

import copy
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="Remote code: `rope_scaling` must be a dictionary with two fields, though it has two",
    kind="crash",
    fixed_in="5.21.1",
    errors=(
        "ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`, got …",
        "AttributeError: '…Config' object has no attribute 'max_position_embeddings'",
    ),
    everyone="only for classes that check two fields themselves, and after the AttributeError: the new code tests it",
    prefilter="self.standardize_rope_params()",
)


@FIX.wraps(
    ("transformers.modeling_rope_utils:RotaryEmbeddingConfigMixin.standardize_rope_params", "==5.21.0"),
    fingerprint_of=("transformers.configuration_utils:PreTrainedConfig.rope_scaling",),
)
def once_it_has_its_fields(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """What is set before the library's ``__init__`` is called waits for it."""

    def standardize_rope_params(self: Any) -> None:
        # Every configuration has that field, from the moment at which that is called.
        if "problem_type" in vars(self) or sys._getframe(1).f_code.co_name != "rope_scaling":
            original(self)
        elif not hasattr(type(self), "_rope_scaling_validation"):
            before = copy.deepcopy(vars(self).get("rope_parameters"))
            try:
                original(self)
            except AttributeError:
                if scope.is_handled(FIX.id, AttributeError, sys._getframe(1)):
                    raise
                vars(self)["rope_parameters"] = before
        elif scope.is_handled(FIX.id, ValueError, sys._getframe(1)):
            original(self)

    return standardize_rope_params


@FIX.recognises
def is_broken(function: Any) -> bool:
    """Setting it completes it, whenever that is."""
    return occurs("if value is not None:\n    self.standardize_rope_params()", function)
