"""``forward`` rejects keys and values that are a tuple of tuples.

Symptom   ``AttributeError: 'tuple' object has no attribute 'get_seq_length'`` from ``model(ids, past_key_values=past)``
          of GPT-2, BART, BERT as a decoder and others, in loops that cut, repeat or save the keys and values.
Cause     Each of these models made a cache of the tuple until 4.57.6.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      After the error, the cache that 4.57.6 made: a `DynamicCache`, or an `EncoderDecoderCache` in models that can
          have an encoder. The output has this cache, as in 4.57.6. A tuple stays refused where 4.57.6 refused it: with
          ``use_cache=False``, in a model that checkpoints while it trains, in a BERT that is no decoder, and in models
          such as Llama, which have not converted tuples since 4.48. FSMT, Flaubert, XLM, ProphetNet, BLIP, CPM-Ant,
          TAPAS, CLVP, Kosmos-2, ImageGPT and the models of time series are left alone.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any, Callable

from hotfix.fix import Fix

_REFUSED = "AttributeError: 'tuple' object has no attribute 'get_seq_length'"

FIX = Fix(
    title="AttributeError: 'tuple' object has no attribute 'get_seq_length', from past_key_values given to forward()",
    kind="removed-api",
    group="removed-names",
    prefilter="_sliding_window_tensor",
    errors=(_REFUSED,),
    on_error=(_REFUSED, "AttributeError: 'tuple' object has no attribute 'get_query_offset'"),
)

_DECIDES = "transformers.cache_utils:DynamicCache.__iter__"

ONE = "bark:BarkCausalModel biogpt:BioGptModel ctrl:CTRLModel gpt2:GPT2Model mpt:MptModel"
"""Models that made a `DynamicCache`."""

BOTH = (
    "bart:BartDecoder bigbird_pegasus:BigBirdPegasusDecoder blenderbot:BlenderbotDecoder "
    "blenderbot_small:BlenderbotSmallDecoder gpt_bigcode:GPTBigCodeModel led:LEDDecoder "
    "m2m_100:M2M100Decoder marian:MarianDecoder mbart:MBartDecoder musicgen:MusicgenDecoder "
    "musicgen_melody:MusicgenMelodyDecoder mvp:MvpDecoder nllb_moe:NllbMoeDecoder pegasus:PegasusDecoder "
    "pegasus_x:PegasusXDecoder plbart:PLBartDecoder seamless_m4t:SeamlessM4TDecoder "
    "seamless_m4t_v2:SeamlessM4Tv2Decoder speech_to_text:Speech2TextDecoder speecht5:SpeechT5Decoder "
    "trocr:TrOCRDecoder xglm:XGLMModel"
)
"""Models that made an `EncoderDecoderCache`."""

ONE_IN_A_DECODER = "big_bird:BigBirdModel"
BOTH_IN_A_DECODER = (
    "bert:BertModel bert_generation:BertGenerationEncoder bridgetower:BridgeTowerTextModel camembert:CamembertModel "
    "data2vec.modeling_data2vec_text:Data2VecTextModel electra:ElectraModel ernie:ErnieModel "
    "megatron_bert:MegatronBertModel rembert:RemBertModel roberta:RobertaModel "
    "roberta_prelayernorm:RobertaPreLayerNormModel roc_bert:RoCBertModel roformer:RoFormerModel "
    "xlm_roberta:XLMRobertaModel xlm_roberta_xl:XLMRobertaXLModel xmod:XmodModel"
)
"""The same if the configuration says ``is_decoder``; without it, they have no cache."""


def of_a_tuple(
    is_both: bool, of_decoders: bool, of_lists: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper that makes a cache.

    Args:
        is_both: whether the cache also has a part for an encoder.
        of_decoders: whether only a model that is configured as a decoder takes one.
        of_lists: whether a list of layers counts as well.
    """
    kinds = (tuple, list) if of_lists else (tuple,)

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        names = [*inspect.signature(original).parameters][1:]
        name = "past_key_values" if "past_key_values" in names else "cache"  # from 5.24.0 on
        place = names.index(name)

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(names, args)), **kwargs}
            past: Any = given.get("past_key_values", given.get(name))
            use_cache = given.get("use_cache")
            if use_cache is None:
                use_cache = self.config.use_cache
            is_checkpointed = self.training and getattr(self, "gradient_checkpointing", False)
            takes = use_cache and not is_checkpointed and (self.config.is_decoder if of_decoders else True)
            if takes and isinstance(past, kinds) and _are_layers(past, (2, 4) if is_both else (2,)):
                if place < len(args):
                    args = (*args[:place], _cache(past, is_both), *args[place + 1 :])
                else:
                    kwargs.pop("past_key_values", None)
                    kwargs[name] = _cache(past, is_both)
            return original(self, *args, **kwargs)

        return forward

    return decorate


def _targets(models: str) -> list[tuple[str, str]]:
    targets = []
    for model in models.split():
        module, _, name = model.partition(":")
        file = module if "." in module else f"{module}.modeling_{module}"
        targets.append((f"transformers.models.{file}:{name}.forward", ">=5.0.0"))
    return targets


for _models, _is_both, _of_decoders in (
    (ONE, False, False),
    (BOTH, True, False),
    (ONE_IN_A_DECODER, False, True),
    (BOTH_IN_A_DECODER, True, True),
):
    FIX.wraps(*_targets(_models), fingerprint_of=(_DECIDES,))(of_a_tuple(_is_both, _of_decoders))


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The cache of 5.0.0 and later, which nothing makes of a tuple: it yields the window of a layer."""
    return function.name == "__iter__" and "_sliding_window_tensor" in ast.unparse(function)


# ---------------------------------------------------------------------------------------------------------------------


def _are_layers(past: Any, lengths: tuple[int, ...]) -> bool:
    """Whether all it has are layers with tensors.

    Args:
        past: a tuple or a list that `forward` was given.
        lengths: how many tensors a layer may have.
    """
    layers = [layer for layer in past if isinstance(layer, (tuple, list)) and len(layer) in lengths]
    return len(layers) == len(past) and all(hasattr(tensor, "shape") for layer in layers for tensor in layer)


def _cache(layers: Sequence[Any], is_both: bool) -> Any:
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    parts = (DynamicCache(), DynamicCache())
    for number, layer in enumerate(layers):
        for start in range(0, len(layer), 2):
            parts[start // 2].update(layer[start], layer[start + 1], number)
    return EncoderDecoderCache(*parts) if is_both else parts[0]
