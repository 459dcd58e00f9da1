"""Draws for the bugs of positions in Qwen's models of text, images and videos."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.models import qwen25vl_v5_temporal_position_collapse
from hotfix.proofs.models import qwenvl_v5_stale_rope_deltas_forward as stale
from hotfix.proofs.models import qwenvl_v5_token_types_left_out as left_out
from hotfix.proofs.models._positions import without_weights
from tools.studies.draws import Draw, Tensors, batch, of


def _sample(draw: Draw, merged: int = 1) -> tuple[list[Any], list[Any], list[Any]]:
    """Parts of a sentence, and the grids of its images and videos."""
    parts: list[Any] = [draw.number("words before", 1, 4)]
    images: list[Any] = []
    videos: list[Any] = []
    kinds = draw.of("seen", "", "i", "v", "iv", "vi", "vv", "ii", "v")
    for number, kind in enumerate(kinds):
        height, width = draw.of(f"height {number}", 4, 6), draw.of(f"width {number}", 4, 6)
        frames = draw.of(f"frames {number}", 1, 2, 4) * merged if kind == "v" else 1
        tokens = (frames // merged if kind == "v" else 1) * height * width // 4
        parts += [(zoo.QWEN_VIDEO if kind == "v" else zoo.QWEN_IMAGE, tokens), draw.number(f"words {number}", 1, 3)]
        (videos if kind == "v" else images).append((frames, height, width))
    return parts, images, videos


@of("qwen25vl-image-temporal-positions", "qwen25vl-v5-temporal-position-collapse")
@of("qwen25vl-second-per-grid-int-truncation", beside=("qwen25vl-v5-temporal-position-collapse",))
def placed(draw: Draw) -> Tensors:
    """Positions of a text with images and videos at several rates."""
    import torch

    cls = zoo.class_of(draw.target)
    model = qwen25vl_v5_temporal_position_collapse._model(draw.testbed, cls)
    merged = getattr(model.config.vision_config, "temporal_merge_size", 1)
    parts, images, videos = _sample(draw, merged)
    seconds = [draw.of(f"seconds {number}", 0.5, 1.0, 1.0, 1.25, 2.0, 2.0) for number in range(len(videos))]
    if images and seconds:
        seconds.append(1.0)  # with fewer entries than images and videos together 5.3.0 crashes
    kind = draw.of("seconds are", "none", "a list", "a tensor") if videos else "none"
    given = {"none": None, "a list": seconds, "a tensor": torch.tensor(seconds)}[kind]
    ids = torch.tensor([zoo.qwen_sentence(draw.testbed, parts, draw.seed)])
    positions, deltas = zoo.qwen_rope_index(model, ids, images=images, videos=videos, seconds=given)
    return {"positions": positions, "deltas": deltas}


@of("qwen2vl-decode-delta-left-padding")
def decoded(draw: Draw) -> Tensors:
    """One to three prompts, some with an image, some padded on the left, are continued."""
    import torch

    model = zoo.qwen_vl(draw.testbed, zoo.class_of(draw.target), dtype=torch.float32)
    rows, grids = [], []
    same = draw.of("same length", True, False)
    for number in range(draw.number("rows", 1, 3)):
        words = 6 if same else draw.number(f"words {number}", 1, 6)
        parts: list[Any] = [words]
        if not same and draw.of(f"image {number}", True, False):
            parts += [(zoo.QWEN_IMAGE, 4), 2]
            grids.append((1, 4, 4))
        rows.append(zoo.qwen_sentence(draw.testbed, parts, draw.seed + number))
    ids, mask = zoo.qwen_padded_left(rows, draw.testbed.device)
    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        image_grid_thw=torch.tensor(grids) if grids else None,
        max_new_tokens=draw.number("new tokens", 1, 3),
        do_sample=False,
        use_cache=draw.of("cache", True, True, True, False),
        output_logits=True,
        return_dict_in_generate=True,
    )
    return {"tokens": output.sequences[:, ids.shape[1] :], "logits": torch.stack(output.logits, dim=1)}


@of("qwen2vl-text-position-ids-from-mrope")
def of_text(draw: Draw) -> Tensors:
    """Positions of words, or of words and an image, with and without a mask, a cache and padding."""
    import torch

    flash = "qwen3_5" not in draw.target.module and draw.of("attention", "sdpa", "sdpa", "flash") == "flash"
    attn, dtype = ("flash_attention_2", torch.bfloat16) if flash else ("sdpa", torch.float32)
    model = zoo.qwen_decoder(draw.testbed, draw.target, attn, dtype)
    if draw.of("image", True, False):
        positions = zoo.qwen_image_positions(draw.number("before", 0, 3))
    else:
        positions = torch.arange(draw.number("words", 1, 9)).expand(3, 1, -1)
    rows = draw.number("rows", 1, 2)
    positions = positions.expand(3, rows, -1)
    if draw.of("own row", False, False, True):  # as the models of later releases hand them on
        positions = torch.cat([torch.arange(positions.shape[-1]).expand(1, rows, -1), positions])
    embeddings = draw.testbed.randn(rows, positions.shape[-1], 64, dtype=dtype, seed=draw.seed)
    mask = torch.ones(rows, positions.shape[-1], dtype=torch.long) if draw.of("mask", False, False, True) else None
    if draw.of("training", True, False):
        model.train()
    cache = draw.of("cache", False, False, True)
    output = model(inputs_embeds=embeddings, position_ids=positions, attention_mask=mask, use_cache=cache)
    return {"output": output.last_hidden_state}


@of("llama-gemma-rope-autocast")
def positions_under_autocast(draw: Draw) -> Tensors:
    """A Llama or a Gemma, with and without autocast, from any position on."""
    import torch

    make = zoo.gemma if "gemma" in draw.target.module else zoo.llama
    dtype = draw.of("dtype", torch.float32, torch.float32, torch.bfloat16)
    model = make(draw.testbed, attn=draw.of("attention", "eager", "sdpa"), dtype=dtype)
    first = draw.of("first position", 0, 0, 0, 5, 100, 250, 256, 257, 600, 1000)
    rows, tokens = draw.number("rows", 1, 2), draw.number("tokens", 2 if first else 1, 12)
    ids = draw.testbed.randint(3, 60, rows, tokens, seed=draw.seed)
    positions = torch.arange(first, first + tokens).expand(rows, -1)
    mixed = draw.of("autocast", torch.bfloat16, torch.bfloat16, torch.float16, None)
    with torch.autocast(draw.testbed.device, dtype=mixed or torch.bfloat16, enabled=mixed is not None):
        return {"logits": model(ids, position_ids=positions, use_cache=draw.of("cache", False, True)).logits}


@of("qwenvl-v5-stale-rope-deltas-forward")
def after_an_image(draw: Draw) -> Tensors:
    """A batch that comes after an image or after none, as text, as embeddings, or to a cache."""
    import torch

    model = without_weights(draw.testbed, zoo.class_of(draw.target))
    offset = draw.of("offset", None, -3, 5)
    model.rope_deltas = None if offset is None else torch.tensor([[offset]])
    length = draw.of("cache", None, 0, 14)
    ids, mask, _ = batch(draw, tokens=7)
    given: dict[str, Any] = {"attention_mask": mask if length != 14 else None}
    if length is not None:
        given["past_key_values"] = SimpleNamespace(get_seq_length=lambda *args: length)
    if draw.of("embeddings alone", False, False, True):
        embeddings = draw.testbed.randn(*ids.shape, 8, seed=draw.seed)
        return {"positions": stale._positions(model, None, inputs_embeds=embeddings, **given)}
    return {"positions": stale._positions(model, ids, **given)}


@of("qwenvl-v5-token-types-left-out")
def a_text_with_pictures(draw: Draw) -> Tensors:
    """A text with none to two pictures of two tokens or more, or videos, with and without the types of its tokens."""
    import torch

    model = without_weights(draw.testbed, zoo.class_of(draw.target))
    token, sizes = draw.of("what", (zoo.QWEN_IMAGE, "image_grid_thw"), (zoo.QWEN_VIDEO, "video_grid_thw"))
    grids = [
        [1, 2 * draw.number("rows", 1, 3), 2 * draw.number("columns", 2, 4)]
        for _ in range(draw.number("pictures", 0, 2))
    ]
    parts = [[token] * (rows * columns // 4) for _, rows, columns in grids]
    given = {sizes: torch.tensor(grids)} if grids else {}
    types = draw.of("types", False, False, True)
    return {"positions": left_out._positions(model, draw.target, parts, types=types, **given)}
