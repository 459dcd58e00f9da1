"""A decoder layer of your own does not take ``cache_position``.

Symptom   ``TypeError: QLlamaDecoderLayer.forward() got an unexpected keyword argument 'cache_position'`` (later also
          ``'position_embeddings'``) from code that puts layers written for 4.37 in the place of the library's: Atom,
          QuaRot, SliceGPT and other projects for quantization and pruning.
Cause     The model passes more to each layer: the positions in the cache since 4.38.0, the cosine and sine of the
          positions since 4.45.1.
Releases  4.38.0 to 4.53.3, in Llama; 4.42.0 to 4.53.3, in Mistral and Qwen2
Upstream  Atom#19 (not put back)
Here      A layer that was not written in transformers, and takes neither them nor ``**kwargs``, is called without them
          after the TypeError, as in 4.37.2. A compiled model is left alone. Training with gradient checkpointing, which
          passes them by position, raises as before.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import asked, scope
from hotfix.pattern import Rewrite, occurs

_OTHERS = "the layers of this model are rarely replaced"
_RARELY_REPLACED = """
    arcee:ArceeModel aria:AriaTextModel bamba:BambaModel bart:BartDecoder bigbird_pegasus:BigBirdPegasusDecoder
    biogpt:BioGptModel bitnet:BitNetModel blenderbot:BlenderbotDecoder blenderbot_small:BlenderbotSmallDecoder
    chameleon:ChameleonModel cohere:CohereModel cohere2:Cohere2Model csm:CsmBackboneModel
    csm:CsmDepthDecoderModel deepseek_v3:DeepseekV3Model diffllama:DiffLlamaModel dots1:Dots1Model
    emu3:Emu3TextModel falcon_h1:FalconH1Model gemma:GemmaModel gemma2:Gemma2Model gemma3:Gemma3TextModel
    gemma3n:Gemma3nTextModel glm:GlmModel glm4:Glm4Model glm4v:Glm4vTextModel glm4v_moe:Glm4vMoeTextModel
    glm_image:GlmImageTextModel glm_ocr:GlmOcrTextModel granite:GraniteModel granitemoe:GraniteMoeModel
    granitemoehybrid:GraniteMoeHybridModel granitemoeshared:GraniteMoeSharedModel helium:HeliumModel
    idefics:IdeficsModel jamba:JambaModel kosmos2_5:Kosmos2_5TextTransformer
    kyutai_speech_to_text:KyutaiSpeechToTextModel llama4:Llama4TextModel m2m_100:M2M100Decoder
    marian:MarianDecoder mbart:MBartDecoder mimi:MimiTransformerModel minimax:MiniMaxModel mixtral:MixtralModel
    mllama:MllamaTextModel moonshine:MoonshineDecoder moshi:MoshiDepthDecoder moshi:MoshiModel
    musicgen_melody:MusicgenMelodyDecoder nemotron:NemotronModel olmo:OlmoModel olmo2:Olmo2Model
    olmoe:OlmoeModel opt:OPTDecoder pegasus:PegasusDecoder pegasus_x:PegasusXDecoder persimmon:PersimmonModel
    phi:PhiModel phi3:Phi3Model phi4_multimodal:Phi4MultimodalModel phimoe:PhimoeModel plbart:PLBartDecoder
    qwen2_5_omni:Qwen2_5OmniTalkerModel qwen2_5_omni:Qwen2_5OmniThinkerTextModel qwen2_5_vl:Qwen2_5_VLModel
    qwen2_5_vl:Qwen2_5_VLTextModel qwen2_moe:Qwen2MoeModel qwen2_vl:Qwen2VLModel qwen2_vl:Qwen2VLTextModel
    qwen3:Qwen3Model qwen3_moe:Qwen3MoeModel qwen3_omni_moe:Qwen3OmniMoeTalkerModel
    qwen3_omni_moe:Qwen3OmniMoeThinkerTextModel qwen3_vl:Qwen3VLTextModel qwen3_vl_moe:Qwen3VLMoeTextModel
    smollm3:SmolLM3Model stablelm:StableLmModel starcoder2:Starcoder2Model
    time_series_transformer:TimeSeriesTransformerDecoder vaultgemma:VaultGemmaModel whisper:WhisperDecoder
