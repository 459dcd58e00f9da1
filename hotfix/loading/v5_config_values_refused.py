"""Configurations refuse values that 4.57.6 took: 0 for a float, null, and a flag where an int is declared.

Symptom   ``StrictDataclassFieldValidationError: Validation error for field 'hidden_dropout_prob': TypeError: Field
          'hidden_dropout_prob' expected float, got int (value: 0)`` from the constructor of a configuration, or as a
          checkpoint is loaded; the same of ``router_aux_loss_coef``, ``dilation`` (None) and many others. On 5.4.0,
          OLMo, Cohere, mBART, M2M100 and others have no configuration at all where huggingface_hub is newer:
          ``Field 'use_cache' expected int, got bool (value: True)``.
Cause     Since 5.4.0 the type of each field is checked, as it is annotated.
Releases  5.4.0 and later
Upstream  transformers#45375 and others widen the types one by one: ``hidden_dropout_prob``, ``dilation``, ``use_cache``
Here      Where a program would end with the error, an int is stored as the float that equals it, and None and flags as
          they are, as with upstream's wider types. Text, lists and fractions for whole numbers are refused as before,
          and so are fields that a class of yours declares, and values that are set later. A program that handles the
          error gets it.
"""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

from hotfix.fix import Fix
from hotfix.patching import scope

_REFUSED = "StrictDataclassFieldValidationError: Validation error for field '…':…TypeError: Field '…' "

FIX = Fix(
    title="StrictDataclassFieldValidationError: a configuration refuses 0 for a float, null or a flag",
    kind="loading",
    upstream=("transformers#45375",),
    errors=tuple(
        _REFUSED + of for of in ("expected …, got int (value: …)", "expected …, got bool…", "expected …, got NoneType…")
    )
    + tuple(_REFUSED + f"with value {value} doesn't match any type in …" for value in ("0", "None", "True", "False")),
    everyone="only where the release has refused a value: the new code waits for the error",
)

_SET_AGAIN = """
try:
    setattr({config}, {name}, {value})
except Exception as error:
    ours = __import__("sys").modules.get("hotfix.loading.v5_config_values_refused")
    if ours is None or not ours.took({config}, {name}, {value}, error):
        raise
"""
"""No import: cloudpickle stores the constructor of a class of the script together with what it imports."""


_SET = "setattr({config}, {name}, {value})"
_CONSTRUCTOR = "wrap_init_to_accept_kwargs"
_FIELDS = [{"config": "self", "name": "f.name", "value": value} for value in ("standard_kwargs[f.name]", "f.default")]
_NAMED = {"config": "config", "name": "key", "value": "value"}

FIX.edits(
    (f"transformers.configuration_utils:{_CONSTRUCTOR}", ">=5.4.0"),
    old=[_SET.format(**names) for names in _FIELDS],
    new=[_SET_AGAIN.format(**names) for names in _FIELDS],
)
FIX.edits(
    ("transformers.configuration_utils:PreTrainedConfig.from_dict", ">=5.4.0"),
    old=_SET.format(**_NAMED),
    new=_SET_AGAIN.format(**_NAMED),
    beside=_SET.format(**_FIELDS[1]),
    fingerprint_of=("PreTrainedConfig.from_dict", _CONSTRUCTOR),
)


def took(config: Any, name: str, value: Any, error: Exception) -> bool:
    """Set a refused value in the form that the field takes; for None and flags, past the check.

    Args:
        config: the configuration that is made.
        name: of the field.
        value: the refused value.
        error: what the check has raised.

    Returns:
        Whether it was set; otherwise it stays refused.
    """
    if type(error).__name__ != "StrictDataclassFieldValidationError" or type(error.__cause__) is not TypeError:
        return False  # a check of the class itself, which no type decides
    field = type(config).__dataclass_fields__.get(name)
    if field is None:  # a property of a class of the program's
        return False
    is_union = get_origin(field.type) in (Union, getattr(types, "UnionType", Union))
    kinds = get_args(field.type) if is_union else (field.type,)
    is_float = type(value) is int and float in kinds and float(value) == value
    is_wider = value is None or (type(value) is bool and int in kinds)
    if not (is_float or is_wider) or not _is_of_the_library(type(config), field):
        return False
    if scope.is_handled_around(FIX.id, type(error), "huggingface_hub"):
        return False
    if is_float:
        setattr(config, name, float(value))
        return True
    kind = field.type
    field.type = Union[kind, type(value)]
    try:
        setattr(config, name, value)
    finally:
        field.type = kind
    return True


def _is_of_the_library(kind: type, field: Any) -> bool:
    """Whether a class of the library declares the field."""
    having = [base for base in kind.__mro__ if vars(base).get("__dataclass_fields__", {}).get(field.name) is field]
    return bool(having) and having[-1].__module__.startswith("transformers.")
