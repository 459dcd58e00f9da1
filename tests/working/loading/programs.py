"""Programs that work without hotfix, as users write them; each returns its result, or prints it as JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hotfix.proofs.loading._written import TEMPLATE, TOKENIZER, folder


def values(**named: Any) -> dict[str, Any]:
    """Arbitrary values as tensors, so that two runs can be compared bit for bit."""
    import torch

    def coded(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value
        return torch.tensor(list(json.dumps(value, sort_keys=True, default=str).encode()), dtype=torch.uint8)

    return {name: coded(value) for name, value in named.items()}


LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
OF_5X: dict[str, Any] = {
    **LLAMA,
    "dtype": "float16",
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
    "transformers_version": "5.23.0",
}


def own_dtype(testbed: Any, target: Any) -> Any:
    """Custom configurations with a key ``dtype``, with a known and with an unknown value."""
    from transformers import LlamaConfig, PretrainedConfig

    class Takes(PretrainedConfig):
        model_type = "takes"

        def __init__(self, dtype: Any = "default", **kwargs: Any) -> None:
            self.precision = dtype
            super().__init__(**kwargs)

    class Pops(PretrainedConfig):
        model_type = "pops"

        def __init__(self, **kwargs: Any) -> None:
            self.precision = kwargs.pop("dtype", "default")
            super().__init__(**kwargs)

    class Inherits(Takes):
        model_type = "inherits"

    class Reads(LlamaConfig):
        model_type = "reads"

    results = {}
    for cls in (Takes, Pops, Inherits, Reads):
        for dtype in ("float16", "bf16"):
            for version in ("4.57.0", "4.40.0", None):
                given = {"dtype": dtype, "transformers_version": version, "vision_config": {"dtype": dtype}}
                config = cls.from_dict(dict(given))
                results[f"{cls.__name__} {dtype} {version}"] = _public(config)
    return values(**results)


def dtype_of_a_library_class(testbed: Any, target: Any) -> Any:
    """The value that programs read as ``config.dtype``, and files in which no later release wrote that key."""
    from transformers import LlamaConfig

    late = LlamaConfig.from_dict({"dtype": "float16", "transformers_version": "4.57.0"})
    given = {"dtype": "bf16"}
    results = {"late": late.dtype, "built": _public(LlamaConfig(dtype="float16"))}
    for version in (None, "4.40.0", "main"):
        for dtype in ("float16", "bf16"):
            config = LlamaConfig.from_dict({"dtype": dtype, "transformers_version": version})
            results[f"{dtype} {version}"] = _public(config)
    LlamaConfig.from_dict(given)
    return values(given=given, **results)


def own_rope(testbed: Any, target: Any) -> Any:
    """Custom configuration classes read a file of 5.x; with a sub-configuration, and with a caller's keyword."""
    from transformers import LlamaConfig, PretrainedConfig

    class LlavaConfig(LlamaConfig):
        model_type = "own_llava"

        def __init__(self, text_config: Any = None, **kwargs: Any) -> None:
            self.text_config = text_config
            super().__init__(**kwargs)

    class ByKeyword(PretrainedConfig):
        model_type = "own_by_keyword"

        def __init__(self, **kwargs: Any) -> None:
            self.theta = (kwargs.pop("rope_parameters", None) or {}).get("rope_theta")
            self.text = kwargs.pop("text_config", None)
            super().__init__(**kwargs)

    whole = {
        **OF_5X,
        "text_config": {**OF_5X, "model_type": "own_by_keyword_text", "vocab_size": 7},
        "sliding_window": 0,
        "use_sliding_window": False,
    }
    results = {}
    for cls in (LlavaConfig, ByKeyword):
        given = {**whole, "model_type": cls.model_type}
        before = json.dumps(given)
        results[cls.__name__] = _public(cls.from_dict(given))
        assert json.dumps({key: given[key] for key in json.loads(before)}) == before
        passed, left = cls.from_dict(dict(given), rope_parameters={"rope_theta": 3.0}, return_unused_kwargs=True)
        results[f"{cls.__name__} passed"] = [_public(passed), left]
    return values(**results)


