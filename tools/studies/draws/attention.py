"""Draws for the bugs of attention: windows, padding, packed sequences."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

from hotfix.models.gemma2_fa2_no_window import LAYER
from hotfix.proofs import zoo
from hotfix.proofs.models.gemma2_fa2_no_window import continued
from tools.studies.draws import Draw, Tensors, batch, of


def _windowed(draw: Draw, family: str) -> Any:
    import torch

    with patch.object(zoo, "WINDOW", draw.number("window", 2, 8)):
        return zoo.windowed(draw.testbed, family, dtype=draw.of("dtype", torch.bfloat16, torch.float16))


def _generated(draw: Draw, model: Any, ids: Any, mask: Any, **more: Any) -> Tensors:
    import torch

    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    output = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=draw.number("new tokens", 1, 4),
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
        **more,
    )
    return {"tokens": output.sequences[:, ids.shape[1] :], "scores": torch.stack(output.scores, dim=1)}


@of("fa-sliding-window-off-by-one")
def window(draw: Draw) -> Tensors:
    """A forward, or `generate`, with a window that may be longer than the text; or sequences packed into a row."""
    import torch

    own = draw.target.module.startswith("transformers.models.")
    family = draw.target.module.rpartition(".modeling_")[2] if own else draw.of("family", "mistral", "qwen2")
    model = _windowed(draw, family)
    way = draw.of("way", "forward", "forward", "forward", "packed", "generate")
    if way == "packed":
        pieces = [draw.number(f"length {number}", 1, 6) for number in range(draw.number("sequences", 1, 3))]
        positions = torch.cat([torch.arange(piece) for piece in pieces])[None]
        ids = draw.testbed.randint(3, 48, 1, sum(pieces), seed=draw.seed)
        return {"logits": model(ids, position_ids=positions, use_cache=False).logits}
    sides = ("none", "ones", "left") if way == "generate" else ()
    ids, mask, real = batch(draw, sides=sides)
    if way == "generate":
        return _generated(draw, model, ids, mask)
    return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}


@of("fa2-sliding-window-mask-slicing")
def continued_past_the_window(draw: Draw) -> Tensors:
    """`generate`, or a forward, with a window that may be longer than the text."""
    family = draw.target.module.rpartition(".modeling_")[2]
    model = _windowed(draw, family)
    if draw.of("way", "generate", "generate", "generate", "forward") == "forward":
        ids, mask, real = batch(draw)
        return {"logits": model(ids, attention_mask=mask, use_cache=draw.of("cache", True, False)).logits[real]}
    ids, mask, _ = batch(draw, tokens=8, fewest=2, sides=("none", "ones", "left", "left"))
    return _generated(draw, model, ids, mask)


@of("gemma2-fa2-no-window", beside=("fa-sliding-window-off-by-one",))
def window_of_gemma2(draw: Draw) -> Tensors:
    """A forward without a cache; where the layer is broken, also with the cache of Gemma 2."""
    import torch

    model = _windowed(draw, "gemma2")
    if f"{draw.target.module}:{draw.target.qualname}" != LAYER or draw.of("way", "forward", "cache") == "forward":
        ids, mask, real = batch(draw)
        return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}
    ids, mask, real = batch(draw, fewest=2, sides=("ones", "left", "right"))
    prompt = draw.number("prompt", 1, ids.shape[1])
    with torch.no_grad():
        return {"logits": continued(model, ids, mask, prompt)[real]}


@of("fa2-posids-varlen-unpadded-batch")
def positions_of_a_batch(draw: Draw) -> Tensors:
    """A Llama: a forward with and without positions, or `generate`."""
    import torch

    attention = draw.of("attention", "flash_attention_2", "flash_attention_2", "flash_attention_2", "sdpa")
    model = zoo.llama(draw.testbed, attn=attention, dtype=draw.of("dtype", torch.bfloat16, torch.float16))
    way = draw.of("way", "forward", "forward", "generate")
    ids, mask, real = batch(draw, sides=("none", "ones", "left") if way == "generate" else ())
    if way == "generate":
        return _generated(draw, model, ids, mask)
    rows, tokens = ids.shape
    positions = {
        "none": None,
        "one row": torch.arange(tokens)[None],
        "all rows": torch.arange(tokens).expand(rows, -1),
    }[draw.of("positions", "none", "one row", "all rows")]
    return {"logits": model(ids, attention_mask=mask, position_ids=positions, use_cache=False).logits[real]}


@of("fa2-varlen-kwargs-ignored")
def lengths_of_sequences(draw: Draw) -> Tensors:
    """The function itself: sequences in a row, with all lengths, without one of them, or with positions."""
    import torch

    pieces = [draw.number(f"length {number}", 1, 6) for number in range(draw.number("sequences", 1, 3))]
    total = sum(pieces)
    shapes = ((1, total, 4, 16), (1, total, 2, 16), (1, total, 2, 16))
    dtype = draw.of("dtype", torch.bfloat16, torch.float16)
    states = [draw.testbed.randn(*shape, dtype=dtype, seed=draw.seed + n) for n, shape in enumerate(shapes)]
    bounds = torch.tensor([0, *pieces]).cumsum(0).int()
    arguments: dict[str, Any] = {
        "cu_seq_lens_q": bounds,
        "cu_seq_lens_k": bounds,
        "max_length_q": max(pieces),
        "max_length_k": max(pieces),
    }
    lacks = draw.of("lacks", "nothing", "nothing", "nothing", *arguments)
    arguments.pop(lacks, None)
    if draw.of("positions", False, False, True):
        arguments["position_ids"] = torch.cat([torch.arange(piece) for piece in pieces])[None]
    mask = torch.ones(1, total, dtype=torch.long) if draw.of("mask", False, False, True) else None
    forward = import_module(draw.target.module)._flash_attention_forward
    output = forward(
        *states, attention_mask=mask, query_length=total, is_causal=draw.of("causal", True, False), **arguments
    )
    return {"output": output}


@of("gpt2-fa2-padding-loses-causality")
def padding_of_gpt2(draw: Draw) -> Tensors:
    """A GPT-2, with and without padding and a mask."""
    import torch

    attention = draw.of("attention", "flash_attention_2", "flash_attention_2", "flash_attention_2", "sdpa")
    model = zoo.gpt2(draw.testbed, attn=attention, dtype=draw.of("dtype", torch.bfloat16, torch.float16))
    way = draw.of("way", "forward", "forward", "generate")
    ids, mask, real = batch(draw, sides=("none", "ones", "left") if way == "generate" else ())
    if way == "generate":
        return _generated(draw, model, ids, mask)
    return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}


@of("vit-attentions-under-sdpa")
def heads_of_a_vit(draw: Draw) -> Tensors:
    """A ViT or VideoMAE under sdpa or eager, with and without its attentions and a mask of heads."""
    import torch
    import transformers

    name = draw.of("model", "ViT", "VideoMAE")
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = getattr(transformers, f"{name}Config")(
        **sizes, image_size=8, patch_size=4, num_frames=2, output_attentions=draw.of("configured", False, False, True)
    )
    attention = draw.of("attention", "sdpa", "sdpa", "eager")
    model = draw.testbed.model(getattr(transformers, f"{name}Model"), config, attention, torch.float32)
    heads = {
        "none": None,
        "all": torch.ones(2, 4),
        "some": draw.testbed.randint(0, 2, 2, 4, seed=draw.seed).float(),
    }[draw.of("heads", "none", "all", "some")]
    pixels = draw.testbed.randn(*((1, 2, 3, 8, 8) if name == "VideoMAE" else (2, 3, 8, 8)), seed=draw.seed)
    output = model(pixels, head_mask=heads, output_attentions=draw.of("asks", None, None, True, False))
    weights = [torch.zeros(1) if layer is None else layer for layer in output.attentions or ()]
    return {"states": output.last_hidden_state, **{f"weights {at}": layer for at, layer in enumerate(weights)}}


@of("decoder-attends-to-the-future")
def tokens_of_a_decoder(draw: Draw) -> Tensors:
    """A RoFormer or MegatronBert, as an encoder or a decoder, with and without padding."""
    import torch
    import transformers

    name = draw.of("model", "RoFormer", "MegatronBert")
    sizes = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    config = getattr(transformers, f"{name}Config")(
        **sizes, num_attention_heads=4, is_decoder=draw.of("decodes", True, True, False)
    )
    model = draw.testbed.model(getattr(transformers, f"{name}Model"), config, "eager", torch.float32)
    ids, mask, real = batch(draw)
    states = model(ids, attention_mask=mask).last_hidden_state
    return {"states": states[real]}


@of("gemma3-bidirectional-across-images", "gemma3-mask-image-distance-heuristic")
def images_of_gemma3(draw: Draw) -> Tensors:
    """Texts with no image up to three, near or far from each other; a forward, or `generate`."""
    import torch

    model, _ = zoo.gemma3(draw.testbed)
    if draw.of("attention", "sdpa", "eager") == "eager":
        model = draw.testbed.model(type(model), model.config, attn="eager", dtype=torch.float32)
    rows = []
    for row in range(draw.number("rows", 1, 2)):
        layout = "t" * draw.number(f"row {row}: before", 1, 3)
        for image in range(draw.number(f"row {row}: images", 0, 3)):
            layout += ("t" * draw.number(f"row {row}: gap {image}", 0, 6) if image else "") + "iiii"
        rows.append(layout + "t" * draw.number(f"row {row}: behind", 1, 3))
    longest = max(map(len, rows))
    rows = [row.rjust(longest, "_") for row in rows]
    types = torch.tensor([[int(letter == "i") for letter in row] for row in rows])
    real = torch.tensor([[int(letter != "_") for letter in row] for row in rows])
    ids = draw.testbed.randint(1, 59, *types.shape, seed=draw.seed).masked_fill(types.bool(), 60) * real
    arguments = {"attention_mask": real} if draw.of("mask", True, True, False) or not bool(real.all()) else {}
    if draw.of("types", True, True, True, False):
        arguments["token_type_ids"] = types
    if "Gemma3ForConditionalGeneration.prepare" in draw.target.qualname or draw.of("way", "forward", "generate") == (
        "generate"
    ):
        cache = draw.of("cache", "hybrid", None)
        output = model.generate(
            input_ids=ids,
            **arguments,
            **({"cache_implementation": cache} if cache else {}),
            max_new_tokens=2,
            do_sample=False,
            eos_token_id=None,
            return_dict_in_generate=True,
            output_logits=True,
        )
        return {"tokens": output.sequences[:, longest:], "logits": torch.stack(output.logits, dim=1)}
    return {"logits": model.train()(input_ids=ids, **arguments, use_cache=False).logits[real.bool()]}


@of("glm4v-bool-mask")
def images_of_glm4v(draw: Draw) -> Tensors:
    """One to three images under both attentions; the encoder of this release takes no frames."""
    import torch

    attention = draw.of("attention", "eager", "eager", "sdpa")
    encoder, inputs = zoo.encoder_and_inputs(draw.testbed, draw.target, attn=attention, dtype=torch.float32)
    grid = [
        [1, *(draw.of(f"{side} {n}", 2, 4, 6) for side in ("rows", "columns"))]
        for n in range(draw.number("images", 1, 3))
    ]
    patches = sum(frames * height * width for frames, height, width in grid)
    pixels = draw.testbed.randn(patches, inputs["hidden_states"].shape[1], dtype=encoder.dtype, seed=draw.seed)
    return {"output": encoder(hidden_states=pixels, grid_thw=torch.tensor(grid))}


@of("gemma2-cohere2-window-crash")
def past_the_window(draw: Draw) -> Tensors:
    """A Gemma 2 or a Cohere 2 under each attention: `generate`, or a forward without a cache."""
    import torch

    attention = draw.of("attention", "eager", "sdpa", "flash_attention_2")
    dtype = torch.bfloat16 if attention == "flash_attention_2" else torch.float32
    # Gemma 2 fails past the window, whatever the attention: it is to stay within it as often.
    gemma2 = "gemma2" in draw.target.module
    with patch.object(zoo, "WINDOW", draw.number("window", 4, 12) if gemma2 else draw.number("window", 2, 5)):
        if gemma2:
            model = zoo.windowed(draw.testbed, "gemma2", attn=attention, dtype=dtype)
        else:
            model = zoo.windowed_cohere2(draw.testbed, attn=attention, dtype=dtype)
    if draw.of("way", "generate", "generate", "generate", "forward") == "forward":
        ids, mask, real = batch(draw)
        return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}
    ids, mask, _ = batch(draw, tokens=8, fewest=2, sides=("none", "ones", "left", "left"))
    return _generated(draw, model, ids, mask)


@of("gemma2-sliding-layer-parity", beside=("gemma2-noncausal-sliding-layers", "gemma2-attn-softcap-missing"))
def window_of_each_layer(draw: Draw) -> Tensors:
    """A Gemma 2 of one to three layers with a window that may be longer than the text: a forward, or `generate`."""
    import torch

    with patch.object(zoo, "WINDOW", draw.number("window", 2, 10)):
        attention = draw.of("attention", "eager", "sdpa")
        model = zoo.windowed(
            draw.testbed, "gemma2", layers=draw.number("layers", 1, 3), attn=attention, dtype=torch.float32
        )
    if draw.of("way", "forward", "forward", "generate") == "forward":
        ids, mask, real = batch(draw)
        return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}
    ids, mask, _ = batch(draw, tokens=8, fewest=2, sides=("none", "ones", "left"))
    return _generated(draw, model, ids, mask)


@of("flex-block-mask-batch")
def blocks_of_a_batch(draw: Draw) -> Tensors:
    """The mask of texts, some padded, or of rows of packed texts, with the lengths that a model gives or without.

    The comparison is of the effective mask of flex attention: it leaves out blocks marked empty, takes blocks marked
    full whole, and calls the function of the mask in the others, with the number of the row.
    """
    import torch
    from transformers.integrations import flex_attention

    rows = draw.number("rows", 1, 3)
    longest = draw.of("tokens", 1, 9, 128, 129, 200, 256, 300, 384, 400)
    kind = draw.of("rows are", "whole", "padded left", "padded right", "packed", "packed alike")
    ids = torch.ones(rows, longest, dtype=torch.long)
    if kind.startswith("padded"):
        for row, length in zip(ids, draw.lengths("lengths", rows, longest), strict=True):
            row[: longest - length] = 0
            if kind == "padded right":
                row[:] = row.flip(0)
    elif kind.startswith("packed"):
        for number, row in enumerate(ids):
            for cut in range(draw.number(f"cuts {number}", 0, 3)):
                row[draw.number(f"cut {number}.{cut}", 0, longest) :] += 1
        if kind == "packed alike":
            ids[:] = ids[:1].clone()
    how: dict[str, Any] = {}
    if draw.of("lengths given", True, True, True, False):
        how = {"query_length": longest, "key_length": longest}
    chunk = draw.of("chunk", None, None, 64, 128)
    if chunk is not None:
        how["attention_chunk_size"] = chunk
    whole = flex_attention.create_block_causal_mask_flex
    # Compiling the making of a mask takes a compiler and a minute, and changes nothing of the mask.
    with patch.object(
        flex_attention, "create_block_causal_mask_flex", lambda **options: whole(**{**options, "_compile": False})
    ):
        mask = flex_attention.make_flex_block_causal_mask(ids, **how)
    return {"seen": torch.stack([_seen(mask, row, longest) for row in range(rows)])}


def _seen(mask: Any, row: int, tokens: int) -> Any:
    """Which tokens see which in a row of a batch, as flex attention takes it from a block mask."""
    import torch

    own = min(row, mask.kv_num_blocks.shape[0] - 1)  # the blocks of a batch of one are those of every row
    size, places = mask.BLOCK_SIZE, torch.arange(tokens)
    allowed = mask.mask_mod(torch.tensor(row), torch.tensor(0), places[:, None], places[None, :])
    seen = torch.zeros(tokens, tokens, dtype=torch.bool)
    for counts, indices, full in (
        (mask.kv_num_blocks, mask.kv_indices, False),
        (mask.full_kv_num_blocks, mask.full_kv_indices, True),
    ):
        for block in range(counts.shape[-1]):
            for key in indices[own, 0, block, : int(counts[own, 0, block])].tolist():
                where = slice(block * size[0], (block + 1) * size[0]), slice(key * size[1], (key + 1) * size[1])
                seen[where] = True if full else allowed[where]
    return seen
