"""Models take the number of labels of a step from the Trainer and ignore it, and then nobody divides their loss.

Symptom   Silent. With ``gradient_accumulation_steps=N`` loss and gradients of these models are N times too large.
Cause     The Trainer gives ``num_items_in_batch`` to every model whose forward has ``**kwargs``, and leaves dividing to
          the model, unless its class says ``accepts_loss_kwargs = False``. These have ``**kwargs``, take the mean over
          the micro-batch, and say nothing. (ConvNext passes the number to a part of itself that rejects it: a TypeError
          in the first step.)
Releases  The table below: 36 classes, 4.48.0 to 5.16.1. The Trainer of 4.47 asks no class: nothing is repaired there.
Upstream  transformers#36753, transformers#37208, transformers#40333, transformers#43651, transformers#47688. Some
          classes say it later, others pass the number on to their loss; the fixed release differs by class.
Here      The class says ``accepts_loss_kwargs = False`` to a Trainer that asks it, which then divides the mean by N, as
          it did before 4.46; nobody else can see the attribute. Each micro-batch weighs the same, as in the classes
          that say it upstream; in those that pass the number on each label does, which comes to the same where the
          micro-batches have equally many. With one micro-batch and one process nothing changes, and the Trainer counts
          labels as before, for code that uses their number. Left alone are a ``compute_loss_func``
          and an overridden ``compute_loss`` that does not return what the library's returns: they get the number as
          before. So are models with a user's forward, on a subclass or on the instance, which does not return
          what the library's returns, and models of which the user has said what they accept.
          In 5.2.0 to 5.5.3 Accelerate divides all losses once more: v5-trainer-ga-double-division.
"""

from __future__ import annotations

import ast
from typing import Optional

from hotfix.fix import Fix
from hotfix.training._swallowed import declared_mean, is_asked, place, swallows, take_back

_OF_4_47 = (
    "musicgen MusicgenForConditionalGeneration",
    "musicgen_melody MusicgenMelodyForConditionalGeneration",
    "phi PhiForTokenClassification",
    "phi3 Phi3ForTokenClassification",
    "recurrent_gemma RecurrentGemmaForCausalLM",
    "speech_encoder_decoder SpeechEncoderDecoderModel",
)
_STILL_WRONG = (
    "encoder_decoder EncoderDecoderModel",
    "gemma3 Gemma3ForSequenceClassification",
    "gptj GPTJForSequenceClassification",
)
_WITHOUT_CASE = (
    "cohere_asr CohereAsrForConditionalGeneration",
    "gemma4 Gemma4ForConditionalGeneration",
    "minicpmv4_6 MiniCPMV4_6ForConditionalGeneration",
    "minimax_m3_vl MiniMaxM3SparseForConditionalGeneration",
    "moonshine_streaming MoonshineStreamingForConditionalGeneration",
    "parakeet ParakeetForTDT",
)

FIX = Fix(
    title="Loss and gradients are gradient_accumulation_steps times too large: the model ignores num_items_in_batch",
    kind="silent",
    upstream=(
        "transformers#36753",
        "transformers#37208",
        "transformers#40333",
        "transformers#43651",
        "transformers#47688",
    ),
    fixed_in="5.17.0",  # the last of them; the table tells of each
    prefilter="labels is not None",
    everyone="only for a Trainer and a model whose loss is the library's: the answer to the Trainer tests it itself",
    exempt={
        "transformers.*": "Upstream has not repaired it.",
        **dict.fromkeys(map(place, _OF_4_47), "It was so up to 4.47.1, whose Trainer does not ask the class."),
        **dict.fromkeys(map(place, _STILL_WRONG), "What upstream has put in its place is wrong as well."),
        **dict.fromkeys(map(place, _WITHOUT_CASE), "It is broken; there is no case that shows it yet."),
    },
)

