"""Functions of flash-attn can no longer be imported from ``transformers.modeling_flash_attention_utils``.

Symptom   ``ImportError: cannot import name 'index_first_axis' from 'transformers.modeling_flash_attention_utils'``, or
          ``'unpad_input'``, ``'prepare_fa2_from_position_ids'`` or another, from EasyR1, MM-UPT, verl 0.5,
          ring-flash-attention and axolotl 0.8.
Cause     The module now looks up the functions of flash-attn 2 and 3 in tables, and has helpers of its own.
Releases  ``index_first_axis`` 4.53.0 and later; ``pad_input``, ``unpad_input``, ``flash_attn_func``,
          ``flash_attn_varlen_func`` and ``prepare_fa2_from_position_ids`` from 4.54.0,
          ``is_flash_attn_greater_or_equal`` from 4.55.1, ``is_flash_attn_greater_or_equal_2_10`` from 5.4.0
Upstream  ring-flash-attention#88 (not put back)
Here      The functions of flash-attn 2 themselves, as before; without flash-attn the names are missing, as before. The
          longest sequence in ``prepare_fa2_from_position_ids`` is the highest position plus one, a tensor, as in
          4.53.3.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.errors import Refusal
from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'index_first_axis' from 'transformers.modeling_flash_attention_utils'",
    kind="removed-api",
    needs={"flash-attn": ">=2"},
    upstream=("ring-flash-attention#88",),
    group="removed-names",
)

FLASH = "transformers.modeling_flash_attention_utils"
OF_FLASH_ATTN = {
    "index_first_axis": ("flash_attn.bert_padding", ">=4.53.0"),
    "pad_input": ("flash_attn.bert_padding", ">=4.54.0"),
    "unpad_input": ("flash_attn.bert_padding", ">=4.54.0"),
    "flash_attn_func": ("flash_attn", ">=4.54.0"),
    "flash_attn_varlen_func": ("flash_attn", ">=4.54.0"),
}


def _imported(name: str, home: str, lacking: str) -> None:
    @FIX.adds_made((f"{FLASH}:{name}", lacking))
    def original(flash: Any) -> Any:
        from importlib import import_module

        try:
            return getattr(import_module(home), name)
        except (ImportError, OSError) as error:
            raise Refusal(f"flash-attn is installed and cannot be imported: {error}") from error


for _name, (_home, _lacking) in OF_FLASH_ATTN.items():
    _imported(_name, _home, _lacking)


@FIX.adds_made((f"{FLASH}:prepare_fa2_from_position_ids", ">=4.54.0"))
def prepare_fa2_from_position_ids(flash: Any) -> Callable[..., Any]:
    """Packed sequences; each begins where the positions restart."""

    def prepare_fa2_from_position_ids(query: Any, key: Any, value: Any, position_ids: Any) -> tuple[Any, ...]:
        """Make one row of a batch.

        Args:
            query: (batch, length, heads, head size).
            key: the same.
            value: the same.
            position_ids: (batch, length); each sequence begins with 0.

        Returns:
            The three as (batch * length, heads, head size), the index of each token, the bounds of the sequences for
            queries and keys, int32, and twice the length of the longest one.
        """
        torch = flash.torch
        flat = [states.contiguous().view(-1, *states.shape[-2:]) for states in (query, key, value)]
        positions = position_ids.flatten()
        indices = torch.arange(len(positions), dtype=torch.int32, device=positions.device)
        end = torch.tensor([len(positions)], dtype=torch.int32, device=positions.device)
        bounds = torch.cat((indices[positions == 0], end))
        longest = positions.max() + 1
        return (*flat, indices, (bounds, bounds), (longest, longest))

    return prepare_fa2_from_position_ids


@FIX.adds_made((f"{FLASH}:is_flash_attn_greater_or_equal", ">=4.55.1"))
def is_flash_attn_greater_or_equal(flash: Any) -> Any:
    """The function of `transformers.utils`."""
    from importlib import import_module

    return import_module("transformers.utils").is_flash_attn_greater_or_equal


@FIX.adds_made((f"{FLASH}:is_flash_attn_greater_or_equal_2_10", ">=5.4.0"))
def is_flash_attn_greater_or_equal_2_10(flash: Any) -> Callable[[], bool]:
    """The same for 2.1.0."""

    def is_flash_attn_greater_or_equal_2_10() -> bool:
        from importlib import import_module

        return bool(import_module("transformers.utils").is_flash_attn_greater_or_equal("2.1.0"))

    return is_flash_attn_greater_or_equal_2_10
