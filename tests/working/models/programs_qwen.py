"""Correct programs for Qwen's multimodal models, run on a release without repairs and on the same release repaired."""

from __future__ import annotations

import functools
from importlib import import_module
from types import SimpleNamespace

import torch

from hotfix.proofs import zoo
from hotfix.proofs.models._positions import without_weights


def _model_class(name):
    package, _, owner = name.partition(":")
    return getattr(import_module(f"transformers.models.{package}.modeling_{package}"), owner)


# -- qwen25vl-second-per-grid-int-truncation, qwen25vl-image-temporal-positions ----------------------------------------


def _vision_positions(testbed, parts, cls=None, **given):
    model = zoo.qwen_vl(testbed, cls or _model_class("qwen2_5_vl:Qwen2_5_VLModel"))
    ids = torch.tensor([zoo.qwen_sentence(testbed, parts)])
    positions, deltas = zoo.qwen_rope_index(model, ids, **given)
    return {"positions": positions, "deltas": deltas}


_LONG = {"parts": [3, (zoo.QWEN_VIDEO, 300)], "videos": ((300, 2, 2),)}


def seconds_in_half_precision(testbed, target):
    """A long video, one second apart, after `processor(...).to(torch.bfloat16)`."""
    return _vision_positions(testbed, seconds=torch.tensor([1.0]).to(torch.bfloat16), **_LONG)


def seconds_under_a_default_of_half_precision(testbed, target):
    """The same seconds as a plain number, while tensors are made in bfloat16 by default."""
    model = zoo.qwen_vl(testbed, _model_class("qwen2_5_vl:Qwen2_5_VLModel"))
    ids = torch.tensor([zoo.qwen_sentence(testbed, _LONG["parts"])])
    torch.set_default_dtype(torch.bfloat16)
    positions, deltas = zoo.qwen_rope_index(model, ids, videos=_LONG["videos"], seconds=[1.0])
    return {"positions": positions, "deltas": deltas}


