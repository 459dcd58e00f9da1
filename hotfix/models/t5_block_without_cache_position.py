"""A layer of T5 that a program calls itself, without ``cache_position``, raises.

Symptom   ``TypeError: 'NoneType' object is not subscriptable`` at ``cache_position[-1] + 1``, from stacks of a
          program's own that are built of ``T5Block`` or ``T5LayerSelfAttention``.
Cause     Since 4.46.1 the layers read their length from an optional argument.
Releases  4.46.1 to 5.3.0, in T5 and six models like it
Upstream  YourMT3#15, YourMT3#16 (first fixed in 5.4.0)
Here      Without the argument, the length is that of the keys, in cross-attention that of the input. Equal to 4.45.2.
          A program that handles the error gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="TypeError: 'NoneType' object is not subscriptable, at cache_position[-1] + 1 in T5Block",
    kind="crash",
    fixed_in="5.4.0",
    upstream=("YourMT3#15", "YourMT3#16"),
    errors=("TypeError: 'NoneType' object is not subscriptable",),
    everyone="only for None, which the release cannot index: the new code tests it",
)

_RELEASES = ">=4.46.1,<=5.3.0"
_MODELS = {
    "t5": "T5",
    "mt5": "MT5",
    "longt5": "LongT5",
    "pix2struct": "Pix2StructText",
    "pop2piano": "Pop2Piano",
    "switch_transformers": "SwitchTransformers",
    "udop": "Udop",
}
_CLASSES = [f"transformers.models.{folder}.modeling_{folder}:{name}" for folder, name in _MODELS.items()]

for _class in _CLASSES:
    _asks = "encoder_hidden_states is not None"
    FIX.edits(
        (f"{_class}Block.forward", _RELEASES),
        old="cache_position[-1] + 1",
        new="None if cache_position is None else cache_position[-1] + 1",  # the attention then asks for the length
        beside=f"do_cross_attention = {_asks if 'pix2struct' in _class else f'self.is_decoder and {_asks}'}",
    )
FIX.edits(
    *((f"{name}Attention.forward", _RELEASES) for name in _CLASSES),
    old="real_seq_length = query_length if query_length is not None else cache_position[-1] + 1",
    new=f"""
        from {__name__} import length_of
        real_seq_length = query_length
        if real_seq_length is None:
            real_seq_length = length_of(cache_position, seq_length if is_cross_attention else key_length)
    """,
)


def length_of(positions: Any, otherwise: int) -> Any:
    """The number of tokens up to the last one.

    Args:
        positions: of the tokens; None if the program passes none.
        otherwise: the number for None.

    Raises:
        TypeError: there are none, and the program handles the release's error.
    """
    if positions is None and not scope.is_handled_around(FIX.id, TypeError):
        return otherwise
    return positions[-1] + 1
