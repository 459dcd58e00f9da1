"""``get_extended_attention_mask`` takes a device for a type where it is the third argument.

Symptom   ``TypeError: to() received an invalid combination of arguments - got (dtype=torch.device, ), ...`` from
          ``model.get_extended_attention_mask(attention_mask, input_shape, device)``, as code for 4.x has it.
Cause     The parameter ``device`` was removed, and ``dtype`` took its place.
Releases  5.0.0 to 5.16.1; 5.17.0 takes it again
Upstream  repaired in 5.17.0
Here      After the TypeError, a device that is the mask's own is left out, as in 4.57.6, which did not need it.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: to() received an invalid combination of arguments - got (dtype=torch.device, )",
    kind="removed-api",
    group="removed-names",
    errors=("TypeError: to() received an invalid combination of arguments - got (dtype=torch.device, )…",),
    on_error=True,
)


@FIX.wraps(("transformers.modeling_utils:ModuleUtilsMixin.get_extended_attention_mask", ">=5.0.0,<5.17.0"))
def without_the_device(original: Callable[..., Any]) -> Callable[..., Any]:
    """The mask for scores, without a device."""

    def get_extended_attention_mask(self: Any, attention_mask: Any, input_shape: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0] == attention_mask.device:
            args = ()
        return original(self, attention_mask, input_shape, *args, **kwargs)

    return get_extended_attention_mask


@FIX.recognises
def has_no_device(function: ast.AST) -> bool:
    """A method of this name whose third argument is the type."""
    if not isinstance(function, ast.FunctionDef) or function.name != "get_extended_attention_mask":
        return False
    last = function.args.args[-1]
    return last.arg == "dtype" and len(function.args.args) == 4 and "torch" in ast.unparse(last)  # not TensorFlow's