def library_config_of_4x(testbed: Any, target: Any) -> Any:
    """A file that this release wrote, with a program's own keys that 5.x uses as well."""
    import transformers
    from transformers import AutoConfig

    results = {}
    given = {
        **LLAMA,
        "rope_theta": 10000.0,
        "rope_parameters": {"rope_theta": 7.0, "rope_type": "default"},
        "dtype": "float16",
        "sliding_window": 0,
        "use_sliding_window": False,
        "transformers_version": transformers.__version__,
    }
    with folder(config_json=given) as place:
        results["read"] = _public(AutoConfig.from_pretrained(place))
    return values(**results)


def _public(config: Any) -> dict[str, Any]:
    """The attributes of a configuration, except for those that differ between processes."""
    return {
        key: str(value) for key, value in sorted(vars(config).items()) if key not in ("_commit_hash", "_name_or_path")
    }


def own_tokenizer(testbed: Any, target: Any) -> Any:
    """Custom tokenizers with arguments that are also settings of 5.x."""
    from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

    class Phonemes(PreTrainedTokenizer):
        def __init__(self, backend: str = "espeak", is_local: bool = True, extra_special_tokens: Any = (), **kw: Any):
            self.speaks, self.here, self.extra = backend, is_local, list(extra_special_tokens)
            super().__init__(**kw)

        def get_vocab(self) -> dict[str, int]:
            return {"a": 0}

        vocab_size = 1

        def save_vocabulary(self, *args: Any, **kwargs: Any) -> Any:
            return ()

        def _tokenize(self, text: str) -> list[str]:
            return list(text)

        def _convert_token_to_id(self, token: str) -> int:
            return 0

        def _convert_id_to_token(self, index: int) -> str:
            return "a"

    class Fast(PreTrainedTokenizerFast):
        def __init__(self, *args: Any, backend: str = "espeak", add_bos_token: Any = None, **kw: Any):
            self.speaks, self.begins = backend, add_bos_token
            super().__init__(*args, **kw)

    results = {}
    for backend in ("festival", "tokenizers", "custom"):
        settings = {
            "backend": backend,
            "is_local": False,
            "extra_special_tokens": ["<a>"],
            "tokenizer_class": "Phonemes",
            "clean_up_tokenization_spaces": True,
        }
        with folder(tokenizer_config_json=settings, chat_template_jinja="{{ 1 }}") as place:
            tokenizer = Phonemes.from_pretrained(place)
            results[f"slow {backend}"] = [tokenizer.speaks, tokenizer.here, tokenizer.extra, _init(tokenizer, place)]
            with tempfile.TemporaryDirectory() as other:
                tokenizer.save_pretrained(other)
                results[f"slow {backend} saved"] = _files(other, place)
        settings = {"backend": backend, "tokenizer_class": "Fast"}
        with folder(tokenizer_config_json=settings, tokenizer_json=TOKENIZER) as place:
            fast = Fast.from_pretrained(place)
            results[f"fast {backend}"] = [fast.speaks, fast.begins, _init(fast, place)]
    return values(**results)


def templates(testbed: Any, target: Any) -> Any:
    """A template in tokenizer_config.json next to the user's own file, and a folder without tokenizer_config.json."""
    from transformers import PreTrainedTokenizerFast

    results = {}
    both = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "{{ 'mine' }}"}
    with folder(tokenizer_config_json=both, tokenizer_json=TOKENIZER, chat_template_jinja=TEMPLATE) as place:
        results["both"] = PreTrainedTokenizerFast.from_pretrained(place).chat_template
    with folder(tokenizer_json=TOKENIZER, chat_template_jinja=TEMPLATE) as place:
        read = PreTrainedTokenizerFast.from_pretrained(place)
        with tempfile.TemporaryDirectory() as other:
            read.save_pretrained(other)
            saved = json.loads(Path(other, "tokenizer_config.json").read_text())
            results["keys"] = sorted(saved.keys() - {"chat_template"})
    return values(**results)


