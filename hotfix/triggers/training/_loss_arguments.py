"""Which classes take loss arguments, in the releases of the Trainer in which the loss depends on it.

Read from the wheels: the classes of models for which the Trainer of a release sets ``model_accepts_loss_kwargs``. Up to
4.46.3 it looks for an argument of that name (``**loss_kwargs``), later for any ``**kwargs``. A test reads them again.
"""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Files
from hotfix.triggers._files import is_of_the_library

_NAMED = """
    CohereForCausalLM Gemma2ForCausalLM GemmaForCausalLM GlmForCausalLM JambaForCausalLM LlamaForCausalLM
    MixtralForCausalLM MllamaForCausalLM NemotronForCausalLM OlmoForCausalLM OlmoeForCausalLM Phi3ForCausalLM
    PhiForCausalLM PhimoeForCausalLM Qwen2ForCausalLM Qwen2MoeForCausalLM RTDetrForObjectDetection ZambaForCausalLM
"""
_SINCE_4_47 = """
    BertForNextSentencePrediction BertLMHeadModel BloomForCausalLM BloomForSequenceClassification
    BloomForTokenClassification CpmAntForCausalLM ErnieForNextSentencePrediction FNetForNextSentencePrediction
    FalconMambaForCausalLM GPT2DoubleHeadsModel GraphormerForGraphClassification ImageGPTForCausalImageModeling
    ImageGPTForImageClassification LlamaForQuestionAnswering LxmertForPreTraining Mamba2ForCausalLM MambaForCausalLM
    MegatronBertForNextSentencePrediction MistralForQuestionAnswering MixtralForQuestionAnswering
    MobileBertForNextSentencePrediction MoshiForConditionalGeneration MptForTokenClassification
    MusicgenForConditionalGeneration MusicgenMelodyForConditionalGeneration NemotronForQuestionAnswering
    NezhaForNextSentencePrediction Olmo2ForCausalLM Phi3ForTokenClassification PhiForTokenClassification
    QDQBertForNextSentencePrediction Qwen2ForQuestionAnswering Qwen2MoeForQuestionAnswering RagSequenceForGeneration
    RagTokenForGeneration RoCBertForPreTraining RoFormerClassificationHead SeamlessM4TForSpeechToSpeech
    SeamlessM4TForSpeechToText SeamlessM4TForTextToText SeamlessM4Tv2ForSpeechToSpeech SeamlessM4Tv2ForSpeechToText
    SeamlessM4Tv2ForTextToText SeamlessM4Tv2TextToUnitForConditionalGeneration Starcoder2ForCausalLM
    TapasForMaskedLM XLNetForMultipleChoice XLNetForQuestionAnswering XLNetForQuestionAnsweringSimple
    XLNetForSequenceClassification XLNetForTokenClassification XLNetLMHeadModel
"""
_SINCE_4_48 = """
    AriaForConditionalGeneration AriaTextForCausalLM BambaForCausalLM Cohere2ForCausalLM ColPaliForRetrieval
    DiffLlamaForCausalLM DiffLlamaForQuestionAnswering Emu3ForCausalLM GraniteForCausalLM MistralForCausalLM
    ModernBertForMaskedLM ModernBertForSequenceClassification
"""
_UNTIL_4_47 = frozenset({"Phi3ForTokenClassification", "PhiForTokenClassification"})

TAKES = {
    "4.46.1": frozenset(_NAMED.split()),
    "4.46.2": frozenset(_NAMED.split()),
    "4.46.3": frozenset(_NAMED.split()),
    "4.47.0": frozenset(_NAMED.split() + _SINCE_4_47.split()) - {"BertLMHeadModel"},
    "4.47.1": frozenset(_NAMED.split() + _SINCE_4_47.split()),
    "4.48.0": frozenset(_NAMED.split() + _SINCE_4_47.split() + _SINCE_4_48.split()) - _UNTIL_4_47,
}
"""The classes that take them, by release."""


def takes_loss_arguments(run: Files) -> Optional[bool]:
    """Whether the model of a run takes loss arguments, in the given release; None where that is open.

    Args:
        run: what its files say. A class with a name that the library does not give is one of somebody's own.
    """
    takes = TAKES.get(run.release)
    if takes is None or run.own_code or len(run.architectures) != 1:
        return None
    [name] = run.architectures
    if name in takes:
        return True
    return False if is_of_the_library(run) else None
