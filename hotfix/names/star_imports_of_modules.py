"""A star-import of a module no longer gives layers, functions of a model, and names of Python and torch.

Symptom   ``NameError: name 'LlamaAttention' is not defined``, ``'apply_rotary_pos_emb'`` or ``'Tuple'`` in a file that
          begins with ``from transformers.models.llama.modeling_llama import *``; ``ImportError: cannot import name
          'Tuple'`` if it names them.
Cause     Since 4.48.0, ``__all__`` of a module of a model lists its public models only; later releases also stopped to
          import names of ``typing`` and others. Before, a star-import gave everything.
Upstream  not put back
Here      A file that imports all of a module of the library, and cannot be imported itself without one of its names,
          gets those that it reads and nothing defines, if the module has them, has had them (``removed.txt``), or if
          they are in `hotfix.patching.tabled.PASSED_ON`. Left alone: a file that lacks names in its functions only,
          that handles the NameError, or that asks which names it has (``globals()``). The target is one of the names,
          and its case runs like that of any fix.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="NameError: name 'LlamaAttention' is not defined, after a star-import of modeling_llama",
    kind="removed-api",
    group="removed-names",
    errors=tuple(
        f"NameError: name '{name}' is not defined"
        for name in ("LlamaAttention", "LlamaDecoderLayer", "LlamaMLP", "LlamaRMSNorm", "apply_rotary_pos_emb")
    ),
)


@FIX.adds_made(("transformers.models.llama.modeling_llama:Tuple", ">=4.53.0"), only_needed=True)
def tuple_of_typing(modeling_llama: Any) -> Any:
    """The class for annotations that modules of models imported from ``typing``."""
    import typing

    return typing.Tuple
