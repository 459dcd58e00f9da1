"""Kinds of files for `programs_saved`: how each is written, loaded by an armed process, read by stock, and compared.

The functions take a folder. ``load`` is what the armed process does, ``read`` what a process without hotfix does;
where they are the same, ``load`` is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

import torch

from hotfix.proofs import _llava
from hotfix.proofs.loading import _large_tokenizers, _written, gemma3_two_layouts_into_base
from hotfix.proofs.loading import config_without_defaults_cannot_be_shown as _composed
from hotfix.proofs.loading import rope_scaling_completed_too_soon as _scaled
from hotfix.proofs.loading import tokenizers_modelwrapper_merges_list as _merges
from hotfix.proofs.loading import v5_custom_layer_types as _layers
from hotfix.proofs.loading import v5_custom_weights_initialised_again as _custom
from hotfix.proofs.names.asking import remote
from hotfix.proofs.zoo import picture, qwen_processor, small_llama

LLAMA: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": 32}
LIMITS = {"min_pixels": 4 * 28 * 28, "max_pixels": 16 * 28 * 28}
EDGES = {"shortest_edge": LIMITS["min_pixels"], "longest_edge": LIMITS["max_pixels"]}


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes:
        write: puts the original into a folder; gets the testbed, too.
        read: loads it in a process without hotfix.
        meaning: the loaded object means, in values that do not depend on the release.
        load: loads it in the armed process, if that does it in another way.
        save: saves what the armed process has loaded, if that does it in another way.
    """

    write: Callable[[Any, Path], Any]
    read: Callable[[Path], Any]
    meaning: Callable[[Any], dict[str, Any]]
    load: Optional[Callable[[Path], Any]] = None
    save: Optional[Callable[[Any, Path, Path], Any]] = None


def _auto(name: str, **options: Any) -> Callable[[Path], Any]:
    """Read a folder with a class of the library."""

    def read(place: Path) -> Any:
        import transformers

        return getattr(transformers, name).from_pretrained(place, **options)

    return read


def _remote(text: str, name: str) -> Callable[[Path], Any]:
    """Read a folder with a class of remote code."""
    return lambda place: remote(text)[name].from_pretrained(place)


def _json(name: str, content: Mapping[str, Any]) -> Callable[[Any, Path], Any]:
    """Write one file, unchanged."""
    return lambda testbed, place: (place / name).write_text(json.dumps(content))


