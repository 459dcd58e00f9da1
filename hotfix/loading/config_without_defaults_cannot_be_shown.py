"""A configuration that cannot be made without arguments can be neither loaded nor saved.

Symptom   ``ValueError: Unsupported architecture:`` (with nothing behind it, or a model that is fine) in
          ``from_pretrained`` of InternVL, InternVL 2.5 and 3 and their descendants (SAIL-VL2), or any other error that
          the ``__init__`` of a configuration raises without arguments.
Cause     ``repr`` and ``save_pretrained`` compare a configuration with one of its class without arguments.
          ``is_composition = True`` prevented this before 4.52.1; since then only ``has_no_defaults_at_init`` does.
          ``from_pretrained`` formats every configuration for its log.
Releases  4.52.1 to 5.19.0
Upstream  InternVL#1203, SAIL-VL2#3; fixed in 5.20.0, which no longer builds one
Here      If the class raises without arguments, every value counts as different, as in 5.20.0. All others are shown
          and saved as before, including one with ``is_composition = True`` that can be built.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: Unsupported architecture: from a configuration like InternVL's, in from_pretrained",
    kind="loading",
    errors=("ValueError: Unsupported architecture: …",),
    upstream=("InternVL#1203", "SAIL-VL2#3"),
    fixed_in="5.20.0",
)

_MADE = "self.__class__().to_dict() if not self.has_no_defaults_at_init else {}"

for _class, _method, _name, _defaults, _releases in (
    ("PretrainedConfig", "to_diff_dict", "class_config_dict", "defaults", ">=4.52.1,<5.0.0"),
    ("PreTrainedConfig", "to_diff_dict", "class_config_dict", "defaults", ">=5.0.0,<5.20.0"),
    ("PreTrainedConfig", "_get_generation_parameters", "default_config", "arguments", ">=5.0.0,<5.20.0"),
):
    FIX.edits(
        (f"transformers.configuration_utils:{_class}.{_method}", _releases),
        old=f"{_name} = {_MADE}",
        new=f"""
            from {__name__} import {_defaults}
            {_name} = {_defaults}(self)
        """,
        on_error=("Exception: …",),  # any error of an __init__ that needs arguments
    )


def defaults(config: Any) -> dict[str, Any]:
    """The values of a configuration of the same class without arguments; empty if it cannot be built."""
    try:
        made: dict[str, Any] = config.__class__().to_dict() if not config.has_no_defaults_at_init else {}
    except Exception:  # the error has been declared before this runs
        return {}
    return made


def arguments(config: Any) -> dict[str, Any]:
    """The same, and the names of all arguments and attributes of the class, without values."""
    import inspect

    known = dict.fromkeys(name for cls in type(config).__mro__[:-1] for name in inspect.signature(cls).parameters)
    return {**known, **dict.fromkeys(dir(type(config))), **defaults(config)}
