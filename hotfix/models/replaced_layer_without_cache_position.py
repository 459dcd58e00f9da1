"""A decoder layer of your own, or its attention, does not take ``cache_position``.

Symptom   ``TypeError: QLlamaDecoderLayer.forward() got an unexpected keyword argument 'cache_position'`` (later also
          ``'position_embeddings'``) from code that puts layers written for 4.37 in the place of the library's: Atom,
          QuaRot, SliceGPT and other projects for quantization and pruning. The same from attentions, and from functions
          that are put into the place of ``self_attn.forward``: LM-Infinite, intel-npu-acceleration-library.
Cause     The model passes more to each layer, and the layer to its attention: the positions in the cache since 4.38.0,
          the cosine and sine of the positions since 4.45.1.
Releases  4.38.0 to 4.53.3, in Llama; 4.42.0 to 4.53.3, in Mistral and Qwen2; attentions up to 4.47.1
Upstream  Atom#19, LM-Infinite#7, intel-npu-acceleration-library#105 (not put back)
Here      A layer or an attention that takes neither them nor ``**kwargs`` is called without them after the TypeError,
          as in 4.37.2. A compiled model is left alone. Training with gradient checkpointing, which passes them to
          layers by position, raises as before.
Not here  Attentions from 4.48.0 on: they have to return two values instead of three.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import compiling, scope
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
_ATTENTIONS_RARELY_REPLACED = """
    chameleon:ChameleonDecoderLayer chameleon:ChameleonSwinDecoderLayer gemma:GemmaDecoderLayer
    gemma2:Gemma2DecoderLayer glm:GlmDecoderLayer glm4v:Glm4vTextDecoderLayer granite:GraniteDecoderLayer
    granitemoe:GraniteMoeDecoderLayer granitemoeshared:GraniteMoeSharedDecoderLayer idefics:IdeficsDecoderLayer
    jamba:JambaAttentionDecoderLayer kyutai_speech_to_text:KyutaiSpeechToTextDecoderLayer led:LEDDecoderLayer
    mimi:MimiTransformerLayer mixtral:MixtralDecoderLayer mllama:MllamaSelfAttentionDecoderLayer
    moshi:MoshiDecoderLayer nemotron:NemotronDecoderLayer olmo:OlmoDecoderLayer olmo2:Olmo2DecoderLayer
    olmoe:OlmoeDecoderLayer opt:OPTDecoderLayer persimmon:PersimmonDecoderLayer phimoe:PhimoeDecoderLayer
    qwen2_5_omni:Qwen2_5OmniDecoderLayer qwen2_5_vl:Qwen2_5_VLDecoderLayer qwen2_moe:Qwen2MoeDecoderLayer
    qwen2_vl:Qwen2VLDecoderLayer starcoder2:Starcoder2DecoderLayer whisper:WhisperDecoderLayer
    zamba:ZambaAttentionDecoderLayer
"""

FIX = Fix(
    title="TypeError: QLlamaDecoderLayer.forward() got an unexpected keyword argument 'cache_position'",
    kind="removed-api",
    group="removed-names",
    upstream=("Atom#19", "LM-Infinite#7", "intel-npu-acceleration-library#105"),
    everyone="only after a layer or an attention has refused an argument: the new code tests it",
    errors=tuple(
        f"TypeError: …{model}DecoderLayer.forward() got an unexpected keyword argument '{name}'"
        for model in ("Llama", "Mistral", "Qwen2")
        for name in ("cache_position", "position_embeddings")
    ),
    prefilter="cache_position=cache_position",
    exempt={
        "transformers.models.*:*": _OTHERS,
        **{
            f"transformers.models.{folder}.modeling_{folder}:{name}.forward": _OTHERS
            for words in (_RARELY_REPLACED, _ATTENTIONS_RARELY_REPLACED)
            for folder, _, name in (word.partition(":") for word in words.split())
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
_ATTENDS = "hidden_states, self_attn_weights, present_key_value = self.self_attn(**__OTHERS)"
_ATTENDS_WITH = Rewrite(
    _ATTENDS, "hidden_states, self_attn_weights, present_key_value = as_it_takes(self.self_attn, **__OTHERS)"
)


@FIX.edits(
    *(
        target
        for folder, (name, releases) in MODELS.items()
        for target in (
            (f"transformers.models.{folder}.modeling_{folder}:{name}Model.forward", releases),
            (f"transformers.models.{folder}.modeling_{folder}:{name}DecoderLayer.forward", f"{releases},<=4.47.1"),
        )
    )
)
def one_by_one(node: ast.AST) -> Optional[list[ast.stmt]]:
    """The call of a layer or of its attention, through `as_it_takes`."""
    alone = ast.Module([copy.deepcopy(node)], []) if isinstance(node, ast.Assign) else None
    if alone is None or not passes_positions(alone):
        return None
    changed = (_WITH if occurs(_CALL, alone) else _ATTENDS_WITH).apply(alone)[0]
    return [ast.ImportFrom(__name__, [ast.alias("as_it_takes")], 0), *changed.body]


@FIX.recognises
def passes_positions(node: ast.AST) -> bool:
    """Whether something calls a layer or its attention with `cache_position`."""
    is_called = occurs(_CALL, node) or occurs(_ATTENDS, node)
    return is_called and "cache_position=cache_position" in ast.unparse(node)


def as_it_takes(layer: Any, /, *states: Any, **others: Any) -> Any:
    """What a layer or an attention returns.

    Args:
        layer: the layer or the attention.
        states: its input; an attention has it among the others, as ``hidden_states``.
        others: what it is passed besides.
    """
    if compiling.is_compiling():
        return layer(*states, **others)
    try:
        return layer(*states, **others)
    except TypeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        refused, message = _refused(layer), str(_hotfix_error)
        is_about_it = any(f"unexpected keyword argument '{name}'" in message for name in refused)
        if not is_about_it or scope.is_handled(FIX.id, TypeError, sys._getframe(1)):
            raise
    mask, at = others["attention_mask"], others.get("cache_position")
    length = (*states, others.get("hidden_states"))[0].shape[1]
    if mask is not None and mask.dim() == 4 and mask.shape[2] > length and at is not None:
        others["attention_mask"] = mask[:, :, at, : int(at[-1]) + 1]  # 4.38 has it for all positions
    return layer(*states, **{name: value for name, value in others.items() if name not in refused})


def _refused(layer: Any) -> tuple[str, ...]:
    """The newer arguments that the `forward` of a layer or an attention does not take; the library's own takes them."""
    try:
        parameters = inspect.signature(layer.forward).parameters
    except (TypeError, ValueError):
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return ()
    return tuple(name for name in NEWER if name not in parameters)
