"""Decoders under FlashAttention-2 refuse every right-padded batch in a forward that has a cache.

Symptom   ``ValueError: You are attempting to perform batched generation with padding_side='right' this may lead to
          unexpected behaviour for Flash Attention version of ...``, in evaluation, in DPO, in the log-probabilities of
          an actor: ``use_cache`` is on by default, so every such forward has a cache.
Cause     A check that means `generate` stands in the forward. There it is a false alarm: with padding on the right
          every real token is computed exactly, with and without a cache. Only `generate` goes wrong, since it samples
          from the logits of the last position, which is padding (it does so under every attention).
Releases  21 classes in 17 models, 4.36.0 to 5.1.0: the table below.
Upstream  transformers#37866 (dropped in 4.53.0). It stayed in JetMoe to 4.56.1, in Qwen2-MoE and PhiMoE to 4.57.6, in
          Moshi and Kyutai's speech-to-text to 5.1.0.
Here      The check is taken out of the forwards, and the device synchronisation that it cost with it. What they compute
          is bitwise equal to the same release without a cache, and to the first fixed release (but for the gradients of
          grouped keys and values in Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and the Mistral of 4.41, which 4.53.0 adds up
          elsewhere; and but for PhiMoE, which 5.0.0 has made another model).
          `generate` checks once, before its first forward, with or without a cache, and still raises;
          ``HOTFIX_PADDING=warn`` turns that into a warning.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Optional

from hotfix import session
from hotfix.engine.policy import Padding
from hotfix.fix import Fix, Target

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="fa2-right-padding-check",
    title="FlashAttention-2 forwards refuse right-padded batches (padding_side='right') outside of generation",
    kind="crash",
    upstream=("transformers#37866",),
    fixed_in="4.53.0, 4.56.2, 5.0.0, 5.2.0",
    prefilter="is_padding_right",
)


def _model(name: str, qualname: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{qualname}", releases


TABLE = (
    # The check is a statement in the middle of forward.
    _model("jetmoe", "JetMoeModel.forward", ">=4.41.0,<=4.56.1"),
    _model("mistral", "MistralModel.forward", ">=4.36.0,<=4.41.2"),
    _model("mixtral", "MixtralModel.forward", ">=4.36.0,<=4.41.2"),
    _model("phi3", "Phi3Model.forward", ">=4.41.0,<=4.41.2"),
    _model("qwen2", "Qwen2Model.forward", ">=4.37.0,<=4.41.2"),
    _model("qwen2_moe", "Qwen2MoeModel.forward", ">=4.40.0,<=4.41.2"),
    _model("starcoder2", "Starcoder2Model.forward", ">=4.39.0,<=4.41.2"),
    # The check is the first thing in the method that makes the causal mask.
    _model("kyutai_speech_to_text", "KyutaiSpeechToTextModel._update_causal_mask", ">=4.53.0,<=5.1.0"),
    _model("mimi", "MimiTransformerModel._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("mistral", "MistralModel._update_causal_mask", ">=4.42.0,<=4.52.4"),
    _model("mixtral", "MixtralModel._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("moshi", "MoshiDepthDecoder._update_causal_mask", ">=4.48.0,<=5.1.0"),
    _model("moshi", "MoshiModel._update_causal_mask", ">=4.48.0,<=5.1.0"),
    _model("phi3", "Phi3Model._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("phi4_multimodal", "Phi4MultimodalModel._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("phimoe", "PhimoeModel._update_causal_mask", ">=4.48.0,<=4.57.6"),
    _model("qwen2", "Qwen2Model._update_causal_mask", ">=4.49.0,<=4.52.4"),
    _model("qwen2_5_omni", "Qwen2_5OmniTalkerModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_5_omni", "Qwen2_5OmniThinkerTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_5_vl", "Qwen2_5_VLModel._update_causal_mask", ">=4.49.0,<=4.51.3"),
    _model("qwen2_5_vl", "Qwen2_5_VLTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_moe", "Qwen2MoeModel._update_causal_mask", ">=4.48.0,<=4.57.6"),
    _model("qwen2_vl", "Qwen2VLModel._update_causal_mask", ">=4.48.0,<=4.51.3"),
    _model("qwen2_vl", "Qwen2VLTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen3", "Qwen3Model._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("qwen3_moe", "Qwen3MoeModel._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("starcoder2", "Starcoder2Model._update_causal_mask", ">=4.48.0,<=4.52.4"),
)

_LAST_COLUMN = ast.dump(ast.parse("attention_mask[:, -1].sum().item()", mode="eval").body)


@FIX.edits(*TABLE)
def without_the_check(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Delete the check.

    It is an ``if`` without ``else`` that does two things: it computes from the last column of the attention mask
    whether there is padding on the right, and if so it raises an error that says ``padding_side='right'``.
    """
    if not isinstance(node, ast.If) or node.orelse:
        return None
    *computing, raising = node.body
    computes = all(isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) for one in computing) and any(
        ast.dump(part) == _LAST_COLUMN for one in computing for part in ast.walk(one)
    )
    return [] if computes and _only_raises(raising) else None


