"""Custom classes whose arguments have names that a fix uses, their files, and files of this same release.

The names that a fix uses are the quoted words in its source: `Scene.keys`. A custom class may take an argument of each
of these names, with another meaning.
"""

from __future__ import annotations

import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import HOME, NotHere, Scene
from tools.deviations.surroundings import files_in
from tools.deviations.values import error_of, named

VALUES: tuple[Any, ...] = (
    "mine",
    "float16",
    0,
    7,
    2.5,
    False,
    True,
    None,
    [],
    ["a", "b"],
    {},
    {"a": 1},
    {"rope_type": "default", "rope_theta": 5.0, "type": "mine", "size": {"height": 3}},
)
KEYS = 20
READING = ("loading", "processing", "names")
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 64}


@deviation(*READING, bases=("",), strict=True)
def own_configuration_with_argument(scene: Scene) -> dict[str, Any]:
    """A configuration class of the user's takes an argument with a name that the fix knows; its file has it."""
    return _configurations(scene, takes=True)


@deviation(*READING, bases=("",), strict=True)
def own_configuration_with_any_arguments(scene: Scene) -> dict[str, Any]:
    """A configuration class of the user's takes `**kwargs`; its file has a key with a name that the fix knows."""
    return _configurations(scene, takes=False)


@deviation(*READING, bases=("",), strict=True)
def own_tokenizer_with_argument(scene: Scene) -> dict[str, Any]:
    """A tokenizer class of the user's takes an argument with a name that the fix knows; its file has it."""
    from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

    results: dict[str, Any] = {}
    for key in _keys(scene):
        for base in (PreTrainedTokenizerFast, PreTrainedTokenizer):
            own = _taking(scene, base, key, True, _slow_members() if base is PreTrainedTokenizer else {})
            for value in VALUES[:7]:
                with tempfile.TemporaryDirectory() as folder:
                    _write_tokenizer(folder, {key: value, "tokenizer_class": own.__name__})
                    results.update(_read(f"{base.__name__} {key}={value!r}", own, folder, _spoken))
        scene.touch()
    return results


@deviation(*READING, bases=("",), strict=True)
def own_processor_with_argument(scene: Scene) -> dict[str, Any]:
    """A processor class and an image processor class of the user's take an argument with a name that the fix knows."""
    from transformers import BaseImageProcessor, ProcessorMixin

    members = {"attributes": ["tokenizer"], "tokenizer_class": "PreTrainedTokenizerFast"}

    results: dict[str, Any] = {}
    for key in _keys(scene):
        if key in ("tokenizer", "attributes"):
            continue
        image = _taking(scene, BaseImageProcessor, key, True, {})
        for value in VALUES:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "preprocessor_config.json").write_text(
                    json.dumps({key: value, "image_processor_type": image.__name__})
                )
                results.update(_read(f"image {key}={value!r}", image, folder))
        both = _processor(scene, ProcessorMixin, key, members)
        for value in VALUES:
            with tempfile.TemporaryDirectory() as folder:
                _write_tokenizer(folder, {"tokenizer_class": "PreTrainedTokenizerFast"})
                Path(folder, "processor_config.json").write_text(
                    json.dumps({key: value, "processor_class": both.__name__})
                )
                results.update(_read(f"processor {key}={value!r}", both, folder))
        scene.touch()
    return results


@deviation(*READING, bases=("",), strict=True)
def own_model_with_parts(scene: Scene) -> dict[str, Any]:
    """A model class of the user's has parts with names that the fix knows; it is saved and loaded."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class MyConfig(PretrainedConfig):  # type: ignore[misc]
        model_type = "my-parts"

    results: dict[str, Any] = {}
    for key in _paths(scene):

        class MyModel(PreTrainedModel):  # type: ignore[misc]
            config_class = MyConfig

            def __init__(self, config: Any, parts: Sequence[str] = tuple(key.split("."))) -> None:
                super().__init__(config)
                at: Any = self
                for part in parts[:-1]:
                    at.add_module(part, torch.nn.Module())
                    at = getattr(at, part)
                at.add_module(parts[-1], torch.nn.Linear(3, 3))
                self.plain = torch.nn.Linear(3, 3)
                self.post_init()

            def _init_weights(self, module: Any) -> None:
                if isinstance(module, torch.nn.Linear):
                    module.weight.data.fill_(7.0)
                    module.bias.data.fill_(5.0)

        try:
            model = MyModel(MyConfig())
        except (KeyError, AttributeError, TypeError):
            continue
        MyModel.__module__ = HOME
        scene.touch()
        results.update(_saved_and_loaded(key, MyModel, scene.testbed.fill(model)))
    return results


@deviation(*READING, bases=("",), strict=True)
def model_with_a_part_more(scene: Scene) -> dict[str, Any]:
    """A subclass of a library model has one part more, with a name that the fix knows; it reads the base's file."""
    import torch

    results: dict[str, Any] = {}
    for make in _models(scene):
        base = type(make)
        with tempfile.TemporaryDirectory() as folder:
            make.save_pretrained(folder)
            for key in [item for item in _keys(scene) if item.isidentifier() and not hasattr(make, item)]:

                def initialise(self: Any, config: Any, *arguments: Any, key: str = key, base: Any = base) -> None:
                    base.__init__(self, config, *arguments)
                    self.add_module(key, torch.nn.Linear(3, 3))

                own = scene.own_class(base, {"__init__": initialise, "config_class": base.config_class})
                scene.touch()
                torch.manual_seed(0)
                results.update(_loaded(f"{base.__name__} with {key}", own, folder))
    return results