def own_processor(testbed: Any, target: Any) -> Any:
    """A custom processor with dict arguments that have the names of a processor's parts."""
    from transformers import PreTrainedTokenizerFast
    from transformers.processing_utils import ProcessorMixin

    class Speech(ProcessorMixin):
        attributes = ("tokenizer",)
        tokenizer_class = "PreTrainedTokenizerFast"

        def __init__(self, tokenizer: Any, audio_processor: Any = None, **kwargs: Any) -> None:
            self.audio_processor = audio_processor or {"sampling_rate": 16000, "n_mels": 80}
            super().__init__(tokenizer)

    results = {}
    for kind in ({}, {"feature_extractor_type": "Mine"}):
        settings = {"processor_class": "Speech", "audio_processor": {"n_mels": 128, "sampling_rate": 24000, **kind}}
        known = {"tokenizer_class": "PreTrainedTokenizerFast"}
        files = {"processor_config_json": settings, "tokenizer_config_json": known, "tokenizer_json": TOKENIZER}
        with folder(**files) as place:
            PreTrainedTokenizerFast.from_pretrained(place)
            results[f"{len(kind)}"] = Speech.from_pretrained(place).audio_processor
    return values(**results)


def missing_preprocessor(testbed: Any, target: Any) -> Any:
    """Programs that handle the error, and custom classes that read the folder."""
    from transformers.feature_extraction_utils import FeatureExtractionMixin
    from transformers.image_processing_utils import ImageProcessingMixin

    class Own(ImageProcessingMixin):
        pass

    part = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 28}}
    results = {}
    for name, written in (("typed", part), ("untyped", {"size": {"shortest_edge": 28}})):
        with folder(processor_config_json={"image_processor": written}) as place:
            for cls in (Own, FeatureExtractionMixin):
                try:
                    results[f"{name} {cls.__name__}"] = str(cls.from_pretrained(place))
                except OSError:
                    results[f"{name} {cls.__name__}"] = "OSError"
    return values(**results)


def _init(tokenizer: Any, place: str) -> Any:
    return json.loads(json.dumps(tokenizer.init_kwargs, default=str, sort_keys=True).replace(place, "PLACE"))


def _files(folder_of_it: str, place: str) -> Mapping[str, str]:
    return {
        path.name: path.read_text().replace(place, "PLACE").replace(folder_of_it, "SAVED")
        for path in sorted(Path(folder_of_it).iterdir())
    }


_JANUS_TEXT = {**{key: value for key, value in LLAMA.items() if key != "model_type"}, "num_key_value_heads": 4}


def untied_from_a_configuration(testbed: Any, target: Any) -> Any:
    """A Janus created from a configuration gets the weights of one with a custom head."""
    import torch
    from transformers import JanusConfig, JanusForConditionalGeneration

    from hotfix.proofs.loading.v5_config_without_tie_word_embeddings import _MODELS

    config = JanusConfig(**json.loads(json.dumps(_MODELS["janus"][1])))
    model = testbed.fill(JanusForConditionalGeneration(config))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    weights["lm_head.weight"] = testbed.randn(*weights["lm_head.weight"].shape, seed=9).cpu()
    other = JanusForConditionalGeneration(config)
    other.load_state_dict(weights)
    ids = testbed.randint(5, 50, 1, 7, seed=1)
    with torch.no_grad():
        logits = other.to(testbed.device).eval()(input_ids=ids).logits
    return values(logits=logits.cpu(), tied=getattr(config, "tie_word_embeddings", "not said"))


def work_around_of_imports(testbed: Any, target: Any) -> Any:
    """The published workaround for Florence-2 removes flash_attn from the list of imports."""
    from unittest.mock import patch

    from transformers import dynamic_module_utils
    from transformers.dynamic_module_utils import get_imports

    def fixed(filename: Any) -> list[str]:
        imports = get_imports(filename)
        imports.remove("flash_attn")
        return imports

    text = "import json\nif is_flash_attn_2_available():\n    x = 1\n    from flash_attn import flash_attn_func\n"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "modeling.py")
        path.write_text(text)
        with patch("transformers.dynamic_module_utils.get_imports", fixed):
            checked = dynamic_module_utils.check_imports(path)
        return values(listed=sorted(get_imports(path)), checked=checked)


