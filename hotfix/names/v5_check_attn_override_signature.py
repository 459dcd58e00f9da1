"""Overrides of ``_check_and_adjust_attn_implementation`` get an argument that they do not accept.

Symptom   ``TypeError: Tiny._check_and_adjust_attn_implementation() got an unexpected keyword argument
          'allow_all_kernels'`` while a model of remote code is built.
Cause     The method got the argument in 5.3.0, and the library passes it.
Releases  5.3.0 and later
Upstream  not repaired
Here      An override that does not accept it is called without it, as in 5.2.0. Such a class chooses its attention as
          if kernels of unknown authors were not allowed.
"""

from __future__ import annotations

from typing import Callable, Optional

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="TypeError: _check_and_adjust_attn_implementation() got an unexpected keyword argument 'allow_all_kernels'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "TypeError: …_check_and_adjust_attn_implementation() got an unexpected keyword argument 'allow_all_kernels'",
    ),
)

MODEL = "transformers.modeling_utils:PreTrainedModel"

FIX.edits(
    (f"{MODEL}.__init__", ">=5.3.0"),
    old="""
        self.config._attn_implementation_internal = self._check_and_adjust_attn_implementation(
            __IMPLEMENTATION, is_init_check=True, allow_all_kernels=__ALLOWED
        )
    """,
    new=f"""
        from {__name__} import checked
        self.config._attn_implementation_internal = checked(
            self._check_and_adjust_attn_implementation,
            __IMPLEMENTATION, is_init_check=True, allow_all_kernels=__ALLOWED
        )
    """,
    when=f"from {__name__} import takes_no_kernels; takes_no_kernels(self._check_and_adjust_attn_implementation)",
)
FIX.edits(
    (f"{MODEL}.set_attn_implementation", ">=5.3.0"),
    old="""
        requested_implementation = self._check_and_adjust_attn_implementation(
            requested_implementation, is_init_check=False, allow_all_kernels=__ALLOWED
        )
    """,
    new=f"""
        from {__name__} import checked
        requested_implementation = checked(
            self._check_and_adjust_attn_implementation,
            requested_implementation, is_init_check=False, allow_all_kernels=__ALLOWED
        )
    """,
    when=f"from {__name__} import takes_no_kernels; takes_no_kernels(self._check_and_adjust_attn_implementation)",
)


def takes_no_kernels(method: Callable[..., str]) -> bool:
    """Whether an override cannot be given ``allow_all_kernels``, and the program would crash at that."""
    return not overrides.takes(method, "allow_all_kernels") and overrides.would_end(TypeError)


def checked(
    method: Callable[..., str], implementation: Optional[str], is_init_check: bool, allow_all_kernels: bool
) -> str:
    """The attention implementation of a model.

    Args:
        method: the override of the model, which does not accept the last argument.
        implementation: the requested implementation.
        is_init_check: whether the model is being built.
        allow_all_kernels: whether kernels of unknown authors may be loaded; not passed on.
    """
    return method(implementation, is_init_check=is_init_check)
