"""``check_model_inputs`` is missing from ``transformers.utils.generic``.

Symptom   ``ImportError: cannot import name 'check_model_inputs' from 'transformers.utils.generic'`` from remote code of
          Solar-Open and others that was written for 4.54.0 to 5.1.0.
Cause     The decorator was split in two, and its name was removed.
Releases  5.2.0 and 5.3.0
Upstream  restored in 5.4.0, as a deprecated name of the first of the two
Here      The decorator of 5.1.0, with and without brackets: ``merge_with_config_defaults`` around ``capture_outputs``
          of ``transformers.utils.output_capturing``, which collects hidden states and attentions. 5.4.0 omits the
          second.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'check_model_inputs' from 'transformers.utils.generic'",
    kind="removed-api",
    fixed_in="5.4.0",
    group="removed-names",
)


@FIX.adds_made(("transformers.utils.generic:check_model_inputs", ">=5.2.0,<=5.3.0"))
def check_model_inputs(generic: Any) -> Callable[..., Any]:
    """The decorator of a forward."""

    def check_model_inputs(func: Any = None, *, tie_last_hidden_states: bool = True) -> Any:
        from importlib import import_module

        capture = import_module("transformers.utils.output_capturing").capture_outputs

        def decorate(forward: Any) -> Any:
            return generic.merge_with_config_defaults(capture(forward, tie_last_hidden_states=tie_last_hidden_states))

        return decorate if func is None else decorate(func)

    return check_model_inputs