def composition_that_can_be_made(testbed: Any, target: Any) -> Any:
    """Configurations that set ``is_composition`` or generation parameters, and can be created without arguments."""
    import transformers

    class Composition(transformers.PretrainedConfig):
        model_type = "own-composition"
        is_composition = True

        def __init__(self, width: int = 8, num_beams: int = 3, max_length: int = 5, **kwargs: Any) -> None:
            self.width, self.num_beams, self.max_length = width, num_beams, max_length
            super().__init__(**kwargs)

    results = {}
    for width in (8, 9):
        config = Composition(width=width)
        with tempfile.TemporaryDirectory() as place:
            config.save_pretrained(place)
            results[f"saved {width}"] = Path(place, "config.json").read_text()
        results[f"shown {width}"] = repr(config)
    return values(**results)


def own_tied_keys(testbed: Any, target: Any) -> Any:
    """Subclasses of T5 that declare the tied weights themselves: none, a list as in 4.x, a custom dictionary."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 32, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    results = {}
    for keys in (None, {"lm_head.weight": "shared.weight", "encoder.embed_tokens.weight": "shared.weight"}):

        class Own(T5ForConditionalGeneration):
            _tied_weights_keys = keys

        model = Own(T5Config(**sizes))
        results[str(keys)] = [list(model._tied_weights_keys or ()), sorted(vars(model).keys() & {"_tied_weights_keys"})]
    return values(**results)


def umt5_of_its_own(testbed: Any, target: Any) -> Any:
    """A UMT5 with three separate tables, created from a configuration, saved and loaded again."""
    from transformers import UMT5Config, UMT5ForConditionalGeneration

    from hotfix.proofs.loading.v5_umt5_config_unties_encoder import _SIZES, _told

    model = testbed.fill(UMT5ForConditionalGeneration(UMT5Config(**_SIZES)))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        saved = json.loads(Path(place, "config.json").read_text())
        read = UMT5ForConditionalGeneration.from_pretrained(place)
    results = {f"made, {name}": value.detach().cpu() for name, value in _told(testbed, "", model).items()}
    results.update({f"read, {name}": value.detach().cpu() for name, value in _told(testbed, "", read).items()})
    return values(saved=saved, said=model.config.tie_word_embeddings, **results)


def buffers_of_children(testbed: Any, target: Any) -> Any:
    """An ``_init_weights`` that fills a buffer of a child, and one that is called with modules without tensors."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "own-buffers"

    class Rotary(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("frequencies", torch.zeros(4), persistent=False)

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rotary, self.project, self.drop = Rotary(), torch.nn.Linear(4, 4), torch.nn.Dropout()

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.attention = Attention()
            self.given: list[str] = []
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            self.given.append(type(module).__name__)
            if isinstance(module, Attention):
                module.rotary.frequencies.copy_(torch.tensor([1.0, 0.1, 0.01, 0.001]))
                module.kind = "rotary"

    with tempfile.TemporaryDirectory() as place:
        Model(Configuration()).save_pretrained(place)
        model = Model.from_pretrained(place)
    given = sorted(set(model.given) - {"Linear"})
    return values(filled=model.attention.rotary.frequencies, kind=model.attention.kind, given=given)


def large_tokenizer_without_configuration(testbed: Any, target: Any) -> Any:
    """A large tokenizer in a folder without config.json, with the flag that the release's own warning recommends."""
    from transformers import AutoTokenizer

    from hotfix.proofs.loading._large_tokenizers import write

    results = {}
    with tempfile.TemporaryDirectory() as place:
        for name, config in (("none", None), ("5.x", {"model_type": "mistral", "transformers_version": "5.1.0"})):
            folder_of_it = write(Path(place, name), config)
            described = json.loads((folder_of_it / "tokenizer.json").read_text())
            described["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]}
            (folder_of_it / "tokenizer.json").write_text(json.dumps(described))
            tokenizer = AutoTokenizer.from_pretrained(folder_of_it, fix_mistral_regex=True)
            results[name] = [tokenizer.fix_mistral_regex, tokenizer.tokenize("HelloWorld 123")]
    return values(**results)


def reused_model_kwargs(testbed: Any, target: Any) -> Any:
    """One dictionary of keyword arguments for two pipelines."""
    import torch
    from transformers import pipeline

    from hotfix.proofs.loading._written import tokenizer as written
    from hotfix.proofs.zoo import small_llama

    kwargs: dict[str, Any] = {}
    with written({"tokenizer_class": "PreTrainedTokenizerFast"}) as place:
        small_llama(testbed).save_pretrained(place)
        pipeline("text-generation", model=place, dtype=torch.bfloat16, model_kwargs=kwargs)
        second = pipeline("text-generation", model=place, dtype=torch.float32, model_kwargs=kwargs)
    return values(kwargs=kwargs, second=second.model.dtype)


def own_names_of_weights(testbed: Any, target: Any) -> Any:
    """A custom class whose parts have the names of a vision tower's parts, with another head in its file."""
    import torch
    from safetensors.torch import save_file
    from transformers import CLIPVisionConfig, CLIPVisionModel, PreTrainedModel

    class Tuned(CLIPVisionModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.vision_model.head = torch.nn.Linear(32, 4)
            torch.nn.init.constant_(self.vision_model.head.bias, 0.25)

    class Alone(PreTrainedModel):
        config_class = CLIPVisionConfig
        _supports_sdpa = True

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.body = torch.nn.Linear(2, 2)
            self.vision_model = torch.nn.ModuleDict({"head": torch.nn.Linear(32, 4)})
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                module.weight.data.fill_(0.5)
                module.bias.data.fill_(0.25)

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = CLIPVisionConfig(image_size=28, patch_size=14, **sizes)
    results = {}
    for cls in (Tuned, Alone):
        with tempfile.TemporaryDirectory() as place:
            config.save_pretrained(place)
            model = testbed.fill(cls(config))
            weights = {name: tensor.clone() for name, tensor in model.state_dict().items() if ".head." not in name}
            weights.update({"head.weight": torch.ones(4, 32), "head.bias": torch.full((4,), 16.0)})
            save_file(weights, f"{place}/model.safetensors", {"format": "pt"})
            read, report = cls.from_pretrained(place, output_loading_info=True)
        results[cls.__name__] = {kind: sorted(report[kind]) for kind in ("missing_keys", "unexpected_keys")}
        bias = read.state_dict()["vision_model.head.bias"]
        results[f"{cls.__name__} is the old head"] = bool((bias == 16.0).any())
    return values(**results)


def own_vision_language_model(testbed: Any, target: Any) -> Any:
    """A custom model that has a whole Llama as ``model.language_model``: the weights that it saves."""
    import torch
    from safetensors.torch import load_file
    from transformers import LlamaConfig, LlamaForCausalLM, LlavaConfig, PreTrainedModel, Qwen2VLConfig

    class Inner(torch.nn.Module):
        def __init__(self, config: Any) -> None:
            super().__init__()
            self.language_model = LlamaForCausalLM(config)
            self.visual = torch.nn.Linear(4, 4)

    results = {}
    for kind in (LlavaConfig, Qwen2VLConfig):

        class Own(PreTrainedModel):
            config_class = kind

            def __init__(self, config: Any) -> None:
                super().__init__(config)
                sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
                self.model = Inner(LlamaConfig(vocab_size=16, **sizes))
                self.post_init()

        with tempfile.TemporaryDirectory() as place:
            testbed.fill(Own(kind())).save_pretrained(place)
            results[kind.__name__] = sorted(load_file(f"{place}/model.safetensors"))
    return values(**results)


def own_reward_model(testbed: Any, target: Any) -> Any:
    """A class that extends LLaVA with custom parts is saved and loaded again."""
    import torch
    from safetensors.torch import load_file
    from transformers import LlavaForConditionalGeneration

    from hotfix.proofs._llava import llava

    class Reward(LlavaForConditionalGeneration):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.vision_tower_head = torch.nn.Linear(4, 4)
            self.model.value_head = torch.nn.Linear(4, 4)

    model = testbed.fill(Reward(llava(testbed).config))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        files = [name for path in Path(place).glob("*.safetensors") for name in load_file(path)]
        read = Reward.from_pretrained(place)
    weights = {name: value.float() for name, value in read.state_dict().items()}
    return values(files=sorted(files), **weights)