def _only_raises(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If) or statement.orelse or len(statement.body) != 1:
        return False
    words = [part.value for part in ast.walk(statement.body[0]) if isinstance(part, ast.Constant)]
    return isinstance(statement.body[0], ast.Raise) and any("padding_side='right'" in str(word) for word in words)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The check is in the function."""
    return any(without_the_check(node) is not None for node in ast.walk(function))


# ---------------------------------------------------------------------------------------------------------------------
# Below: generation, which keeps its check. Once per call, before the first forward; a caller who passes no mask has it
# made by `_prepare_attention_mask_for_generation`, from the padding tokens.


@FIX.accompanies("transformers.generation.utils:GenerationMixin.generate")
def generate_guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around `generate`: the mask that the caller passes is looked at."""

    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_padding_on_the_right(self, kwargs.get("attention_mask"))
        return original(self, *args, **kwargs)

    return generate


@FIX.accompanies("transformers.generation.utils:GenerationMixin._prepare_attention_mask_for_generation")
def mask_guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that makes the mask: the mask that it has made is looked at."""

    def _prepare_attention_mask_for_generation(self: Any, *args: Any, **kwargs: Any) -> Any:
        mask = original(self, *args, **kwargs)
        refuse_padding_on_the_right(self, mask)
        return mask

    return _prepare_attention_mask_for_generation


def refuse_padding_on_the_right(model: Any, mask: Optional[torch.Tensor]) -> None:
    """Stop a generation that would continue from padding.

    Args:
        model: what `generate` was called on.
        mask: its attention mask; only one of shape (batch, tokens) is looked at.

    Raises:
        ValueError: the model runs a repaired decoder under FlashAttention-2 and some sample ends in padding.
    """
    if getattr(mask, "ndim", 0) != 2 or not mask.shape[1]:  # type: ignore[union-attr]
        return
    guarded = _repaired_decoder(model)
    if guarded is None or mask[:, -1].sum().item() == mask.shape[0]:  # type: ignore[index, union-attr]
        return
    sentence = (
        f"You are attempting to perform batched generation with padding_side='right': some samples end in padding, "
        f"and {guarded} under FlashAttention-2 would continue them from there. Pad on the left instead: set "
        f"tokenizer.padding_side = 'left' before tokenizing, or move the padding of input_ids and attention_mask. "
        f"(hotfix: {FIX.id}; HOTFIX_PADDING=warn makes this a warning.)"
    )
    if session.current().policy.padding is Padding.RAISE:
        raise ValueError(sentence)
    session.current().log.warn_once(sentence)


def _repaired_decoder(model: Any) -> Optional[str]:
    """The name of a class in `model` that used to refuse padding on the right and was repaired, or None."""
    import torch

    if not isinstance(model, torch.nn.Module) or getattr(model.config, "is_encoder_decoder", False):
        return None
    for module in model.modules():
        for target in _targets_run_by(type(module)):
            if _under_flash_attention(module, target) and session.current().is_in_place(FIX, target):
                return target.qualname.partition(".")[0]
    return None


def _targets_run_by(kind: type) -> Iterator[Target]:
    """The targets that an object of this class runs: not those that a subclass has overridden for good."""
    for method in ("_update_causal_mask", "forward"):
        for owner in kind.__mro__:
            if method not in vars(owner):
                continue
            target = _GUARDED.get(f"{owner.__module__}:{owner.__qualname__}.{method}")
            if target is not None:
                yield target
            if target is not None or not _calls_super(vars(owner)[method]):
                break


def _calls_super(method: Any) -> bool:
    code = getattr(inspect.unwrap(method) if callable(method) else method, "__code__", None)
    return code is not None and "__class__" in code.co_freevars


def _under_flash_attention(module: Any, target: Target) -> bool:
    """Whether the check would have looked at this module, in the words of its release."""
    requested = vars(sys.modules[target.module]).get("is_flash_attention_requested")
    if requested is not None:  # 5.0.0 and later
        return bool(requested(module.config))
    said = [getattr(module, "_attn_implementation", None), getattr(module.config, "_attn_implementation", None)]
    return "flash_attention_2" in said or getattr(module, "_use_flash_attention_2", False)  # the latter up to 4.36.2


def _guarded(targets: Iterable[Target]) -> dict[str, Target]:
    """Mimi encodes sound inside of other models; it never had the mask of the tokens that are generated."""
    return {target.key: target for target in targets if "Mimi" not in target.qualname}


_GUARDED = _guarded(FIX.targets)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the case. A tiny decoder of the target's family sees a right-padded batch, with labels and a cache.

LENGTHS = (9, 5, 2)  # tokens of each sample of the batch

_DECODER = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Every expert sees every token: a choice between experts may fall either way when rounding differs.
_MIXTURE = {"num_local_experts": 2, "num_experts_per_tok": 2}
_MIXTURE_OF_QWEN = {
    "num_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "decoder_sparse_step": 1,
}
_VISION = {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 4}
_VISION_2_5 = {"depth": 1, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 48, "num_heads": 2}
_TOKENS = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
_ROPE_3D = {"rope_scaling": {"type": "default", "rope_type": "default", "mrope_section": [2, 3, 3]}}
_SOUND = {
    "hidden_size": 64,
    "num_filters": 4,
    "upsampling_ratios": [2, 2],
    "upsample_groups": 64,
    "codebook_size": 32,
    "codebook_dim": 16,
    "vector_quantization_hidden_dimension": 16,
    "num_quantizers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
}
_SPEECH = {"ffn_dim": 96, "num_codebooks": 4, "num_key_value_heads": 4}

# For the class of a target: the model that is built, its configuration, and what is added to `_DECODER`.
_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "JetMoeModel": ("JetMoeForCausalLM", "JetMoeConfig", {**_MIXTURE, "kv_channels": 16}),
    "KyutaiSpeechToTextModel": (
        "KyutaiSpeechToTextModel",
        "KyutaiSpeechToTextConfig",
        {
            **_SPEECH,
            "codebook_vocab_size": 32,
            "audio_pad_token_id": 192,
            "codec_config": {"model_type": "mimi", **_SOUND},
            "rope_theta": 10000.0,  # its default has changed in 5.0.0
        },
    ),
    "MimiTransformerModel": ("MimiModel", "MimiConfig", _SOUND),
    "MistralModel": ("MistralForCausalLM", "MistralConfig", {}),
    "MixtralModel": ("MixtralForCausalLM", "MixtralConfig", _MIXTURE),
    "MoshiDepthDecoder": (
        "MoshiDepthDecoder",
        "MoshiDepthConfig",
        {**_SPEECH, "num_codebooks": 9, "audio_vocab_size": 64, "input_size": 64, "sliding_window": 16},
    ),
    "MoshiModel": ("MoshiForCausalLM", "MoshiConfig", {**_SPEECH, "audio_encoder_config": _SOUND}),
    "Phi3Model": ("Phi3ForCausalLM", "Phi3Config", {}),
    "Phi4MultimodalModel": (
        "Phi4MultimodalForCausalLM",
        "Phi4MultimodalConfig",
        {
            "vision_config": {**_DECODER, "image_size": 28, "crop_size": 28, "image_token_id": 60},
            "audio_config": {
                "hidden_size": 64,
                "intermediate_size": 96,
                "num_blocks": 1,
                "num_attention_heads": 4,
                "ext_pw_out_channel": 64,
                "depthwise_seperable_out_channel": 64,
                "nemo_conv_channels": 64,
                "audio_token_id": 61,
            },
        },
    ),
    "PhimoeModel": ("PhimoeForCausalLM", "PhimoeConfig", _MIXTURE),
    "Qwen2Model": ("Qwen2ForCausalLM", "Qwen2Config", {}),
    "Qwen2MoeModel": (
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        {**_MIXTURE_OF_QWEN, "shared_expert_intermediate_size": 32},
    ),
    "Qwen2VLModel": (
        "Qwen2VLForConditionalGeneration",
        "Qwen2VLConfig",
        {**_ROPE_3D, **_TOKENS, "vision_config": _VISION},
    ),
    "Qwen2VLTextModel": (
        "Qwen2VLForConditionalGeneration",
        "Qwen2VLConfig",
        {**_ROPE_3D, **_TOKENS, "vision_config": _VISION},
    ),
    "Qwen2_5OmniTalkerModel": (
        "Qwen2_5OmniTalkerModel",
        "Qwen2_5OmniTalkerConfig",
        {**_ROPE_3D, "embedding_size": 64, "head_dim": 16},
    ),
    "Qwen2_5OmniThinkerTextModel": ("Qwen2_5OmniThinkerTextModel", "Qwen2_5OmniTextConfig", _ROPE_3D),
    "Qwen2_5_VLModel": (
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLConfig",
        {**_ROPE_3D, **_TOKENS, "vision_config": _VISION_2_5},
    ),
    "Qwen2_5_VLTextModel": (
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLConfig",
        {**_ROPE_3D, **_TOKENS, "vision_config": _VISION_2_5},
    ),
    "Qwen3Model": ("Qwen3ForCausalLM", "Qwen3Config", {"head_dim": 16}),
    "Qwen3MoeModel": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**_MIXTURE_OF_QWEN, "head_dim": 16}),
    "Starcoder2Model": ("Starcoder2ForCausalLM", "Starcoder2Config", {}),
}


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One forward and backward of a right-padded batch: outputs on real tokens, loss, gradients of weights."""
    model = build(testbed, target)
    results = run(testbed, target, model, LENGTHS)
    testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    return {**results, **gradients(model)}


