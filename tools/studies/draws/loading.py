"""Draws for loading and saving: the model, its class, and the file."""

from __future__ import annotations

from contextlib import nullcontext
from tempfile import TemporaryDirectory
from typing import Any

from hotfix.proofs import _llava, zoo
from hotfix.proofs.loading import (
    move_missing_keys_empty_like,
    pipeline_torch_dtype_ignored,
    v5_custom_weights_initialised_again,
    v5_missing_bias_not_initialised,
    v5_umt5_config_unties_encoder,
)
from tools.studies.draws import Draw, Tensors, of


@of("pipeline-torch-dtype-ignored")
def pipelines(draw: Draw) -> Tensors:
    """A pipeline that is given a folder or a model, and a dtype or none."""
    import torch

    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    options: dict[str, Any] = {}
    way = draw.of("way", "dtype", "torch_dtype", "model_kwargs", "nothing")
    wanted = draw.of("dtype", *dtypes)
    if way != "nothing":
        given = {"torch_dtype" if way == "torch_dtype" else "dtype": draw.of("as", wanted, dtypes[wanted])}
        options = {"model_kwargs": given} if way == "model_kwargs" else given
    with TemporaryDirectory() as folder:
        zoo.small_llama(draw.testbed).to(dtypes[draw.of("of the file", *dtypes)]).save_pretrained(folder)
        weight = pipeline_torch_dtype_ignored._pipeline(folder, options).model.get_output_embeddings().weight
    return {"weight": weight.float(), "bytes": torch.tensor(weight.element_size())}


@of("v5-umt5-config-unties-encoder")
def encoders(draw: Draw) -> Tensors:
    """A file with one table or with all, of a model whose head is the table or is not."""
    from importlib import import_module

    import torch

    own = v5_umt5_config_unties_encoder
    package = draw.of("package", *own._NAMES)
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    cls = getattr(module, f"{own._NAMES[package]}ForConditionalGeneration")
    tied = draw.of("tied", True, False)
    with TemporaryDirectory() as once, TemporaryDirectory() as every:
        model = draw.testbed.fill(cls(cls.config_class(**{**own._SIZES, "tie_word_embeddings": tied})))
        if tied:
            model.save_pretrained(once)
        else:
            own._save(draw.testbed, model, once, every)
        has_all = not tied and draw.of("tables", "one", "all") == "all"
        loaded = cls.from_pretrained(every if has_all else once)
    # A table that was not in the file is what the memory held, by chance what it should be.
    tables = {"encoder": loaded.encoder.embed_tokens.weight, "decoder": loaded.decoder.embed_tokens.weight}
    wanted = model.shared.weight
    is_right = {
        name: table.equal(wanted) if has_all else table is loaded.shared.weight for name, table in tables.items()
    }
    return {name: torch.tensor(value) for name, value in is_right.items()}


@of("v5-custom-weights-initialised-again")
def custom(draw: Draw) -> Tensors:
    """A custom model or one of the library, that is built or loaded, and initializes in one way or another."""
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import LlamaForCausalLM

    cls: Any = v5_custom_weights_initialised_again._custom()
    how = draw.of("initialises", "data", "data", "torch.nn.init")
    if draw.of("class", "own", "own", "library") == "library":
        with TemporaryDirectory() as folder:
            zoo.small_llama(draw.testbed).save_pretrained(folder)
            return dict(LlamaForCausalLM.from_pretrained(folder).state_dict())
    if how == "torch.nn.init":

        def _init_weights(self: Any, module: Any) -> None:
            if isinstance(module, (torch.nn.Linear, torch.nn.Embedding)):
                torch.nn.init.constant_(module.weight, 0.02)

        cls._init_weights = _init_weights
    if draw.of("comes", "built", "loaded", "loaded") == "built":
        return dict(cls(cls.config_class()).state_dict())
    with TemporaryDirectory() as folder:
        draw.testbed.fill(cls(cls.config_class())).save_pretrained(folder)
        missing = draw.of("missing", "nothing", "head", "embed", "norm")
        file = f"{folder}/model.safetensors"
        kept = {name: tensor for name, tensor in load_file(file).items() if not name.startswith(missing)}
        save_file(kept, file, metadata={"format": "pt"})
        loaded = cls.from_pretrained(folder).state_dict()
    return {name: loaded[name] for name in kept}  # a missing weight may have any value


