"""The configuration of Qwen2-VL and Qwen2.5-VL has the model_type of its text model.

Symptom   Silent. After ``from_pretrained``, ``config.model_type`` is ``qwen2_5_vl_text``, and ``_name_or_path`` is
          empty, as in the text model. Frameworks that use either (PEFT, TRL, swift, vLLM) take the wrong branch.
Cause     Attributes that the text configuration also has are read and written there, including these two.
Releases  4.57.1 to 4.57.5
Upstream  2U1/Qwen-VL-Series-Finetune#240 (fixed in 4.57.6)
Here      Both come from the configuration itself, as in 4.57.6, which excludes them in the same list. A class with a
          ``__getattribute__`` or ``__setattr__`` of its own is left alone.
"""

from __future__ import annotations

from typing import Any

from hotfix._support import memo
from hotfix.fix import Fix

FIX = Fix(
    title="config.model_type is qwen2_5_vl_text after loading Qwen2.5-VL",
    kind="api",
    upstream=("2U1/Qwen-VL-Series-Finetune#240",),
    fixed_in="4.57.6",
    errors=("ValueError: …qwen2_5_vl_text…",),
    everyone="both names belong to the configuration itself",
    prefilter="_attn_implementation_internal",
)

_CONFIGS = tuple(
    f"transformers.models.{model}.configuration_{model}:{name}Config"
    for model, name in (("qwen2_vl", "Qwen2VL"), ("qwen2_5_vl", "Qwen2_5_VL"))
)

_READS = """
if "text_config" in super().__getattribute__("__dict__") and key not in {names}:
    text_config = super().__getattribute__("text_config")
    if key in text_config.__dict__:
        return getattr(text_config, key)
"""
_WRITES = """
if (
    (text_config := super().__getattribute__("__dict__").get("text_config")) is not None
    and key not in {names}
    and key in text_config.__dict__
):
    setattr(text_config, key, value)
else:
    super().__setattr__(key, value)
"""
_OF_THE_RELEASE = ("dtype", "_attn_implementation_internal")
_OF_THE_WHOLE = ("_name_or_path", "model_type", *_OF_THE_RELEASE)

_METHODS = ("__getattribute__", "__setattr__")

for _method, _releases, _statement in (
    ("__getattribute__", ">=4.57.1,<=4.57.5", _READS),
    ("__setattr__", ">=4.57.1,<=4.57.4", _WRITES),
):
    FIX.edits(
        *((f"{config}.{_method}", _releases) for config in _CONFIGS),
        old=_statement.format(names=[*_OF_THE_RELEASE]),
        new=f"from {__name__} import of_the_whole\n" + _statement.format(names="of_the_whole(type(self))").lstrip(),
    )


def of_the_whole(kind: type) -> tuple[str, ...]:
    """The attributes that belong to the configuration itself.

    Args:
        kind: its class. One that reads or writes attributes by code of its own gets those of the release, since the
            two have to agree.
    """
    reads, writes = (getattr(vars(owner)[name], "__code__", None) for owner, name in zip(_owners(kind), _METHODS))
    return _OF_THE_WHOLE if _knows_them(reads) and _knows_them(writes) else _OF_THE_RELEASE


@memo.weakly
def _owners(kind: type) -> tuple[type, ...]:
    return tuple(next(base for base in kind.__mro__ if name in vars(base)) for name in _METHODS)


def _knows_them(code: Any) -> bool:
    """Whether it is this code, or that of 4.57.5, which is right."""
    return code is not None and ("of_the_whole" in code.co_names or _OF_THE_WHOLE in code.co_consts)