@deviation("loading", "processing", bases=("",), files=True)
def written_by_this_release(scene: Scene) -> dict[str, Any]:
    """Configurations, tokenizers, processors and models are saved and read again by this same release."""
    with tempfile.TemporaryDirectory() as folder:
        place = scene.folder or folder
        if os.listdir(place):  # another process's files: it decides how they are read
            return read_everything(scene, place)
        write_everything(scene, place)
        return {**files_in(place), **read_everything(scene, place)}


@deviation(*READING, bases=("",), strict=True)
def subclasses_read_this_release(scene: Scene) -> dict[str, Any]:
    """Subclasses in another module read configurations and models that this same release has saved."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_everything(scene, folder)
        for name, cls, place in _written(folder):
            own = scene.own_class(cls, {})
            scene.touch()
            results.update(_loaded(name, own, place) if name.startswith("model") else _read(name, own, place))
    return results


@deviation("loading", "processing", bases=("",))
def callers_dicts_used_twice(scene: Scene) -> dict[str, Any]:
    """Dicts and configurations of the caller are used for two objects and are the same afterwards."""
    import copy

    import transformers

    results: dict[str, Any] = {}
    for name, given in (
        ("LlamaConfig", {"rope_scaling": {"type": "linear", "factor": 2.0}}),
        ("LlamaConfig", {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}, "rope_theta": 5000.0}),
        (
            "Qwen2VLConfig",
            {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}, "vision_config": {"depth": 1}},
        ),
        (
            "LlavaConfig",
            {"text_config": {"model_type": "llama", **SMALL}, "vision_config": {"model_type": "clip_vision_model"}},
        ),
        ("GenerationConfig", {"max_length": 9, "temperature": 0.5}),
        ("Qwen2VLImageProcessor", {"size": {"shortest_edge": 3136, "longest_edge": 50176}}),
        ("Qwen2VLImageProcessor", {"min_pixels": 3136, "max_pixels": 50176}),
        ("CLIPImageProcessor", {"size": {"shortest_edge": 24}, "crop_size": {"height": 24, "width": 24}}),
    ):
        try:
            cls = getattr(transformers, name)
        except (AttributeError, ImportError):
            continue
        mine = copy.deepcopy(given)
        for turn in ("first", "second"):
            try:
                made = cls(**mine)
                results.update(named(f"{name} {sorted(given)}, {turn}", made))
                if name.endswith("ImageProcessor"):
                    results.update(_picture(f"{name} {sorted(given)}, {turn}", made, mine))
                scene.touch()
            except Exception as error:
                results[f"{name} {sorted(given)}, {turn}"] = ": ".join(error_of(error))
        results[f"{name} {sorted(given)} afterwards"] = json.dumps(mine, sort_keys=True)
    return results


# -- below: configurations, tokenizers and processors ------------------------------------------------------------------


def _keys(scene: Scene) -> list[str]:
    keys = [
        key
        for key in scene.keys
        if key.isidentifier()
        and not key.startswith("__")
        and key not in ("self", "cls", "args", "kwargs", "model_type")
    ]
    if not keys:
        raise NotHere("the fix knows no names")
    return keys[:KEYS]


def _paths(scene: Scene) -> list[str]:
    paths = [key.strip(".") for key in scene.keys if all(part.isidentifier() for part in key.strip(".").split("."))]
    if not paths:
        raise NotHere("the fix knows no names")
    return list(dict.fromkeys(paths))[:KEYS]


def _taking(scene: Scene, base: type[Any], key: str, takes: bool, members: dict[str, Any]) -> type[Any]:
    """A subclass whose constructor takes `key` and keeps it for itself, or takes it with all others."""

    def initialise(self: Any, *arguments: Any, **options: Any) -> None:
        received = json.dumps(options, default=str, sort_keys=True)
        value = options.pop(key, "not given") if takes else options.get(key, "not given")
        base.__init__(self, *arguments, **options)
        self.__dict__["my_own"] = value
        self.__dict__["my_received"] = received
        if takes:
            with suppress(AttributeError, TypeError, ValueError):
                setattr(self, key, value)

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    if takes:
        parameters.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default="not given"))
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    initialise.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return scene.own_class(base, {"__init__": initialise, **members})


def _configurations(scene: Scene, takes: bool) -> dict[str, Any]:
    import transformers

    results: dict[str, Any] = {}
    for base in (transformers.PretrainedConfig, transformers.LlamaConfig, transformers.LlavaConfig):
        for key in _keys(scene):
            if base is not transformers.PretrainedConfig and key in ("text_config", "vision_config", "audio_config"):
                continue
            own = _taking(scene, base, key, takes, {"model_type": "mine"})
            scene.touch()
            for value in VALUES:
                for version in (transformers.__version__, "5.1.0"):
                    written = {"model_type": "mine", "transformers_version": version, key: value}
                    if base is transformers.LlavaConfig:
                        written["text_config"] = {"model_type": "llama", **SMALL, key: value}
                    with tempfile.TemporaryDirectory() as folder:
                        Path(folder, "config.json").write_text(json.dumps(written))
                        results.update(_read(f"{base.__name__} {key}={value!r} {version}", own, folder))
    return results


def _read(name: str, cls: Any, folder: str, then: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """The object that a class reads from a folder, in words: its attributes, arguments, and saved files."""
    try:
        made = cls.from_pretrained(folder)
        held = {key: value for key, value in vars(made).items() if key in ("my_own", "my_received")}
        attributes = {
            key: value
            for key, value in vars(made).items()
            if isinstance(value, (str, int, float, dict, list, type(None)))
        }
        hidden = ("name_or_path", "_name_or_path", "my_received", "init_kwargs")
        values = {key: value for key, value in attributes.items() if key not in hidden}
        results = {
            f"{name}: given": json.dumps(held, default=str, sort_keys=True).replace(folder, "<folder>"),
            f"{name}: has": json.dumps(values, default=str, sort_keys=True).replace(folder, "<folder>"),
        }
        if then is not None:
            results[f"{name}: then"] = str(then(made))
        with tempfile.TemporaryDirectory() as back:
            made.save_pretrained(back)
            saved = {key: value for key, value in files_in(back).items() if not key.startswith("tokenizer.json")}
        results.update({f"{name}: saves {key}": value for key, value in saved.items()})
        return results
    except Exception as error:
        return {name: ": ".join(error_of(error)).replace(folder, "<folder>")}


def _write_tokenizer(folder: str, settings: dict[str, Any]) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "hello": 3, "world": 4}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    Path(folder, "tokenizer_config.json").write_text(json.dumps({"unk_token": "<unk>", **settings}))
    Path(folder, "vocab.json").write_text(json.dumps(words))


def _spoken(tokenizer: Any) -> Any:
    return tokenizer("hello world")["input_ids"], tokenizer.decode([3, 4])


def _slow_members() -> dict[str, Any]:
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "hello": 3, "world": 4}
    named_words = {number: word for word, number in words.items()}
    return {
        "vocab_files_names": {"vocab_file": "vocab.json"},
        "vocab_size": property(lambda self: len(words)),
        "get_vocab": lambda self: dict(words),
        "_tokenize": lambda self, text, **options: text.split(),
        "_convert_token_to_id": lambda self, token: words.get(token, 0),
        "_convert_id_to_token": lambda self, number: named_words.get(number, "<unk>"),
        "save_vocabulary": lambda self, folder, filename_prefix=None: (),
    }


def _processor(scene: Scene, base: type[Any], key: str, members: dict[str, Any]) -> type[Any]:
    def initialise(self: Any, tokenizer: Any = None, *arguments: Any, **options: Any) -> None:
        self.__dict__["my_received"] = json.dumps(options, default=str, sort_keys=True)
        self.__dict__["my_own"] = options.get(key, "not given")
        base.__init__(self, tokenizer)
        setattr(self, key, options.get(key, "not given"))

    kinds = inspect.Parameter
    parameters = [
        kinds("self", kinds.POSITIONAL_OR_KEYWORD),
        kinds("tokenizer", kinds.POSITIONAL_OR_KEYWORD, default=None),
    ]
    parameters += [kinds(key, kinds.POSITIONAL_OR_KEYWORD, default="not given"), kinds("kwargs", kinds.VAR_KEYWORD)]
    initialise.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return scene.own_class(base, {"__init__": initialise, **members})


def _picture(name: str, processor: Any, given: dict[str, Any]) -> dict[str, Any]:
    from hotfix.proofs.zoo import picture

    return named(f"{name}, a picture", dict(processor(images=picture(84, 112), return_tensors="pt")))


# -- below: models, and what this release writes -----------------------------------------------------------------------


def _loaded(name: str, cls: Any, folder: str) -> dict[str, Any]:
    try:
        made, output = cls.from_pretrained(folder, output_loading_info=True)
    except Exception as error:
        return {name: ": ".join(error_of(error))}
    known = {
        key: sorted(map(str, output.get(key, ()))) for key in ("missing_keys", "unexpected_keys", "mismatched_keys")
    }
    results = {f"{name}: {key}": ", ".join(value) for key, value in known.items()}
    lacking = set(known["missing_keys"])
    results.update(
        {f"{name}: {key}": value.detach().clone() for key, value in made.state_dict().items() if key not in lacking}
    )
    with tempfile.TemporaryDirectory() as back:
        made.save_pretrained(back)
        results.update(
            {
                f"{name}: saves {key}": value
                for key, value in files_in(back).items()
                if not any(item in key for item in lacking)
            }
        )
    return results


def _saved_and_loaded(name: str, cls: Any, model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            model.save_pretrained(folder)
        except Exception as error:
            return {f"{name}, saved": ": ".join(error_of(error))}
        return {**{f"{name}: {key}": value for key, value in files_in(folder).items()}, **_loaded(name, cls, folder)}


def _models(scene: Scene) -> Iterator[Any]:
    from hotfix.proofs import _llava, zoo

    for make in (zoo.small_llama, _llava.llava, _llava.qwen2_vl):
        try:
            yield make(scene.testbed)
        except Exception:  # this release cannot build it, in stock neither
            continue


def _objects(scene: Scene) -> Iterator[tuple[str, Any]]:
    import transformers

    for model in _models(scene):
        yield f"model {type(model).__name__}", model
    sizes: dict[str, dict[str, Any]] = {
        "LlamaConfig": {**SMALL, "rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 2.0}},
        "MistralConfig": dict(SMALL),
        "GPTNeoXConfig": {"rotary_pct": 0.5, **SMALL},
        "T5Config": {"d_model": 32},
        "BertConfig": dict(SMALL),
        "LlavaConfig": {},
        "Qwen2VLConfig": {},
        "CLIPConfig": {},
        "WhisperConfig": {},
        "Gemma2Config": dict(SMALL),
        "ModernBertConfig": dict(SMALL),
        "MusicgenConfig": {},
    }
    for name, options in sizes.items():
        try:
            yield f"config {name}", getattr(transformers, name)(**options)
        except Exception:  # the same
            continue
    for name in (
        "T5ForConditionalGeneration",
        "BertForMaskedLM",
        "UMT5ForConditionalGeneration",
        "PhiForCausalLM",
        "GPT2LMHeadModel",
    ):
        small = {"vocab_size": 48, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2}
        other = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 48} if name.startswith("GPT2") else SMALL
        try:
            cls = getattr(transformers, name)
            made = cls(cls.config_class(**(small if "T5" in name else other)))
            yield f"model {name}", scene.testbed.fill(made)
        except Exception:  # the same
            continue
    for name in ("CLIPImageProcessor", "Qwen2VLImageProcessor", "WhisperFeatureExtractor"):
        try:
            yield f"processor {name}", getattr(transformers, name)()
        except Exception:  # the same
            continue


def write_everything(scene: Scene, folder: str) -> None:
    """Save one example of each kind of file of this release, each in a folder of its own."""
    from transformers import PreTrainedTokenizerFast

    for name, made in _objects(scene):
        scene.touch()
        made.save_pretrained(os.path.join(folder, name))
    place = os.path.join(folder, "tokenizer PreTrainedTokenizerFast")
    with tempfile.TemporaryDirectory() as source:
        _write_tokenizer(source, {})
        file = os.path.join(source, "tokenizer.json")
        tokens: dict[str, Any] = {"unk_token": "<unk>", "bos_token": "<s>", "additional_special_tokens": ["</s>"]}
        made = PreTrainedTokenizerFast(tokenizer_file=file, **tokens)
        made.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
        made.save_pretrained(place)


def _written(folder: str) -> Iterator[tuple[str, Any, str]]:
    import transformers

    for name in sorted(os.listdir(folder)):
        yield name, getattr(transformers, name.partition(" ")[2]), os.path.join(folder, name)


def read_everything(scene: Scene, folder: str) -> dict[str, Any]:
    """The objects that the classes of the library read from the files."""
    results: dict[str, Any] = {}
    for name, cls, place in _written(folder):
        scene.touch()
        if name.startswith("model"):
            results.update(_loaded(f"{name} read", cls, place))
        else:
            results.update(_read(f"{name} read", cls, place, _spoken if name.startswith("tokenizer") else None))
    return results