def build(testbed: Testbed, target: Target, attn: str = "flash_attention_2") -> Any:
    """The tiny model of a target's family, in bfloat16."""
    module = import_module(target.module)
    model, config, particular = _MODELS[target.qualname.partition(".")[0]]
    return testbed.model(getattr(module, model), getattr(module, config)(**{**_DECODER, **particular}), attn=attn)


def run(
    testbed: Testbed, target: Target, model: Any, lengths: tuple[int, ...], row: int = 0, use_cache: bool = True
) -> dict[str, torch.Tensor]:
    """Run samples of the batch, padded on the right, and go back through the loss.

    Args:
        testbed: gives the numbers.
        target: whose family `model` is of.
        model: from `build`.
        lengths: of the samples, in tokens.
        row: which sample of the whole batch the first one is.
        use_cache: as the model's forward takes it.

    Returns:
        ``outputs``: logits (or last hidden states) of the real tokens, (tokens, width). ``loss``: cross entropy of the
        next token, summed over the tokens of `lengths` and divided by their number in the whole batch.
    """
    import torch

    kind = target.qualname.partition(".")[0]
    batch, longest = slice(row, row + len(lengths)), max(lengths)
    ids = testbed.randint(3, 32, len(LENGTHS), max(LENGTHS), seed=1)[batch, :longest]
    mask = torch.stack([torch.arange(longest) < length for length in lengths]).long().to(ids.device)
    embedded = testbed.randn(len(LENGTHS), max(LENGTHS), 64, dtype=torch.bfloat16, seed=2)[batch, :longest]
    given: dict[str, Any] = {"attention_mask": mask, "use_cache": use_cache}
    if kind == "MimiTransformerModel":
        model, given["hidden_states"] = model.decoder_transformer, embedded
    elif kind == "MoshiDepthDecoder":
        given.update(input_ids=ids, last_hidden_state=embedded)
    elif kind == "KyutaiSpeechToTextModel":
        codes = testbed.randint(0, 32, len(LENGTHS), max(LENGTHS), 4, seed=3)[batch, :longest]
        given["input_ids"] = torch.cat([ids[..., None], codes], dim=-1)
    else:
        given["input_ids"] = ids
    if use_cache and kind in ("KyutaiSpeechToTextModel", "MoshiModel"):
        # From 4.54.0 on they make their own cache after the place of the check.
        given["past_key_values"] = import_module("transformers").DynamicCache()
    if "labels" in inspect.signature(model.forward).parameters:
        given["labels"] = ids.masked_fill(mask == 0, -100)
    returned = model(**given)
    if (returned.past_key_values is not None) is not use_cache:
        raise AssertionError(f"{type(model).__name__} under use_cache={use_cache}: {returned.past_key_values}")
    outputs = returned["logits"] if "logits" in returned else returned["last_hidden_state"]
    scores = outputs.float()
    if "logits" not in returned:
        scores = scores @ testbed.randn(scores.shape[-1], 64, seed=4) / scores.shape[-1] ** 0.5
    following = ids[:, 1:].masked_fill(mask[:, 1:] == 0, -100)
    loss = torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), following.flatten(), reduction="sum")
    loss = loss / sum(length - 1 for length in LENGTHS)
    loss.backward()
    return {"outputs": outputs[mask.bool()], "loss": loss}


def gradients(model: Any) -> dict[str, torch.Tensor]:
    """The gradients of the weight matrices of the last layer and of the embedding, by their own names."""
    held = {name: one.grad for name, one in model.named_parameters() if one.grad is not None and one.ndim > 1}
    named = {f"gradient {name.rpartition('layers.')[2]}": grad for name, grad in held.items() if "layers.1." in name}
    embedding = [grad for name, grad in held.items() if "embed" in name]
    return {**named, **({"gradient embedding": embedding[0]} if embedding else {})}