def _own_class():
    class Model(_model_class("qwen2_5_vl:Qwen2_5_VLModel")):
        """Workarounds for two bugs of the release: the program places frames itself, only at whole seconds."""

        def get_vision_position_ids(self, start, grid, temporal=1, spatial=1, interval=1, device=None):
            frames, rows, columns = (grid // torch.tensor([temporal, spatial, spatial])).tolist()
            places = torch.cartesian_prod(torch.arange(frames), torch.arange(rows), torch.arange(columns))
            places[:, 0] *= interval // self.config.vision_config.tokens_per_second
            return (places.T + start).expand(3, -1)

    return Model


def positions_of_ones_own(testbed, target):
    """A model that places the frames itself, and has a second for each image, as the release requires."""
    parts = [2, (zoo.QWEN_IMAGE, 6), 3, (zoo.QWEN_VIDEO, 8), (zoo.QWEN_VIDEO, 4)]
    given = {"images": ((1, 4, 6),), "videos": ((2, 4, 4), (1, 4, 4)), "seconds": [1.0, 2.0, 4.0]}
    return _vision_positions(testbed, parts, _own_class(), **given)


# -- qwen3vl-v5-video-stopiteration ------------------------------------------------------------------------------------


def frames_side_by_side(testbed, target):
    """A template that writes the frames of a video one after another, and sizes that the program repeats."""
    model = without_weights(testbed, _model_class("qwen3_vl:Qwen3VLModel"))
    results = {}
    frame = (zoo.QWEN_VIDEO, 6)
    for name, parts, videos in (
        ("one video", [3, (zoo.QWEN_VIDEO, 18), 4], ((3, 4, 6),)),
        ("repeated", [3, 2, frame, 2, frame, 4], ((1, 4, 6), (1, 4, 6))),
    ):
        ids = torch.tensor([zoo.qwen_sentence(testbed, parts)])
        results[name], results[f"{name}: deltas"] = zoo.qwen_rope_index(model, ids, videos=videos)
    return results


# -- qwen2vl-text-position-ids-from-mrope ------------------------------------------------------------------------------


def _decoder(testbed, name, attn="sdpa", dtype=torch.float32):
    package, _, owner = name.partition(":")
    target = SimpleNamespace(module=f"transformers.models.{package}.modeling_{package}", qualname=f"{owner}.forward")
    return zoo.qwen_decoder(testbed, target, attn, dtype).train()


_DECODERS = {
    "4.56.2": "qwen2_5_vl:Qwen2_5_VLTextModel",
    "4.57.6": "qwen3_vl:Qwen3VLTextModel",
    "5.0.0": "qwen3_vl:Qwen3VLTextModel",
}


def _for_this_release():
    return _DECODERS[import_module("transformers").__version__]


def _text_positions(*lengths):
    return torch.cat([torch.arange(length) for length in lengths]).expand(3, 1, -1)


def packed_texts(testbed, target):
    """Two texts in one row, with the three rows of positions that the release documents; under two attentions."""
    results = {}
    for attn in ("eager", "sdpa"):
        model = _decoder(testbed, _for_this_release(), attn)
        embeddings = testbed.randn(1, 11, 64, seed=1)
        output = model(inputs_embeds=embeddings, position_ids=_text_positions(6, 5), use_cache=False)
        results[attn] = output.last_hidden_state
    return results


def packed_texts_are_apart(testbed, target):
    """The second of two packed texts, which has an image, minus itself alone: 0 if they do not see each other."""
    model = _decoder(testbed, _for_this_release())
    positions = torch.cat([_text_positions(6), zoo.qwen_image_positions(2)], dim=-1)
    embeddings = testbed.randn(1, positions.shape[-1], 64, seed=1)
    with torch.no_grad():
        packed = model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state[:, 6:]
        alone = model(
            inputs_embeds=embeddings[:, 6:], position_ids=positions[..., 6:], use_cache=False
        ).last_hidden_state
    return {"difference": (packed - alone).abs().max()}


def packed_with_images_under_flash(testbed, target):
    """Two texts with images in one row, under FlashAttention-2."""
    model = _decoder(testbed, _for_this_release(), "flash_attention_2", torch.bfloat16)
    positions = torch.cat([zoo.qwen_image_positions(3), zoo.qwen_image_positions(2)], dim=-1)
    embeddings = testbed.randn(1, positions.shape[-1], 64, dtype=torch.bfloat16, seed=1)
    return {"packed": model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state}


def attention_that_reads_positions(testbed, target):
    """A registered attention that separates packed texts by their positions."""
    seen = []

    def apart(module, query, key, value, mask, position_ids=None, scaling=None, **kwargs):
        seen.append(position_ids)
        sample = (position_ids.diff(dim=-1, prepend=position_ids[:, :1]) < 0).cumsum(-1)
        mask = (sample[:, :, None] == sample[:, None]).tril()[:, None]
        groups = query.shape[1] // key.shape[1]
        key, value = (states.repeat_interleave(groups, dim=1) for states in (key, value))
        output = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=scaling)
        return output.transpose(1, 2), None

    import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS["apart"] = apart
    model = _decoder(testbed, _for_this_release())
    model.config._attn_implementation = "apart"
    positions = torch.cat([zoo.qwen_image_positions(0), zoo.qwen_image_positions(2)], dim=-1)
    embeddings = testbed.randn(1, positions.shape[-1], 64, seed=1)
    output = model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state
    return {"output": output, "positions": torch.stack(seen)}


def compiled_without_breaks(testbed, target):
    """A packed text and one with an image, under `torch.compile(fullgraph=True)`."""
    model = _decoder(testbed, _for_this_release()).eval()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    results = {}
    with torch.no_grad():
        for name, positions in (("packed", _text_positions(6, 5)), ("image", zoo.qwen_image_positions(2))):
            embeddings = testbed.randn(1, 11, 64, seed=1)
            output = compiled(inputs_embeds=embeddings, position_ids=positions, use_cache=False)
            results[name] = output.last_hidden_state
    return results


