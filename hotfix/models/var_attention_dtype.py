"""VAR crashes in its fused attention under autocast: q and k are float32, v is not.

Symptom   xformers: ``ValueError: Query/Key/Value should either all have the same dtype, …``, or, for the bias alone,
          ``RuntimeError: invalid dtype for bias - should match query's dtype``;
          flash-attn: ``RuntimeError: FlashAttention only support fp16 and bf16 data type``
Cause     With l2-normalized attention under autocast, the normalization and the learned scale make q and k float32,
          while v keeps the dtype of autocast; the fused operators are called with them as they are. One revision casts
          q, k and v, but the bias to the dtype that q had before.
Releases  None: VAR is a repository, and its forks carry ``models/basic_var.py`` under other names. The revisions
          75ba1e2 to ff9f756 cast nothing, 74138aa casts for flash-attn only, bd84ce5 casts all but the bias.
Upstream  FoundationVision/VAR#27 and #30, fixed in 2236c79 (2024-04-23)
Here      The module's ``memory_efficient_attention`` and ``flash_attn_func`` are wrapped, in that module only: when one
          refuses the dtypes, it is called again with q, k and a bias in the dtype of v. Bitwise equal to 2236c79. A
          fork's own function that accepts the dtypes gets them unchanged, and nothing changes on the slow path; the
          key/value cache keeps its dtypes. Flash attention stays off with an ``attn_bias``, which it cannot take, by
          upstream's design.

Not here  The same mismatch in other code that calls xformers under autocast (diffusers#6727, xformers#1046): there the
          caller has to decide which dtype is meant.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional

from hotfix.errors import Refusal
from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch

FIX = Fix(
    title="VAR's fused attention rejects float32 queries and keys together with half-precision values",
    kind="crash",
    upstream=("FoundationVision/VAR#27", "FoundationVision/VAR#30", "FoundationVision/VAR@2236c79"),
    fixed_in="2236c79",
    errors=(
        "ValueError: Query/Key/Value should either all have the same dtype, or (in the quantized case) "
        "Key/Value should have dtype torch.int32",
        "RuntimeError: invalid dtype for bias - should match query's dtype",
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs: …",
        "RuntimeError: FlashAttention only support fp16 and bf16 data type",
    ),
    on_error=(
        "ValueError: Query/Key/Value should…have the same dtype…",
        "RuntimeError: invalid dtype for bias…",
        "NotImplementedError: No operator found for `memory_efficient_attention_forward`…",
        "RuntimeError: …only support fp16 and bf16 data type…",
    ),
    matcher_decides=True,  # forks have no releases that a sweep could examine
    prefilter="normalize(",
)

JUDGED = ("SelfAttention.forward",)


@FIX.wraps("*.basic_var:memory_efficient_attention", fingerprint_of=JUDGED)
def memory_efficient_attention(original: Callable[..., Any]) -> Callable[..., Any]:
    """The function of xformers, given queries, keys and a bias in the dtype of the values."""
    _require(original, "query", "key", "value", "attn_bias")

    def agreeing(query: Any, key: Any, value: Any, attn_bias: Any = None, *args: Any, **kwargs: Any) -> Any:
        query, key, attn_bias = (_in_dtype_of(value, given) for given in (query, key, attn_bias))
        return original(query, key, value, attn_bias, *args, **kwargs)

    return agreeing


@FIX.wraps("*.basic_var:flash_attn_func", fingerprint_of=JUDGED)
def flash_attn_func(original: Callable[..., Any]) -> Callable[..., Any]:
    """The function of flash-attn, given queries and keys in the dtype of the values."""
    _require(original, "q", "k", "v")

    def agreeing(q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return original(_in_dtype_of(v, q), _in_dtype_of(v, k), v, *args, **kwargs)

    return agreeing


def _require(original: Callable[..., Any], *names: str) -> None:
    """Refuse a function with other arguments, which a fork may have under the name."""
    if tuple(inspect.signature(original).parameters)[: len(names)] != names:
        raise Refusal(f"its arguments are {inspect.signature(original)} and do not begin with {', '.join(names)}")


def _in_dtype_of(value: torch.Tensor, given: Any) -> Any:
    """A floating-point tensor in the dtype of `value`; anything else (None, a mask object) as it is."""
    import torch

    if not isinstance(given, torch.Tensor) or given.dtype == value.dtype:
        return given
    if not (given.is_floating_point() and value.is_floating_point()):
        return given  # a boolean mask, or quantized values
    # A bias is expanded over batch and heads without memory of its own. Cast what it has, and expand again.
    own = given[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in given.stride())]
    return own.to(value.dtype).expand(given.shape)


# ---------------------------------------------------------------------------------------------------------------------
# Below: how the bug is recognized in the source of a fork.

ATTENTION = {"memory_efficient_attention", "flash_attn_func"}
CASTS = {"to", "type", "type_as", "half", "bfloat16"}


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Queries and keys are normalized and reach an attention call without a cast, or the bias in their old dtype."""
    if not any(isinstance(node, ast.Call) and _called(node) == "normalize" for node in ast.walk(function)):
        return False
    assigned: dict[Optional[str], list[ast.expr]] = {}
    for statement in [node for node in ast.walk(function) if isinstance(node, ast.Assign)]:
        for name in [node for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]:
            assigned.setdefault(name.id, []).append(statement.value)
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return any(_disagrees(call, assigned) for call in calls if _called(call) in ATTENTION)


def _disagrees(call: ast.Call, assigned: Mapping[Optional[str], list[ast.expr]]) -> bool:
    """Whether the arguments of an attention call may have two dtypes; `assigned`: the values of each variable."""
    cast = {name for name, values in assigned.items() if any(map(_casts, values))}
    given: dict[Optional[str], ast.expr] = dict(zip(("q", "k", "v", "attn_bias"), call.args))
    given.update({keyword.arg: keyword.value for keyword in call.keywords})
    q, k, v = (given.get(name, given.get(name[0])) for name in ("query", "key", "value"))
    if q is None or k is None or v is None:
        return False
    if any(not _casts(states) and _variable(states) not in cast for states in (q, k)):
        return not _casts(v) and _variable(v) not in cast  # else they agree the other way round
    before = {_variable(states) for states in (q, k)} - cast
    bias = given.get("attn_bias", ast.Constant(None))
    nodes = (node for value in (bias, *assigned.get(_variable(bias), ())) for node in ast.walk(value))
    return any(isinstance(node, ast.Attribute) and node.attr == "dtype" and _variable(node) in before for node in nodes)


def _casts(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and _called(node) in CASTS for node in ast.walk(expression))


def _called(call: ast.Call) -> Optional[str]:
    """The last component of the called name."""
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def _variable(expression: ast.expr) -> Optional[str]:
    """The variable at the root of ``q``, ``q.to(dtype)``, ``q.transpose(1, 2)``."""
    while not isinstance(expression, ast.Name):
        inner = getattr(expression, "value", getattr(expression, "func", None))
        if not isinstance(inner, ast.expr):
            return None
        expression = inner
    return expression.id
