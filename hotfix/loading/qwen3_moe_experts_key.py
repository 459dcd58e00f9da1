"""Checkpoints of Qwen3's mixtures of experts that later releases have saved do not load.

Symptom   ``RuntimeError: … size mismatch for weight: copying a param with shape torch.Size([160, 2048]) …`` for each
          router, where the number of experts is not the class's default: 128 for Qwen3-MoE and the talker of
          Qwen3-Omni, 60 for Qwen3-VL-MoE.
Cause     5.1.0 and later write ``num_local_experts`` in place of ``num_experts`` (Qwen3-VL-MoE: 5.4.0 and later).
          Earlier releases do not read it.
Releases  Qwen3-MoE 4.51.0 to 5.0.0, the talker of Qwen3-Omni 4.57.1 to 5.0.0, Qwen3-VL-MoE 4.57.1 to 5.3.0
Upstream  the name is understood since 5.1.0, and since 5.4.0 for Qwen3-VL-MoE
Here      A configuration of the library that 5.1.0 or later has written takes the number under its new name, as they
          do. It is saved under the old name. A ``num_local_experts`` of your own stays an attribute.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from packaging.version import Version

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library, was_written_since
from hotfix.patching import scope

FIX = Fix(
    title="Qwen3 mixtures of experts that 5.x has saved do not load: size mismatch of every router",
    kind="loading",
    fixed_in="5.1.0",
    errors=("RuntimeError: …size mismatch for weight: copying a param with shape …",),
    everyone="only for files of 5.1.0 and later that lack the old name: the new code tests it",
    prefilter="num_experts",
)

KEY = "num_local_experts"
CLASSES = {
    ("qwen3_moe", "Qwen3MoeConfig"): ">=4.51.0,<=5.0.0",
    ("qwen3_omni_moe", "Qwen3OmniMoeTalkerTextConfig"): ">=4.57.1,<=5.0.0",
    ("qwen3_vl_moe", "Qwen3VLMoeTextConfig"): ">=4.57.1,<=5.3.0",
}


@FIX.recognises
def knows_one_name(node: ast.AST, *more: ast.AST) -> bool:
    """Whether a class does not know the other name of its experts; only a class with its ``__init__`` is judged."""
    strings = [node.value for whole in more for node in ast.walk(whole) if isinstance(node, ast.Constant)]
    return bool(more) and KEY not in strings


def with_either_name(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the ``__init__`` of a configuration."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it is called so in a traceback
        # A part of a configuration names no release; a configuration built in code has no model_type either.
        form = {"rope_parameters", "model_type"} <= kwargs.keys()
        is_later = was_written_since(kwargs, Version("5.1.0"), form)
        is_meant = KEY in kwargs and "num_experts" not in kwargs and is_later and is_of_the_library(type(self))
        if is_meant and not scope.is_handled_around(FIX.id, RuntimeError):
            kwargs["num_experts"] = kwargs[KEY]
        original(self, *args, **kwargs)

    return __init__


for (_module, _class), _releases in CLASSES.items():
    FIX.wraps(
        (f"transformers.models.{_module}.configuration_{_module}:{_class}.__init__", _releases),
        fingerprint_of=(f"{_class}.__init__", _class),
    )(with_either_name)