"""

FIX = Fix(
    title="TypeError: QLlamaDecoderLayer.forward() got an unexpected keyword argument 'cache_position'",
    kind="removed-api",
    group="removed-names",
    upstream=("Atom#19",),
    everyone="only after a layer that is not the library's has refused an argument: the new code tests it",
    errors=tuple(
        f"TypeError: …{model}DecoderLayer.forward() got an unexpected keyword argument '{name}'"
        for model in ("Llama", "Mistral", "Qwen2")
        for name in ("cache_position", "position_embeddings")
    ),
    prefilter="layer_outputs = decoder_layer(",
    exempt={
        "transformers.models.*:*": _OTHERS,
        **{
            f"transformers.models.{folder}.modeling_{folder}:{name}.forward": _OTHERS
            for folder, _, name in (word.partition(":") for word in _RARELY_REPLACED.split())
        },
    },
)

NEWER = ("cache_position", "position_embeddings")

# The folder of each model: the beginning of the names of its classes, and the releases.
MODELS = {
    "llama": ("Llama", ">=4.38.0,<=4.53.3"),
    "mistral": ("Mistral", ">=4.42.0,<=4.53.3"),
    "qwen2": ("Qwen2", ">=4.42.0,<=4.53.3"),
}
_CALL = "layer_outputs = decoder_layer(hidden_states, **__OTHERS)"
_WITH = Rewrite(_CALL, "layer_outputs = as_it_takes(decoder_layer, hidden_states, **__OTHERS)")


@FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}Model.forward", releases)
        for folder, (name, releases) in MODELS.items()
    )
)
def one_by_one(node: ast.AST) -> Optional[list[ast.stmt]]:
    """The call of a layer, through `as_it_takes`."""
    if not isinstance(node, ast.Assign) or not passes_positions(ast.Module([node], [])):
        return None
    changed = _WITH.apply(ast.Module([copy.deepcopy(node)], []))[0]
    return [ast.ImportFrom(__name__, [ast.alias("as_it_takes")], 0), *changed.body]


@FIX.recognises
def passes_positions(node: ast.AST) -> bool:
    """Whether something calls a layer with `cache_position`."""
    return occurs(_CALL, node) and "cache_position=cache_position" in ast.unparse(node)


def as_it_takes(layer: Any, hidden_states: Any, /, **others: Any) -> Any:
    """What a layer returns.

    Args:
        layer: the layer.
        hidden_states: its input.
        others: what the model passes besides.
    """
    if type(layer).__module__.startswith("transformers.") or asked.is_compiling():
        return layer(hidden_states, **others)
    try:
        return layer(hidden_states, **others)
    except TypeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        refused = _refused(type(layer))
        is_about_it = any(f"unexpected keyword argument '{name}'" in str(_hotfix_error) for name in refused)
        if not is_about_it or scope.is_handled(FIX.id, TypeError, sys._getframe(1)):
            raise
    mask, at = others["attention_mask"], others.get("cache_position")
    if mask is not None and mask.dim() == 4 and mask.shape[2] > hidden_states.shape[1] and at is not None:
        others["attention_mask"] = mask[:, :, at, : int(at[-1]) + 1]  # 4.38 has it for all positions
    return layer(hidden_states, **{name: value for name, value in others.items() if name not in refused})


def _refused(cls: Any) -> tuple[str, ...]:
    """The newer arguments that the `forward` of a class does not take."""
    try:
        parameters = inspect.signature(cls.forward).parameters
    except (TypeError, ValueError):
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return ()
    return tuple(name for name in NEWER if name not in parameters)
