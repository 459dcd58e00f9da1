"""``create_position_ids_from_input_ids`` can no longer be imported from the modules of 17 models.

Symptom   ``ImportError: cannot import name 'create_position_ids_from_input_ids' from
          'transformers.models.roberta.modeling_roberta'``; the same of ``xlm_roberta``, ``camembert``,
          ``data2vec_text``, ``m2m_100`` and others, from models that are built on these.
Cause     The function became a method of the embeddings.
Releases  5.0.0 and later
Upstream  not put back
Here      The function of I-BERT, whose module still has it: the definition was the same in all of them.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

NAME = "create_position_ids_from_input_ids"
MODULES = (
    "altclip.modeling_altclip",
    "bridgetower.modeling_bridgetower",
    "camembert.modeling_camembert",
    "clap.modeling_clap",
    "data2vec.modeling_data2vec_text",
    "kosmos2.modeling_kosmos2",
    "kosmos2_5.modeling_kosmos2_5",
    "m2m_100.modeling_m2m_100",
    "markuplm.modeling_markuplm",
    "nllb_moe.modeling_nllb_moe",
    "roberta.modeling_roberta",
    "roberta_prelayernorm.modeling_roberta_prelayernorm",
    "seamless_m4t.modeling_seamless_m4t",
    "seamless_m4t_v2.modeling_seamless_m4t_v2",
    "xlm_roberta.modeling_xlm_roberta",
    "xlm_roberta_xl.modeling_xlm_roberta_xl",
    "xmod.modeling_xmod",
)

FIX = Fix(
    title=f"ImportError: cannot import name '{NAME}' from 'transformers.models.roberta.modeling_roberta'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(*((f"transformers.models.{module}:{NAME}", ">=5.0.0") for module in MODULES))
def create_position_ids_from_input_ids(module: Any) -> Any:
    """The function of I-BERT, whose module is imported when it is called."""
    from importlib import import_module

    # The name of the last argument as it was: from 5.24.0 on, I-BERT has another one.
    def create_position_ids_from_input_ids(input_ids: Any, padding_idx: int, past_key_values_length: int = 0) -> Any:
        function = getattr(import_module("transformers.models.ibert.modeling_ibert"), NAME)
        return function(input_ids, padding_idx, past_key_values_length)

    return create_position_ids_from_input_ids
