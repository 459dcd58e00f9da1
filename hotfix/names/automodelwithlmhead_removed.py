"""``AutoModelWithLMHead`` and its mappings are gone.

Symptom   ``ImportError: cannot import name 'AutoModelWithLMHead' from 'transformers'`` from scripts for T5, GPT-2 and
          BERT that were written for 2.x and 3.x.
Cause     The class and its mappings were removed in favour of ``AutoModelForCausalLM``, ``AutoModelForMaskedLM`` and
          ``AutoModelForSeq2SeqLM``.
Releases  5.0.0 and later
Upstream  not put back
Here      A class with a mapping of its own: the 78 model types of 4.57.6 that 5.x still has, each with its class. Other
          types are refused, as in 4.57.6. There is no deprecation warning.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'AutoModelWithLMHead' from 'transformers'",
    kind="removed-api",
    group="removed-names",
)

TYPES = """
    albert bart bert big_bird bigbird_pegasus blenderbot-small bloom camembert codegen convbert cpmant ctrl
    data2vec-text deberta deberta-v2 dia distilbert electra encoder-decoder ernie esm exaone4 falcon_mamba
    flaubert fnet fsmt funnel git gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gptj ibert
    layoutlm led longformer longt5 luke m2m_100 mamba mamba2 marian megatron-bert mobilebert moonshine mpnet mpt
    mra mvp nllb-moe nystromformer openai-gpt pegasus_x plbart pop2piano reformer rembert roberta
    roberta-prelayernorm roc_bert roformer rwkv speech_to_text squeezebert switch_transformers t5 t5gemma tapas
    whisper xlm xlm-roberta xlm-roberta-xl xlnet xmod yoso
"""
OTHERS = {
    "megatron-bert": "MegatronBertForCausalLM",
    "reformer": "ReformerModelWithLMHead",
    "whisper": "WhisperForConditionalGeneration",
}
"""The classes of types for which the first mapping of `_PRESENT` has another one."""
_PRESENT = ("MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "CAUSAL_LM", "SPEECH_SEQ_2_SEQ")
LACKING = ">=5.0.0"
AUTO = "transformers.models.auto.modeling_auto"


@FIX.adds_made((f"{AUTO}:MODEL_WITH_LM_HEAD_MAPPING_NAMES", LACKING))
def names(auto: Any) -> Any:
    """The name of the class for each model type, in the old order."""
    present = [getattr(auto, f"MODEL_FOR_{name}_MAPPING_NAMES") for name in _PRESENT]
    classes = (
        (kind, OTHERS.get(kind) or next(filter(None, (table.get(kind) for table in present)), ""))
        for kind in TYPES.split()
    )
    return type(present[0])((kind, name) for kind, name in classes if name)


@FIX.adds_made((f"{AUTO}:MODEL_WITH_LM_HEAD_MAPPING", LACKING), exported_by=("transformers",))
def mapping(auto: Any) -> Any:
    """The class for each configuration class, imported on first use."""
    return type(auto.MODEL_FOR_CAUSAL_LM_MAPPING)(auto.CONFIG_MAPPING_NAMES, auto.MODEL_WITH_LM_HEAD_MAPPING_NAMES)


@FIX.adds_made((f"{AUTO}:AutoModelWithLMHead", LACKING), exported_by=("transformers", "transformers.models.auto"))
def auto_class(auto: Any) -> type:
    """The class, built like its neighbours."""
    members = {"_model_mapping": auto.MODEL_WITH_LM_HEAD_MAPPING, "__module__": AUTO}
    made: type = auto.auto_class_update(
        type("AutoModelWithLMHead", (auto._BaseAutoModelClass,), members), head_doc="language modeling"
    )
    return made