# Model, class, and the releases in which upstream has it wrong.
TABLE = (
    ("aya_vision", "AyaVisionForConditionalGeneration", ">=4.50.0,<=4.51.3"),
    ("blip_2", "Blip2ForConditionalGeneration", ">=4.52.1,<=5.16.1"),
    ("blip_2", "Blip2Model", ">=4.52.1,<=5.16.1"),
    ("bloom", "BloomForCausalLM", ">=4.48.0,<=4.48.2"),
    ("convnext", "ConvNextForImageClassification", ">=4.56.0,<=4.56.2"),
    ("convnextv2", "ConvNextV2ForImageClassification", ">=4.56.0,<=4.56.2"),
    ("falcon_mamba", "FalconMambaForCausalLM", ">=4.48.0,<=5.16.1"),
    ("gemma3", "Gemma3ForConditionalGeneration", ">=4.50.0,<=4.56.2"),
    ("gemma3n", "Gemma3nForConditionalGeneration", ">=4.53.0,<=5.5.4"),
    ("glm4v", "Glm4vForConditionalGeneration", ">=4.53.0,<=4.55.4"),
    ("gpt_neox", "GPTNeoXForCausalLM", "==4.48.3"),
    ("janus", "JanusForConditionalGeneration", ">=4.52.1,<=4.53.3"),
    ("llama4", "Llama4ForConditionalGeneration", ">=4.51.0,<=5.16.1"),
    ("llava", "LlavaForConditionalGeneration", ">=4.49.0,<=4.51.3"),
    ("llava_next", "LlavaNextForConditionalGeneration", ">=4.49.0,<=4.51.3"),
    ("llava_next_video", "LlavaNextVideoForConditionalGeneration", ">=4.49.0,<=4.51.3"),
    ("llava_onevision", "LlavaOnevisionForConditionalGeneration", ">=4.49.0,<=4.51.3"),
    ("mamba2", "Mamba2ForCausalLM", ">=4.48.0,<=4.51.3"),
    ("mamba", "MambaForCausalLM", ">=4.48.0,<=5.16.1"),
    ("mistral3", "Mistral3ForConditionalGeneration", ">=4.50.0,<=4.51.3"),
    ("modernbert", "ModernBertForMaskedLM", ">=4.48.0,<=4.52.4"),
    ("modernbert_decoder", "ModernBertDecoderForCausalLM", ">=4.54.0,<=5.16.1"),
    ("moonshine", "MoonshineForConditionalGeneration", ">=4.54.0,<=5.14.1"),
    ("paligemma", "PaliGemmaForConditionalGeneration", ">=4.48.3,<=4.51.3"),
    ("phi4_multimodal", "Phi4MultimodalForCausalLM", ">=4.51.0,<=5.16.1"),
    ("qwen2_5_omni", "Qwen2_5OmniThinkerForConditionalGeneration", ">=4.54.0,<=5.16.1"),
    ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", ">=4.53.0,<=4.55.4"),
    ("qwen2_vl", "Qwen2VLForConditionalGeneration", ">=4.53.0,<=4.55.4"),
    ("qwen3_omni_moe", "Qwen3OmniMoeThinkerForConditionalGeneration", ">=4.57.1,<=5.16.1"),
    ("segformer", "SegformerForImageClassification", ">=5.0.0,<=5.8.1"),
    ("swin", "SwinForImageClassification", ">=5.0.0,<=5.8.1"),
    ("video_llava", "VideoLlavaForConditionalGeneration", ">=4.49.0,<=4.51.3"),
    ("vipllava", "VipLlavaForConditionalGeneration", ">=4.49.0,<=5.16.1"),
    ("xglm", "XGLMForCausalLM", ">=5.4.0,<=5.16.1"),
    ("xlstm", "xLSTMForCausalLM", ">=4.54.0,<=5.16.1"),
    ("zamba2", "Zamba2ForSequenceClassification", ">=5.0.0,<=5.3.0"),
)

# These have been so for longer than the Trainer has asked: up to 4.47.1 it is not the class that is wrong.
_OLDER = ("bloom", "falcon_mamba", "mamba", "mamba2")
_ASKING = "transformers.trainer:Trainer.__init__"

for _model, _class, _releases in TABLE:
    FIX.edits(
        (f"{place(f'{_model} {_class}')}.__init__", _releases),
        fingerprint_of=(_class, _ASKING) if _model in _OLDER else (_class,),
    )(declared_mean)


@FIX.recognises
def is_broken(model: ast.AST, trainer: Optional[ast.AST] = None) -> bool:
    """The class swallows the number, and the Trainer asks it, if that is looked at."""
    return swallows(model) and (trainer is None or is_asked(trainer))


FIX.cleans_up(take_back)