@of("move-missing-keys-empty-like")
def tensors(draw: Draw) -> Tensors:
    """A custom model or one of the library, built or loaded, with what its ``_init_weights`` sets or not."""
    import torch
    from transformers import LlamaForCausalLM

    cls: Any = move_missing_keys_empty_like._custom()
    kind = draw.of("class", "own", "own", "own", "library", "module")
    if kind != "own":
        replaced = move_missing_keys_empty_like._a_module_replaced() if kind == "module" else nullcontext()
        with TemporaryDirectory() as folder, replaced:
            model = zoo.small_llama(draw.testbed)
            model.save_pretrained(folder)
            loaded, wanted = LlamaForCausalLM.from_pretrained(folder), dict(model.named_buffers())
        return {name: torch.tensor(buffer.equal(wanted[name])) for name, buffer in loaded.named_buffers()}
    sets = draw.of("sets", "nothing", "nothing", "the buffers", "all")
    if sets != "nothing":

        def _init_weights(self: Any, module: Any) -> None:
            if hasattr(module, "inv_freq"):
                torch.nn.init.constant_(module.inv_freq, 0.02)
                torch.nn.init.ones_(module.mask)
            if sets == "all" and hasattr(module, "gate"):
                torch.nn.init.ones_(module.gate)
                module.norm.weight.data.fill_(2.0)
                module.norm.bias.data.zero_()

        cls._init_weights = _init_weights
    built = loaded = draw.testbed.fill(cls(cls.config_class()))
    has = draw.of("file", "has all", "lacks new weights")
    if draw.of("comes", "built", "loaded", "loaded") == "loaded":
        kept = {name: weight for name, weight in built.state_dict().items() if has == "has all" or "new" not in name}
        with TemporaryDirectory() as folder:
            built.save_pretrained(folder, state_dict=dict(kept))  # 5.x empties the dictionary
            loaded = cls.from_pretrained(folder)
    else:
        kept = built.state_dict()
    # A tensor that nothing sets is what the memory held, by chance what it should be.
    fresh = cls(cls.config_class())
    wanted = {
        **dict(fresh.named_buffers()),
        **{name: value for name, value in fresh.state_dict().items() if "new" in name},
        **kept,
    }
    held = {**dict(loaded.named_buffers()), **loaded.state_dict()}
    return {name: torch.tensor(value.equal(wanted[name])) for name, value in held.items()}


@of("v5-missing-bias-not-initialised")
def biases(draw: Draw) -> Tensors:
    """A Llama that is loaded with biases or without, from a checkpoint that has none."""
    return v5_missing_bias_not_initialised.loaded(draw.testbed, "loaded", draw.of("biases", True, False))


@of("v5-vlm-saved-in-two-layouts", "vlm-save-reverse-mapping")
def saved(draw: Draw) -> Tensors:
    """The names in the file of a model of text, or of text and pictures, as it was made or after it was loaded."""
    model = _model(draw)
    if draw.of("comes", "built", "loaded") == "loaded":
        with TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            model = type(model).from_pretrained(folder)
    return {"names": _digest(_llava.in_files(model))}


@of("v5-conversion-reverse")
def saved_by_name(draw: Draw) -> Tensors:
    """The names in the file of a model, among them one of Gemma 3n's text."""
    return {
        "names": _digest(
            _llava.in_files(_gemma3n(draw) if draw.of("text of", "3n", "others") == "3n" else _model(draw))
        )
    }


@of("vlm-key-mapping-subclass", beside=("vlm-save-reverse-mapping",))
def extended(draw: Draw) -> Tensors:
    """A class of the library, or one that extends it, is loaded and saved."""
    model = _model(draw)
    cls: Any = type(model)
    if draw.of("class", "extended", "own") == "extended":
        cls = type(draw.of("called", "Reward", "MyQwen2VL"), (cls,), {"__module__": __name__})
    with TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        layout = "old" if hasattr(model.config, "vision_config") and "llava" in model.config.model_type else ""
        if layout:
            _llava.save(_llava.named(model, layout), f"{folder}/model.safetensors")
        else:
            model.save_pretrained(folder)
        loaded = cls.from_pretrained(folder)
    weights = {name: tensor.float() for name, tensor in loaded.state_dict().items()}
    return {**weights, "names": _digest(_llava.in_files(loaded))}


def _model(draw: Draw) -> Any:
    made = {"LLaVA": _llava.llava, "Qwen2-VL": _llava.qwen2_vl, "Llama": zoo.small_llama}
    return made[draw.of("model", *made)](draw.testbed)


def _gemma3n(draw: Draw) -> Any:
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    layers = draw.number("layers", 1, 2)
    config = Gemma3nTextConfig(
        vocab_size=64,
        vocab_size_per_layer_input=64,
        hidden_size=32,
        hidden_size_per_layer_input=8,
        intermediate_size=[48] * layers,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_kv_shared_layers=0,
        head_dim=16,
        laurel_rank=4,
        layer_types=["sliding_attention", "full_attention"][-layers:],
        activation_sparsity_pattern=[0.0] * layers,
    )
    return draw.testbed.fill(Gemma3nForCausalLM(config))


def _digest(tensors: Any) -> Any:
    """The names of tensors, as numbers."""
    import hashlib

    import torch

    return torch.tensor(list(hashlib.sha256("\n".join(sorted(tensors)).encode()).digest()))