class Slots:
    """An attention that is an object without a ``__dict__``."""

    __slots__ = ("attention",)

    def __init__(self, attention):
        self.attention = attention

    def __call__(self, *args, **kwargs):
        return self.attention(*args, **kwargs)


def attentions_that_are_objects(testbed, target):
    """Registered attentions that are no functions, as they are and under `torch.compile(fullgraph=True)`."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]

    def own(*args, **kwargs):
        return sdpa(*args, **kwargs)

    model, results = _decoder(testbed, _for_this_release()).eval(), {}
    given = {"inputs_embeds": testbed.randn(1, 11, 64, seed=1), "position_ids": _text_positions(6, 5)}
    for name, attention in (("partial", functools.partial(own)), ("slots", Slots(sdpa))):
        ALL_ATTENTION_FUNCTIONS[name] = attention
        model.config._attn_implementation = name
        for way, run in (("eager", model), ("compiled", torch.compile(model, fullgraph=True, backend="eager"))):
            with torch.no_grad():
                results[f"{name}, {way}"] = run(**given, use_cache=False).last_hidden_state
        torch._dynamo.reset()
    return results


# -- qwen2vl-decode-delta-left-padding ---------------------------------------------------------------------------------


def deltas_of_ones_own(testbed, target):
    """A workaround: a model whose `rope_deltas` count from the first token after the padding."""
    from hotfix.proofs.models.qwen2vl_decode_delta_left_padding import generated, prompts

    cls = _model_class("qwen2_5_vl:Qwen2_5_VLForConditionalGeneration")
    model = zoo.qwen_vl(testbed, cls, dtype=torch.float32)

    class Model(type(model.model)):
        def get_rope_index(self, input_ids=None, *args, attention_mask=None, **kwargs):
            positions, deltas = super().get_rope_index(input_ids, *args, attention_mask=attention_mask, **kwargs)
            if attention_mask is not None:
                deltas = deltas + (attention_mask == 0).sum(-1, keepdim=True)
            return positions, deltas

    model.model.__class__ = Model
    return generated(model, *prompts(testbed))


# -- qwenvl-v5-stale-rope-deltas-forward -------------------------------------------------------------------------------


def steps_behind_a_cache(testbed, target):
    """Positions of the next token after a cache that counts its tokens in a tensor."""
    model = without_weights(testbed, _model_class("qwen2_vl:Qwen2VLModel"))
    model.rope_deltas = torch.tensor([[-3]])
    given = {"image_grid_thw": None, "video_grid_thw": None, "attention_mask": None}
    cache = SimpleNamespace(get_seq_length=lambda *args: torch.tensor(14))
    positions = model.compute_3d_position_ids(
        input_ids=torch.ones(1, 1, dtype=torch.long), inputs_embeds=torch.ones(1, 1, 8), past_key_values=cache, **given
    )
    return {"positions": positions}


# -- qwenvl-vision-fa2-crash -------------------------------------------------------------------------------------------


def attention_with_flash_in_its_name(testbed, target):
    """Two images under a custom attention, which is called `sdpa_flash` and reads the mask."""
    functions = import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS
    functions["sdpa_flash"] = import_module("transformers.integrations.sdpa_attention").sdpa_attention_forward
    results = {}
    for package, owner in (("qwen2_5_vl", "Qwen2_5_VLVisionAttention"), ("glm4v", "Glm4vVisionAttention")):
        named = SimpleNamespace(module=f"transformers.models.{package}.modeling_{package}", qualname=f"{owner}.forward")
        encoder, inputs = zoo.encoder_and_inputs(testbed, named, attn="sdpa", dtype=torch.float32)
        for module in encoder.modules():
            if hasattr(module, "config"):
                module.config._attn_implementation = "sdpa_flash"
        results[package] = encoder(**inputs)
    return results
