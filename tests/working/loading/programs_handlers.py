"""Programs that work without hotfix: they handle the error of a bug themselves, or wrap a class of the library."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.proofs.loading._written import SETTINGS, TEMPLATE, TOKENIZER, folder
from tests.working.loading.programs import LLAMA, values

_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


_LOADER = """
from huggingface_hub.errors import StrictDataclassClassValidationError

def load(kinds):
    try:
        return MixedConfig(layer_types=list(kinds))
    except StrictDataclassClassValidationError:
        return MixedConfig(layer_types=None)
"""


def kinds_of_layers(testbed: Any, target: Any) -> Any:
    """A loader that leaves out layers that the release refuses."""
    from hotfix.proofs.loading.v5_custom_layer_types import OLD
    from hotfix.proofs.names.asking import remote

    load = remote(OLD + _LOADER)["load"]
    kinds = (["mamba", "attention"], ["linear_attention", "full_attention"])
    return values(**{" ".join(layers): load(layers).layer_types for layers in kinds})


def model_around_gemma3(testbed: Any, target: Any) -> Any:
    """A retrieval model in the manner of ColPali: Gemma 3 is one of its modules, and its class the family's base."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration
    from transformers.models.gemma3.modeling_gemma3 import Gemma3PreTrainedModel

    class ColGemma(Gemma3PreTrainedModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.model = Gemma3ForConditionalGeneration(config)
            self.custom_text_proj = torch.nn.Linear(32, 8)
            self.post_init()

    text = {"vocab_size": 64, "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 0, **_SIZES}
    vision = {"image_size": 28, "patch_size": 14, **_SIZES}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    model = testbed.fill(ColGemma(config))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        read, report = ColGemma.from_pretrained(place, output_loading_info=True)
    weights = {name: value for name, value in read.state_dict().items() if "mlp" in name or "proj" in name}
    return values(missing=sorted(report["missing_keys"]), **weights)


def llama31_in_an_old_release(testbed: Any, target: Any) -> Any:
    """A loader that turns a scaling that is refused into one that the release knows."""
    from transformers import AutoConfig

    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    given = {**LLAMA, "rope_theta": 500000.0, "rope_scaling": scaling, "transformers_version": "4.43.0"}
    with folder(config_json=given) as place:
        try:
            config = AutoConfig.from_pretrained(place)
        except ValueError:
            file = Path(place, "config.json")
            file.write_text(json.dumps({**given, "rope_scaling": {"type": "dynamic", "factor": 8.0}}))
            config = AutoConfig.from_pretrained(place)
    return values(scaling=config.rope_scaling)


def phi3_in_an_old_release(testbed: Any, target: Any) -> Any:
    """A loader that takes the scaling away where the release refuses it."""
    from transformers import Phi3Config

    scaling = {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    options = {**_SIZES, "num_attention_heads": 4, "max_position_embeddings": 64}
    try:
        config = Phi3Config(rope_scaling=scaling, original_max_position_embeddings=32, **options)
    except ValueError:
        config = Phi3Config(rope_scaling=None, original_max_position_embeddings=32, **options)
    return values(scaling=config.rope_scaling)


def scaling_refused_by_remote_code(testbed: Any, target: Any) -> Any:
    """A loader that builds the configuration without the scaling that its own class refuses."""
    from hotfix.proofs.loading.rope_scaling_completed_too_soon import CODE
    from hotfix.proofs.names.asking import remote

    cls = remote(CODE)["CountingConfig"]
    try:
        config = cls(rope_scaling={"type": "linear", "factor": 2.0})
    except ValueError:
        config = cls(rope_scaling=None)
    return values(scaling=config.rope_scaling)


def tokenizer_without_its_list(testbed: Any, target: Any) -> Any:
    """The published workaround: no special tokens of the file."""
    from transformers import PreTrainedTokenizerFast

    settings = {**SETTINGS, "tokenizer_class": "PreTrainedTokenizerFast"}
    results = {}
    with folder(tokenizer_config_json=settings, tokenizer_json=TOKENIZER) as place:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(place, extra_special_tokens={})
        results["passed"] = [tokenizer.additional_special_tokens, sorted(tokenizer.all_special_ids)]
        try:
            tokenizer = PreTrainedTokenizerFast.from_pretrained(place)
        except (AttributeError, ImportError):  # without protobuf it is the second one
            tokenizer = PreTrainedTokenizerFast.from_pretrained(place, extra_special_tokens={})
        results["handled"] = [tokenizer.additional_special_tokens, sorted(tokenizer.all_special_ids)]
    return values(**results)


def tokenizer_of_an_unknown_class(testbed: Any, target: Any) -> Any:
    """A loader with another tokenizer in reserve for a class that the release does not have."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    settings = {key: value for key, value in SETTINGS.items() if key != "extra_special_tokens"}
    with folder(tokenizer_config_json=settings, tokenizer_json=TOKENIZER) as place:
        try:
            tokenizer = AutoTokenizer.from_pretrained(place)
        except ValueError:
            tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{place}/tokenizer.json", unk_token="<unk>")
    return values(pad=tokenizer.pad_token, eos=tokenizer.eos_token, unk=tokenizer.unk_token)


def template_in_reserve(testbed: Any, target: Any) -> Any:
    """A training script with a template for tokenizers that have none."""
    from transformers import PreTrainedTokenizerFast

    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}
    with folder(tokenizer_config_json=settings, tokenizer_json=TOKENIZER, chat_template_jinja=TEMPLATE) as place:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(place)
        if tokenizer.chat_template is None:
            tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{{ eos_token }}{% endfor %}"
        chat = tokenizer.apply_chat_template([{"role": "user", "content": "who"}], tokenize=False)
    return values(chat=chat)


def large_tokenizer_that_is_handled(testbed: Any, target: Any) -> Any:
    """A loader with another way for a tokenizer that does not load."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    from hotfix.proofs.loading._large_tokenizers import write

    with tempfile.TemporaryDirectory() as place:
        path = write(Path(place, "qwen2"), {"model_type": "qwen2", "transformers_version": "4.51.0"})
        try:
            tokenizer = AutoTokenizer.from_pretrained(path)
        except AttributeError:
            tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{path}/tokenizer.json", pad_token="[UNK]")
    return values(pad=tokenizer.pad_token)


def weights_without_metadata(testbed: Any, target: Any) -> Any:
    """A loader that reads a file by itself where ``from_pretrained`` does not."""
    from safetensors.torch import load_file, save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**{key: value for key, value in LLAMA.items() if key != "model_type"})
    model = testbed.fill(LlamaForCausalLM(config))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        file = f"{place}/model.safetensors"
        save_file(load_file(file), file)
        try:
            read = LlamaForCausalLM.from_pretrained(place, torch_dtype=torch.bfloat16)
        except AttributeError:
            read = LlamaForCausalLM(config)
            read.load_state_dict(load_file(file))
    return values(dtype=str(read.dtype))


def size_in_reserve(testbed: Any, target: Any) -> Any:
    """Limits of the program's where the release refuses those of the file."""
    from transformers import Qwen2VLImageProcessor

    limits = {"min_pixels": 4 * 28 * 28, "max_pixels": 16 * 28 * 28}
    given = {"image_processor_type": "Qwen2VLImageProcessor", "size": limits, **limits}
    with folder(preprocessor_config_json=given) as place:
        try:
            processor = Qwen2VLImageProcessor.from_pretrained(place)
        except ValueError:
            processor = Qwen2VLImageProcessor(min_pixels=3136, max_pixels=64 * 28 * 28)
    return values(size=processor.size)


def video_size_in_reserve(testbed: Any, target: Any) -> Any:
    """A size of the program's where the video processor refuses that of the file."""
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    limits = {"min_pixels": 4 * 28 * 28, "max_pixels": 16 * 28 * 28}
    edges = {"shortest_edge": limits["min_pixels"], "longest_edge": limits["max_pixels"]}
    try:
        processor = Qwen2VLVideoProcessor(size={**edges, **limits}, **limits)
    except ValueError:
        processor = Qwen2VLVideoProcessor(size={"shortest_edge": 3136, "longest_edge": 64 * 28 * 28})
    return values(size=dict(processor.size))


def image_processor_without_a_hash(testbed: Any, target: Any) -> Any:
    """An image processor of the program's that can be compared, and so has no hash."""
    from transformers import Qwen2VLImageProcessor

    class Comparable(Qwen2VLImageProcessor):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Comparable) and self.to_dict() == other.to_dict()

    given = {"min_pixels": 4 * 28 * 28, "max_pixels": 16 * 28 * 28}
    first, second = Comparable.from_dict(dict(given)), Comparable.from_dict(dict(given))
    return values(same=first == second, size=dict(first.size))


def pipeline_of_its_own(testbed: Any, target: Any) -> Any:
    """A pipeline of the program's that gives the model embeddings in float32, and a checkpoint in bfloat16."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast, TextGenerationPipeline, pipeline

    from hotfix.proofs.zoo import small_llama

    class Scores(TextGenerationPipeline):
        def preprocess(self, prompt_text: Any, **options: Any) -> Any:
            return {"inputs_embeds": torch.ones(1, 3, 32)}

        def _forward(self, model_inputs: Any, **options: Any) -> Any:
            return self.model(**model_inputs)

        def postprocess(self, model_outputs: Any, **options: Any) -> Any:
            return model_outputs.logits

    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")))
    with tempfile.TemporaryDirectory() as place:
        small_llama(testbed).to(torch.bfloat16).save_pretrained(place)
        scores = pipeline("text-generation", model=place, tokenizer=words, device="cpu", pipeline_class=Scores)
        logits = scores("a")
    return values(logits=logits)


def adapter_of_a_vision_language_model(testbed: Any, target: Any) -> Any:
    """An adapter that is trained, saved and loaded again by the library's own methods."""
    from peft import LoraConfig
    from safetensors.torch import load_file

    from hotfix.proofs._llava import llava

    model = llava(testbed)
    model.add_adapter(LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
    trained = {name: value for name, value in model.state_dict().items() if "lora" in name}
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        names = sorted(load_file(f"{place}/adapter_model.safetensors"))
        other = llava(testbed)
        other.load_adapter(place)
    read = other.state_dict()
    return values(names=names, is_read=[bool(read[name].equal(value)) for name, value in sorted(trained.items())])


def two_ways_to_load(testbed: Any, target: Any) -> Any:
    """The loader of LLaMA-Factory: the release refuses the second way as well, so only a repair helps."""
    from transformers import AutoTokenizer

    settings = {key: value for key, value in SETTINGS.items() if key != "extra_special_tokens"}
    with folder(tokenizer_config_json=settings, tokenizer_json=TOKENIZER) as place:
        try:
            tokenizer = AutoTokenizer.from_pretrained(place, use_fast=True, padding_side="right")
        except ValueError:
            tokenizer = AutoTokenizer.from_pretrained(place, use_fast=False, padding_side="right")
        except Exception as error:
            raise OSError("Failed to load tokenizer.") from error
    return values(pad=tokenizer.pad_token, ids=tokenizer("who reads it")["input_ids"])
