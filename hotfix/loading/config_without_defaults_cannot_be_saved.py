"""A configuration that cannot be made without arguments cannot be saved.

Symptom   ``KeyError: 'architectures'`` from ``save_pretrained`` of InternVL 1.5 and 2 on 4.45 and later: training ends
          at its first checkpoint. So does whatever else but a ValueError the ``__init__`` of a configuration raises
          without arguments.
Cause     What a configuration says of generation is compared with one of its class without arguments.
Releases  4.45.0 to 4.57.6; see `config_without_defaults_cannot_be_shown` for 5.x
Upstream  InternVL#612; 4.44.2 makes none
Here      The configuration of the decoder answers in its place, as the release does after a ValueError.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="KeyError: 'architectures' from save_pretrained of InternVL",
    kind="loading",
    upstream=("InternVL#612",),
    fixed_in="5.20.0",
    errors=("KeyError: 'architectures'",),
    on_error=("Exception: …",),  # whatever an __init__ raises that wants arguments
)

FIX.edits(
    ("transformers.configuration_utils:PretrainedConfig._get_non_default_generation_parameters", ">=4.45.0,<5.0.0"),
    old="default_config = self.__class__()",
    new=f"""
        from {__name__} import comparable
        default_config = comparable(self)
    """,
)


def comparable(config: Any) -> Any:
    """A configuration of the same class without arguments, else one of the class of its decoder, else None."""
    try:
        return config.__class__()
    except Exception:  # the error has been declared before this runs
        decoder = config.get_text_config(decoder=True)
        return decoder.__class__() if decoder is not config else None