def _fields(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda config: {name: getattr(config, name) for name in names}


def _sums(model: Any) -> dict[str, Any]:
    """Sums of the weights by shape: names differ between releases."""
    weights = model.state_dict().values()
    return {"sums": sorted([*weight.shape, round(float(weight.double().sum()), 3)] for weight in weights)}


# -- configurations ----------------------------------------------------------------------------------------------------


def _composition(config: Any) -> dict[str, Any]:
    inner = config.llm_config if isinstance(config.llm_config, dict) else config.llm_config.to_dict()
    return {"template": config.template, "size": inner["hidden_size"], "parts": inner["architectures"]}


def _scaling(config: Any) -> dict[str, Any]:
    scaling = config.rope_scaling
    kind = scaling.get("rope_type") or scaling.get("type")
    return {"type": kind, "factor": scaling["factor"], "length": config.max_position_embeddings}


# -- models ------------------------------------------------------------------------------------------------------------


def _write_custom(testbed: Any, place: Path) -> None:
    cls = _custom._custom()
    testbed.fill(cls(cls.config_class())).save_pretrained(place)


def _read_custom(place: Path) -> Any:
    return _custom._custom().from_pretrained(place)


def _load_with_biases(place: Path) -> Any:
    """A Llama that gets biases for a fine-tuning."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig.from_pretrained(place, attention_bias=True)
    return LlamaForCausalLM.from_pretrained(place, config=config)


def _without_biases(model: Any) -> dict[str, Any]:
    """The weights; new biases are zero, and as good as none."""
    weights = model.state_dict()
    biases = [name for name, value in weights.items() if name.endswith(".bias") and bool((value != 0).any())]
    sums = {name: round(float(value.double().sum()), 3) for name, value in weights.items() if ".bias" not in name}
    return {"sums": sums, "biases": biases}


def _write_t5(testbed: Any, place: Path) -> None:
    """As MADLAD-400 has its file: the table under its name in the decoder, and a head of its own."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
    model = T5ForConditionalGeneration(T5Config(vocab_size=48, tie_word_embeddings=False, **sizes))
    testbed.fill(model)
    model.config.save_pretrained(place)
    shared = ("encoder.embed_tokens.weight", "shared.weight")
    tensors = {name: value.clone() for name, value in model.state_dict().items() if name not in shared}
    tensors["decoder.embed_tokens.weight"] = model.shared.weight.detach().clone()
    _llava.save(tensors, str(place / "model.safetensors"))


def _t5(model: Any) -> dict[str, Any]:
    def total(weight: Any) -> float:
        return round(float(weight.double().sum()), 3)

    parts = {part: total(getattr(model, part).embed_tokens.weight) for part in ("encoder", "decoder")}
    return {**parts, "head": total(model.lm_head.weight)}


def _write_gemma3(testbed: Any, place: Path) -> None:
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    sizes = gemma3_two_layouts_into_base.SIZES
    text = {"vocab_size": 64, "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 0, **sizes}
    vision = {"image_size": 28, "patch_size": 14, **sizes}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    testbed.fill(Gemma3ForConditionalGeneration(config)).save_pretrained(place)


def _ends(model: Any) -> dict[str, Any]:
    """Weights of each part of a Gemma 3."""
    weights = model.state_dict()
    named = {end: next(name for name in weights if name.endswith(end)) for end in gemma3_two_layouts_into_base.ENDS}
    return {end: round(float(weights[name].double().sum()), 3) for end, name in named.items()}


def _write_gemma3n(testbed: Any, place: Path) -> None:
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    config = Gemma3nTextConfig(
        vocab_size=64,
        vocab_size_per_layer_input=64,
        hidden_size=32,
        hidden_size_per_layer_input=8,
        intermediate_size=[48, 48],
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_kv_shared_layers=0,
        head_dim=16,
        laurel_rank=4,
        layer_types=["sliding_attention", "full_attention"],
        activation_sparsity_pattern=[0.0, 0.0],
    )
    testbed.fill(Gemma3nForCausalLM(config)).save_pretrained(place)


def _write_bfloat16(testbed: Any, place: Path) -> None:
    small_llama(testbed).to(torch.bfloat16).save_pretrained(place)


def _load_by_pipeline(place: Path) -> Any:
    """The model of a pipeline, in the dtype of its file."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast, pipeline

    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")))
    return pipeline("text-generation", model=str(place), tokenizer=words, device="cpu", torch_dtype="auto").model


def _sums_and_dtype(model: Any) -> dict[str, Any]:
    return {**_sums(model), "dtype": str(next(model.parameters()).dtype)}


# -- tokenizers --------------------------------------------------------------------------------------------------------


def _large(place: Path) -> None:
    folder = _large_tokenizers.write(place / "once", {"model_type": "qwen2", "transformers_version": "4.51.0"})
    for file in folder.iterdir():
        file.rename(place / file.name)
    folder.rmdir()


def _save_beside_configuration(tokenizer: Any, place: Path, original: Path) -> None:
    """A tokenizer, in a folder with the configuration of its model."""
    tokenizer.save_pretrained(place)
    (place / "config.json").write_text((original / "config.json").read_text())


def _load_from_cache(place: Path) -> Any:
    """The same files, in a cache that may be all there is."""
    from transformers import AutoTokenizer

    name = _large_tokenizers.REPOSITORY
    commit = "0123456789abcdef0123456789abcdef01234567"
    cache = place / "cache"
    snapshot = cache / f"models--{name.replace('/', '--')}" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for file in place.glob("*.json"):
        (snapshot / file.name).write_text(file.read_text())
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text(commit)
    return AutoTokenizer.from_pretrained(name, cache_dir=cache, local_files_only=True)


def _large_ids(tokenizer: Any) -> dict[str, Any]:
    return {"ids": tokenizer(" ".join(_large_tokenizers.WORDS))["input_ids"], "size": len(tokenizer)}


def _write_pairs(testbed: Any, place: Path) -> None:
    """A BPE whose merges are pairs, as tokenizers 0.20 and later write it."""
    skipped = ("backend", "extra_special_tokens", "tokenizer_class")
    settings = {key: value for key, value in _written.SETTINGS.items() if key not in skipped}
    names = [token["content"] for token in _written.TOKENIZER["added_tokens"]] + _merges.PARTS
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": {word: number for number, word in enumerate(names)},
        "merges": _merges.MERGES,
    }
    settings["clean_up_tokenization_spaces"] = False
    (place / "tokenizer_config.json").write_text(json.dumps(settings))
    (place / "tokenizer.json").write_text(json.dumps({**_written.TOKENIZER, "model": model}))


def _spoken(tokenizer: Any) -> dict[str, Any]:
    ids = tokenizer("who reads it : us")["input_ids"]
    return {"ids": ids, "decoded": tokenizer.decode(ids), "special": sorted(tokenizer.all_special_ids)}


_LATE = """
from pathlib import Path
from transformers import PreTrainedTokenizer

class Words(PreTrainedTokenizer):
    vocab_files_names = {"vocab_file": "words.txt"}

    def __init__(self, vocab_file, **settings):
        self.words = Path(vocab_file).read_text(encoding="utf-8").split()
        super().__init__(**settings)

    @property
    def vocab_size(self):
        return len(self.words)

    def get_vocab(self):
        return {**{word: number for number, word in enumerate(self.words)}, **self.added_tokens_encoder}

    def _tokenize(self, text, **_):
        return text.split()

    def _convert_token_to_id(self, token):
        return self.words.index(token) if token in self.words else 0

    def _convert_id_to_token(self, index):
        return self.words[index]

    def save_vocabulary(self, folder, filename_prefix=None):
        Path(folder, "words.txt").write_text("\\n".join(self.words), encoding="utf-8")
        return (str(Path(folder, "words.txt")),)

class LateWords(Words):
    def __init__(self, vocab_file, **settings):
        PreTrainedTokenizer.__init__(self, **settings)
        self.words = Path(vocab_file).read_text(encoding="utf-8").split()
"""


def _write_words(testbed: Any, place: Path) -> None:
    settings = {"unk_token": "<unk>", "pad_token": "<pad>", "additional_special_tokens": ["<|user|>"]}
    (place / "words.txt").write_text("<unk>\nlive\npatching\nof\nmodels")
    (place / "tokenizer_config.json").write_text(json.dumps(settings))


def _words(tokenizer: Any) -> dict[str, Any]:
    known = tokenizer.convert_tokens_to_ids(["<pad>", "<|user|>", "live"])
    return {"ids": tokenizer("live <|user|> patching")["input_ids"], "known": known, "size": len(tokenizer)}


# -- processors --------------------------------------------------------------------------------------------------------


def _write_speech(testbed: Any, place: Path) -> None:
    """The processor of a Wav2Vec2."""
    from transformers import Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2Processor

    letters = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "|": 4, "a": 5, "b": 6}
    (place / "vocab.json").write_text(json.dumps(letters))
    tokenizer = Wav2Vec2CTCTokenizer(str(place / "vocab.json"))
    extractor = Wav2Vec2FeatureExtractor(sampling_rate=8000, return_attention_mask=False)
    Wav2Vec2Processor(extractor, tokenizer).save_pretrained(place)


def _speech(processor: Any) -> dict[str, Any]:
    extractor = processor.feature_extractor
    return {
        "ids": processor.tokenizer("ab a")["input_ids"],
        "rate": extractor.sampling_rate,
        "mask": extractor.return_attention_mask,
        "class": type(processor).__name__,
    }


def _images(**settings: Any) -> Callable[[Any, Path], Any]:
    """The file of an image processor of Qwen2-VL."""
    content = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "patch_size": 14,
        "temporal_patch_size": 2,
        "merge_size": 2,
        **settings,
    }
    return _json("preprocessor_config.json", content)


def _read_images(place: Path) -> Any:
    from transformers import Qwen2VLImageProcessor

    return Qwen2VLImageProcessor.from_pretrained(place)


def _load_limited(place: Path) -> Any:
    """An image processor whose limit is given at loading; and another without it."""
    from transformers import Qwen2VLImageProcessorFast

    limited = Qwen2VLImageProcessorFast.from_pretrained(place, max_pixels=LIMITS["max_pixels"])
    _read_fast_images(place)
    return limited


def _read_fast_images(place: Path) -> Any:
    from transformers import Qwen2VLImageProcessorFast

    return Qwen2VLImageProcessorFast.from_pretrained(place)


def _load_and_call(place: Path) -> Any:
    """An image processor that was called once with a limit."""
    processor = _read_images(place)
    processor(images=picture(), max_pixels=8 * 28 * 28, return_tensors="pt")
    return processor


def _patches(processor: Any) -> dict[str, Any]:
    made = processor(images=picture(), return_tensors="pt")
    total = round(float(made["pixel_values"].double().sum()), 1)
    return {"grid": made["image_grid_thw"].tolist(), "sum": total}


def _write_qwen(testbed: Any, place: Path) -> None:
    from transformers import Qwen2VLImageProcessor, Qwen2VLProcessor

    qwen_processor(Qwen2VLProcessor, Qwen2VLImageProcessor(**LIMITS)).save_pretrained(place)


def _read_qwen(place: Path) -> Any:
    from transformers import Qwen2VLProcessor

    return Qwen2VLProcessor.from_pretrained(place)


def _load_qwen_and_call(place: Path) -> Any:
    processor = _read_qwen(place)
    processor(text=["<|image_pad|> stripes"], images=[picture()], max_pixels=8 * 28 * 28, return_tensors="pt")
    return processor


def _load_qwen_with_images(place: Path) -> Any:
    """The image processor of a processor that is loaded with one of the program's; as a whole it cannot be saved."""
    from transformers import Qwen2VLProcessor

    return Qwen2VLProcessor.from_pretrained(place, image_processor=_read_images(place)).image_processor


def _qwen(processor: Any) -> dict[str, Any]:
    made = processor(text=["<|image_pad|> stripes"], images=[picture()], return_tensors="pt")
    return {"ids": made["input_ids"].tolist(), **_patches(processor.image_processor)}


def _write_video(testbed: Any, place: Path) -> None:
    content = {
        "video_processor_type": "Qwen2VLVideoProcessor",
        "do_normalize": True,
        "size": {**EDGES, **LIMITS},
        **LIMITS,
    }
    (place / "preprocessor_config.json").write_text(json.dumps(content))


def _read_video(place: Path) -> Any:
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    return Qwen2VLVideoProcessor.from_pretrained(place)


def _frames(processor: Any) -> dict[str, Any]:
    video = torch.arange(4 * 3 * 168 * 224).reshape(4, 3, 168, 224).remainder(251).to(torch.uint8)
    made = processor(videos=[video], return_tensors="pt", do_sample_frames=False)
    total = round(float(made["pixel_values_videos"].double().sum()), 1)
    return {"grid": made["video_grid_thw"].tolist(), "sum": total}


KINDS = {
    "bart that generates": Kind(
        _json("config.json", {"model_type": "bart", "d_model": 32, "num_beams": 4, "max_length": 142}),
        _auto("AutoConfig"),
        _fields("d_model", "num_beams", "max_length"),
    ),
    "composition": Kind(
        _json("config.json", {"model_type": "composition-of-ours", "llm_config": LLAMA, "template": "internvl2_5"}),
        _remote(_composed.CODE, "CompositionConfig"),
        _composition,
    ),
    "scaling of remote code": Kind(
        _json("config.json", {"model_type": "counting-of-ours", "rope_scaling": {"type": "linear", "factor": 2.0}}),
        _remote(_scaled.CODE, "CountingConfig"),
        _scaling,
    ),
    "layers of remote code": Kind(
        _json("config.json", {"model_type": "mixed-of-ours", "layer_types": ["mamba", "attention"]}),
        _remote(_layers.OLD, "MixedConfig"),
        _fields("layer_types"),
    ),
    "model of one's own": Kind(_write_custom, _read_custom, _sums),
    "llama that gets biases": Kind(
        lambda testbed, place: small_llama(testbed).save_pretrained(place),
        _auto("LlamaForCausalLM"),
        _without_biases,
        _load_with_biases,
    ),
    "t5 without shared": Kind(_write_t5, _auto("T5ForConditionalGeneration"), _t5),
    "gemma3": Kind(_write_gemma3, _auto("Gemma3ForConditionalGeneration"), _ends),
    "gemma3n": Kind(_write_gemma3n, _auto("Gemma3nForCausalLM"), _sums),
    "llama in a pipeline": Kind(
        _write_bfloat16, _auto("LlamaForCausalLM", torch_dtype="auto"), _sums_and_dtype, _load_by_pipeline
    ),
    "large tokenizer": Kind(
        lambda testbed, place: _large(place), _auto("AutoTokenizer"), _large_ids, save=_save_beside_configuration
    ),
    "large tokenizer in a cache": Kind(
        lambda testbed, place: _large(place),
        _auto("AutoTokenizer"),
        _large_ids,
        _load_from_cache,
        _save_beside_configuration,
    ),
    "merges that are pairs": Kind(_write_pairs, _auto("PreTrainedTokenizerFast"), _spoken),
    "late vocabulary": Kind(_write_words, _remote(_LATE, "Words"), _words, _remote(_LATE, "LateWords")),
    "speech": Kind(_write_speech, _auto("Wav2Vec2Processor"), _speech),
    "images with a size": Kind(_images(size=EDGES, min_pixels=LIMITS["min_pixels"]), _read_images, _patches),
    "images of 4.48": Kind(_images(size=LIMITS, **LIMITS), _read_images, _patches),
    "images that were limited at loading": Kind(_images(**LIMITS), _read_fast_images, _patches, _load_limited),
    "images that were limited in a call": Kind(_images(**LIMITS), _read_images, _patches, _load_and_call),
    "qwen": Kind(_write_qwen, _read_qwen, _qwen),
    "qwen that was limited in a call": Kind(_write_qwen, _read_qwen, _qwen, _load_qwen_and_call),
    "qwen with an image processor": Kind(_write_qwen, _read_images, _patches, _load_qwen_with_images),
    "video with limits twice": Kind(_write_video, _read_video, _frames),
}
