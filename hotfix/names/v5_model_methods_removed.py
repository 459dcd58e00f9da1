"""Models no longer have small methods and attributes.

Symptom   ``AttributeError: 'BertModel' object has no attribute 'get_extended_attention_mask'``; the same of
          ``invert_attention_mask``, ``create_extended_attention_mask_for_decoder``, ``estimate_tokens``,
          ``floating_point_ops`` and ``framework``, from encoders with a forward of their own (GroundingDINO, BLIP,
          ALBEF); of ``freeze_feature_extractor``, from scripts that train Wav2Vec2, HuBERT or WavLM; of
          ``model_parallel``, from scripts that train T5 or GPT-2; of ``warnings_issued``, from TRL before 0.26; of
          ``_prepare_encoder_decoder_kwargs_for_generation``, from models that override it and call the library's.
Cause     Masks are made by functions of ``masking_utils``, and the other frameworks were removed.
Releases  the masks 5.17.0 and later, ``warnings_issued`` 5.1.0 and later, the preparation of encoders 5.18.0 and
          later, the others 5.0.0 and later
Upstream  by design (not put back)
Here      The results of 5.16.1 and 4.57.6. A mask takes a device in the third place, as in 4.x, or a dtype, as in 5.x;
          ``framework`` is ``"pt"``. ``freeze_feature_extractor`` is ``freeze_feature_encoder`` of the same model, for
          the classes that had both. ``model_parallel`` is False, because there is no ``parallelize`` that could set it.
          ``warnings_issued`` is a dictionary that the model keeps, empty at first.
          The release itself finds none of them: `Trainer` counts no operations.
          ``prune_heads`` is not restored, because the layers of 5.x cannot drop heads; ``_supports_flash_attn_2`` and
          ``_supports_cache_class`` are not, because they would be others for many models.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'BertModel' object has no attribute 'get_extended_attention_mask'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: '…' object has no attribute 'get_extended_attention_mask'",
        "AttributeError: '…' object has no attribute 'invert_attention_mask'",
        "AttributeError: '…' object has no attribute 'create_extended_attention_mask_for_decoder'",
        "AttributeError: '…' object has no attribute 'floating_point_ops'",
        "AttributeError: '…' object has no attribute 'estimate_tokens'",
        "AttributeError: '…' object has no attribute 'freeze_feature_extractor'",
        "AttributeError: '…' object has no attribute 'model_parallel'",
        "AttributeError: '…' object has no attribute 'warnings_issued'",
        "AttributeError: '…' object has no attribute '_prepare_encoder_decoder_kwargs_for_generation'",
    ),
)

MIXIN = "transformers.modeling_utils:ModuleUtilsMixin"
MODEL = "transformers.modeling_utils:PreTrainedModel"
_OF_SPEECH = (
    (
        "data2vec.modeling_data2vec_audio",
        "Data2VecAudioFor",
        "CTC SequenceClassification AudioFrameClassification XVector",
    ),
    ("hubert.modeling_hubert", "HubertFor", "CTC SequenceClassification"),
    ("sew.modeling_sew", "SEWFor", "CTC SequenceClassification"),
    ("sew_d.modeling_sew_d", "SEWDFor", "CTC SequenceClassification"),
    ("unispeech.modeling_unispeech", "UniSpeechFor", "PreTraining CTC SequenceClassification"),
    (
        "unispeech_sat.modeling_unispeech_sat",
        "UniSpeechSatFor",
        "PreTraining CTC SequenceClassification AudioFrameClassification XVector",
    ),
    (
        "wav2vec2.modeling_wav2vec2",
        "Wav2Vec2",
        "Model ForPreTraining ForCTC ForSequenceClassification ForAudioFrameClassification ForXVector",
    ),
    (
        "wavlm.modeling_wavlm",
        "WavLM",
        "Model ForCTC ForSequenceClassification ForAudioFrameClassification ForXVector",
    ),
)
"""The classes of 4.57.6 that had both names of the method."""
_OF_LAYERS = {
    "decision_transformer:DecisionTransformerGPT2": "Model",
    "gpt2:GPT2": "Model LMHeadModel DoubleHeadsModel ForSequenceClassification ForTokenClassification "
    "ForQuestionAnswering",
    "gptj:GPTJ": "Model ForCausalLM ForSequenceClassification ForQuestionAnswering",
    "imagegpt:ImageGPT": "Model ForCausalImageModeling",
    "mt5:MT5": "Stack Model ForConditionalGeneration EncoderModel ForSequenceClassification ForQuestionAnswering",
    "pop2piano:Pop2Piano": "Stack",
    "t5:T5": "Stack Model ForConditionalGeneration EncoderModel ForSequenceClassification ForQuestionAnswering",
    "umt5:UMT5": "ForSequenceClassification",
}
"""The classes of 4.57.6 that had ``model_parallel``."""


@FIX.adds(("transformers.generation.utils:GenerationMixin._prepare_encoder_decoder_kwargs_for_generation", ">=5.18.0"))
def _prepare_encoder_decoder_kwargs_for_generation(
    self: Any, inputs_tensor: Any, model_kwargs: Any, model_input_name: Any = None, generation_config: Any = None
) -> Any:
    """The arguments of a model with the outputs of its encoder: the method under its new name.

    Args:
        self: the model.
        inputs_tensor: the inputs of the encoder.
        model_kwargs: the arguments of the model.
        model_input_name: the name of the inputs; by default the main one.
        generation_config: by default that of the model.
    """
    settings = self.generation_config if generation_config is None else generation_config
    prepare = self._prepare_text_encoder_decoder_kwargs_for_generation
    return prepare(inputs_tensor, model_kwargs, model_input_name, settings)


@FIX.adds((f"{MIXIN}.invert_attention_mask", ">=5.17.0"))
def invert_attention_mask(self: Any, encoder_attention_mask: Any) -> Any:
    """Zeros where a mask of two or three dimensions has ones, and the smallest number where it has zeros."""
    return _as_bias(_of_four(encoder_attention_mask), self.dtype)


@FIX.adds((f"{MIXIN}.get_extended_attention_mask", ">=5.17.0"))
def get_extended_attention_mask(
    self: Any, attention_mask: Any, input_shape: Any, device: Any = None, dtype: Any = None
) -> Any:
    """The same; in a decoder, a mask of two dimensions hides later tokens as well.

    Args:
        self: the model.
        attention_mask: ones for the tokens that are seen, of two or three dimensions.
        input_shape: the number of texts, and of tokens.
        device: of the mask of a decoder; a dtype in this place is the dtype.
        dtype: of the result; by default that of the model.
    """
    import torch

    if isinstance(device, torch.dtype):
        device, dtype = None, device
    is_causal = attention_mask.dim() == 2 and getattr(self.config, "is_decoder", False)
    mask = _causal(input_shape, attention_mask, device) if is_causal else _of_four(attention_mask)
    return _as_bias(mask, self.dtype if dtype is None else dtype)


@FIX.adds_made((f"{MIXIN}.create_extended_attention_mask_for_decoder", ">=5.17.0"))
def of_decoder(module: Any) -> Any:
    """A function that needs no model."""

    def create_extended_attention_mask_for_decoder(input_shape: Any, attention_mask: Any, device: Any = None) -> Any:
        return _causal(input_shape, attention_mask, device)

    return staticmethod(create_extended_attention_mask_for_decoder)


@FIX.adds((f"{MIXIN}.estimate_tokens", ">=5.0.0"))
def estimate_tokens(self: Any, input_dict: Any) -> int:
    """The number of tokens in the main input of a model; without one, 0 and, once, a warning."""
    if self.main_input_name in input_dict:
        return int(input_dict[self.main_input_name].numel())
    issued = vars(self).setdefault("warnings_issued", {})
    if not issued.get("estimate_tokens"):
        issued["estimate_tokens"] = True
        from transformers.utils import logging

        text = "Could not estimate the number of tokens of the input, floating-point operations will not be computed"
        logging.get_logger("transformers.modeling_utils").warning(text)
    return 0


@FIX.adds((f"{MIXIN}.floating_point_ops", ">=5.0.0"))
def floating_point_ops(self: Any, input_dict: Any, exclude_embeddings: bool = True) -> int:
    """An estimate of the operations of a step: six for each token and parameter."""
    tokens = self.estimate_tokens(input_dict)
    return int(6 * tokens * self.num_parameters(exclude_embeddings=exclude_embeddings))


@FIX.adds_made((f"{MODEL}.framework", ">=5.0.0"))
def framework(module: Any) -> property:
    """PyTorch."""
    return property(lambda self: "pt")


@FIX.adds_made((f"{MODEL}.warnings_issued", ">=5.1.0"), of_instances=True)
def warnings_issued(module: Any) -> property:
    """The warnings that a model has issued, or must not issue, by name."""
    return property(lambda self: vars(self).setdefault("warnings_issued", {}))


@FIX.adds_made(
    *(
        (f"transformers.models.{family.partition(':')[0]}.modeling_{family}{head}.model_parallel", ">=5.0.0")
        for family, heads in _OF_LAYERS.items()
        for head in heads.split()
    ),
    of_instances=True,
)
def model_parallel(module: Any) -> property:
    """Whether the layers are on several devices by a map of the model's own."""
    return property(lambda self: False)


