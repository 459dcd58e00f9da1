"""Draws for the bugs of processors and tokenizers: sizes, limits, special tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.loading import v5_additional_special_tokens_lost as special
from hotfix.proofs.names.asking import words
from hotfix.proofs.processing import assistant_mask_beyond_the_turn as masks
from hotfix.proofs.processing import whisper_longform_timestamps_reset
from hotfix.proofs.processing._pictures import edges
from hotfix.proofs.processing.v5_debertav2_no_special_tokens import _PIECES
from tools.studies.draws import Draw, Tensors, of

SIZES = (
    {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280},
    {"shortest_edge": 4 * 28 * 28, "longest_edge": 100 * 28 * 28},
    {"shortest_edge": 56 * 56, "longest_edge": 20 * 28 * 28},
)
LIMITS = {"min_pixels": (56 * 56, 12 * 28 * 28), "max_pixels": (28 * 28 * 1280, 8 * 28 * 28, 100 * 28 * 28)}


def _limits(draw: Draw, name: str = "") -> dict[str, int]:
    """No limit, one, or both."""
    chosen = draw.of(f"{name} limits".strip(), (), ("max_pixels",), ("min_pixels",), ("min_pixels", "max_pixels"))
    return {limit: draw.of(f"{name} {limit}".strip(), *LIMITS[limit]) for limit in chosen}


@contextmanager
def _restored(cls: Any) -> Iterator[None]:
    """Attributes that a bug writes into a class are removed again."""
    kept = deepcopy(vars(cls).get("size"))
    try:
        yield
    finally:
        if kept is not None:
            cls.size = kept


def _pixels(draw: Draw, processor: Any, **arguments: Any) -> dict[str, Any]:
    picture = zoo.picture(28 * draw.number("height", 2, 8), 28 * draw.number("width", 2, 8))
    output = processor(images=picture, return_tensors="pt", **arguments)
    return {name: output[name] for name in ("pixel_values", "image_grid_thw")}


@of("qwen2vl-image-processor-size-discarded")
def made_with_a_size(draw: Draw) -> Tensors:
    """A processor that is made with a size, with limits, with both, or with neither."""
    cls = zoo.class_of(draw.target)
    size = draw.of("size", None, *SIZES)
    with _restored(cls):
        processor = cls(**({} if size is None else {"size": dict(size)}), **_limits(draw))
        results = {"edges": edges(processor)}
        return results if "glm4v_fast" in draw.target.module else {**results, **_pixels(draw, processor)}


@of("qwen2vl-image-size-mutation")
def one_after_the_other(draw: Draw) -> Tensors:
    """A processor that is created or called, with or without limits; and the next call."""
    cls = zoo.class_of(draw.target)
    with _restored(cls):
        if draw.target.qualname.endswith(".preprocess"):
            processor = cls()
            first = _pixels(draw, processor, **_limits(draw))
            second = _pixels(draw, processor)
            return {"size": edges(processor), "first": first["pixel_values"], "second": second["pixel_values"]}
        size = draw.of("size", None, None, *SIZES)
        limited = cls(**({} if size is None else {"size": dict(size)}), **_limits(draw))
        return {"limited": edges(limited), "after": edges(cls())}


@of("qwen2vl-max-pixels-ignored")
def called_with_limits(draw: Draw) -> Tensors:
    """A processor with or without limits of its own that is called with limits or without."""
    import torch

    cls = zoo.class_of(draw.target)
    with _restored(cls):
        if draw.target.qualname.endswith(".preprocess"):
            own = _limits(draw, "own")
            loaded = draw.of("loaded", True, False)
            processor = cls.from_dict({"min_pixels": 3136, "max_pixels": 1003520}, **own) if loaded else cls(**own)
            return _pixels(draw, processor, **_limits(draw))
        processor = cls(**_limits(draw, "own"))
        limits = _limits(draw)
        given = draw.of("size", None, None, *SIZES)
        settled = getattr(processor, "_standardize_kwargs", None) or processor._further_process_kwargs
        size = settled(size=processor.size if given is None else dict(given), resample=3, **limits)["size"]
        results = {"size": torch.tensor([size["shortest_edge"], size["longest_edge"]])}
        if "image_processing" in draw.target.module and "qwen2_vl" in draw.target.module and given is None:
            results.update(_pixels(draw, processor, **limits))
        return results


@of("qwen2vl-processor-pixels-ignored")
def a_call_of_the_processor(draw: Draw) -> Tensors:
    """A processor, or an image processor, that is called with limits or without."""
    from transformers import Qwen2VLImageProcessor

    cls = zoo.class_of(draw.target)
    own = _limits(draw, "own")
    if draw.target.qualname.endswith(".preprocess"):
        return _pixels(draw, cls(**own), **_limits(draw))
    processor = zoo.qwen_processor(cls, Qwen2VLImageProcessor(**own))
    picture = zoo.picture(28 * draw.number("height", 2, 8), 28 * draw.number("width", 2, 8))
    images = {"images": [picture]} if draw.of("picture", True, True, True, False) else {}
    text = ["<|image_pad|> stripes" if images else "stripes"]
    output = processor(text=text, **images, return_tensors="pt", **_limits(draw))
    return {name: value for name, value in output.items() if hasattr(value, "shape")}


@of("v5-debertav2-no-special-tokens")
def deberta(draw: Draw) -> Tensors:
    """A tokenizer that adds special tokens, or none, to a text or a pair."""
    import torch
    from transformers.models.deberta_v2.tokenization_deberta_v2 import DebertaV2Tokenizer

    tokenizer = DebertaV2Tokenizer(vocab=[(piece, -float(number)) for number, piece in enumerate(_PIECES)])
    text = " ".join(
        "hello" if draw.of(f"word {n}", True, False) else "world" for n in range(draw.number("words", 1, 4))
    )
    pair = [text] if draw.of("pair", True, False) else []
    asked = draw.of("special tokens", True, True, False)
    ids = tokenizer(text, *pair, add_special_tokens=asked, return_token_type_ids=True)
    return {name: torch.tensor(ids[name]) for name in ("input_ids", "token_type_ids")}


@of("v5-additional-special-tokens-lost")
def listed(draw: Draw) -> Tensors:
    """A tokenizer whose file lists special tokens, or none, with, without, or next to an empty key."""
    import torch
    from transformers import AutoTokenizer

    settings: dict[str, Any] = dict(special.SAID)
    number = draw.number("listed", 0, 2)
    if number or draw.of("list", True, False):
        settings["additional_special_tokens"] = list(special.NAMES[1 : 1 + number])
    beside = draw.of("beside", "nothing", "an empty key", "an empty key", "another", "a list")
    if beside != "nothing":
        kinds = {"an empty key": {}, "another": {"image_token": "<image>"}, "a list": ["<image>"]}
        settings["extra_special_tokens"] = kinds[beside]
    with TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(json.dumps(special.TOKENIZER))
        Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
        tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("a <|turn|> a <image>")["input_ids"]
    text = words(tokenizer.decode(ids, skip_special_tokens=True))
    return {"special": words(*sorted(tokenizer.all_special_tokens)), "ids": torch.tensor(ids), "text": text}


@of("reduced-labels-of-the-last-map")
def labels(draw: Draw) -> Tensors:
    """The labels of one to four images, reduced or as they are."""
    processor = zoo.class_of(draw.target)(do_resize=False, do_center_crop=False)
    number = draw.number("images", 1, 4)
    maps = [draw.testbed.randint(0, 9, 4, 4, seed=draw.seed + image) for image in range(number)]
    images = [plan.new_zeros(3, 4, 4) for plan in maps]
    reduced = draw.of("reduced", True, False)
    output = processor(images, segmentation_maps=maps, do_reduce_labels=reduced, return_tensors="pt")
    return {"labels": output["labels"]}


@of("assistant-mask-beyond-the-turn")
def conversations(draw: Draw) -> Tensors:
    """The mask of two answers with white space around them, of tokenizers that drop it and that keep it."""
    tokenizer = masks.speaking(draw.of("splits at", "WhitespaceSplit", "Metaspace"))
    answers = [draw.of(f"answer {number}", "b ", " b", "b c \n") for number in range(2)]
    return {"mask": masks.mask_of(tokenizer, masks.conversation(*answers, "c"))}


@of("whisper-longform-timestamps-reset")
def recordings(draw: Draw) -> Tensors:
    """The tokens of one to three windows, with or without words at the end of each, with or without times."""
    import torch

    own = whisper_longform_timestamps_reset
    with TemporaryDirectory() as folder:
        tokenizer = own.whisper(Path(folder))
        tokens = [tokenizer.convert_tokens_to_ids(token) for token in own._SPECIAL[1:4]]
        for number in range(draw.number("windows", 1, 3)):
            begin = draw.number(f"window {number} from", 0, 28)
            end = draw.number(f"window {number} to", begin + 1, 30)
            last: tuple[Any, ...] = ("unfinished",) if draw.of(f"window {number} is cut off", True, False) else ()
            tokens += own.written(tokenizer, (("hello", float(begin), float(end)), *last))
        text, more = tokenizer._decode_asr(
            [{"tokens": torch.tensor([tokens])}],
            return_timestamps=draw.of("times", True, True, False),
            return_language=None,
            time_precision=0.02,
        )
    times = [[-1.0 if second is None else second for second in chunk["timestamp"]] for chunk in more.get("chunks", ())]
    return {"times": torch.tensor(times, dtype=torch.float64), "text": torch.tensor([*text.encode()])}
