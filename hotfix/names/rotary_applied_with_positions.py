"""``apply_rotary_pos_emb`` no longer takes ``position_ids``.

Symptom   ``TypeError: unsqueeze(): argument 'dim' (position 1) must be int, not Tensor`` (or ``not NoneType``), or
          ``TypeError: apply_rotary_pos_emb() got an unexpected keyword argument 'position_ids'``, from custom attention
          layers that call ``apply_rotary_pos_emb(q, k, cos, sin, position_ids)`` as the library did up to 4.57.
Cause     The argument, unused since 4.38, was removed, and the value passed in its place is read as a dimension.
Releases  5.0.0 and later
Upstream  not put back
Here      After the error, the argument is left out, as it had no effect. Rows of these positions are looked up in the
          tables that `rotary-by-length` returns.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.rotary_by_length import are_rows

FIX = Fix(
    title="TypeError: apply_rotary_pos_emb() got an unexpected keyword argument 'position_ids'",
    kind="removed-api",
    group="removed-names",
    exempt={"transformers.models.*:*": "few programs call the function of these models"},
    errors=(
        "TypeError: apply_rotary_pos_emb() got an unexpected keyword argument 'position_ids'",
        "TypeError: unsqueeze(): argument 'dim' (position 1) must be int, not Tensor",
        "TypeError: unsqueeze(): argument 'dim' (position 1) must be int, not NoneType",
    ),
)

FOLDERS = """
    cohere falcon gemma gemma2 gpt_neox granite llama mistral mixtral olmo olmo2 persimmon phi phi3 qwen2 qwen2_moe
    qwen3 qwen3_moe stablelm starcoder2
"""


@FIX.wraps(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:apply_rotary_pos_emb", ">=5.0.0")
        for folder in FOLDERS.split()
    ),
    on_error=(
        "TypeError: …() got an unexpected keyword argument 'position_ids'",
        "TypeError: unsqueeze(): argument 'dim' (position 1) must be int, not …",
        "TypeError: …apply_rotary_pos_emb() got multiple values for argument 'unsqueeze_dim'",
        "TypeError: …apply_rotary_pos_emb() takes from 4 to 5 positional arguments but 6 were given",
    ),
)
def without_positions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the positions out, or look up their rows of cos and sin."""

    def apply_rotary_pos_emb(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(("q", "k", "cos", "sin", "position_ids", "unsqueeze_dim"), args)), **kwargs}
        positions = given.get("position_ids")
        if len(given) < len(args) + len(kwargs) or isinstance(positions, int):
            return original(*args, **kwargs)
        given.pop("position_ids", None)
        is_whole = positions is not None and {"q", "cos", "sin"} <= given.keys()
        if is_whole and are_rows(given["cos"], given["q"], positions, given.get("unsqueeze_dim", 1)):
            given.update(cos=given["cos"][positions], sin=given["sin"][positions])
        return original(**given)

    return apply_rotary_pos_emb


@FIX.recognises
def takes_none(function: Any) -> bool:
    """The function without positions."""
    names = [argument.arg for argument in function.args.args]
    return function.name == "apply_rotary_pos_emb" and names == ["q", "k", "cos", "sin", "unsqueeze_dim"]