@FIX.adds(
    *(
        (f"transformers.models.{module}:{family}{head}.freeze_feature_extractor", ">=5.0.0")
        for module, family, heads in _OF_SPEECH
        for head in heads.split()
    )
)
def freeze_feature_extractor(self: Any) -> None:
    """Train no parameter of the part that reads the sound, by the name that the method has now."""
    self.freeze_feature_encoder()


def _of_four(mask: Any) -> Any:
    """A mask with room for the heads, and, if it has two dimensions, for the tokens that look."""
    if mask.dim() not in (2, 3):
        raise ValueError(f"Wrong shape of an attention mask: {tuple(mask.shape)}. It needs two or three dimensions.")
    return mask[:, None] if mask.dim() == 3 else mask[:, None, None]


def _causal(shape: Any, mask: Any, device: Optional[Any]) -> Any:
    """A mask in which no token sees later ones; those of a cache come first."""
    import torch

    texts, length = shape
    before = max(mask.shape[1] - length, 0)
    seen = torch.ones(length, before + length, dtype=mask.dtype, device=device or mask.device).tril(before)
    return seen.repeat(texts, 1, 1, 1) * _of_four(mask)


def _as_bias(mask: Any, dtype: Any) -> Any:
    import torch

    return (1.0 - mask.to(dtype=dtype)) * torch.finfo(dtype).min
