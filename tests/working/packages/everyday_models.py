"""transformers alone: small models of many families, in the ways in which programs use every model.

``EVERYDAY`` names the families, separated by commas; without it there are all.
"""

import os

from common import begin, tell, tell_folder

begin()
import copy
import pickle
from functools import partial

import torch
import transformers

_SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_DECODER = {**_SIZES, **_TOKENS, "num_key_value_heads": 2}
_GPT = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **_TOKENS}
_BART = {
    "vocab_size": 64, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
}  # fmt: skip
FAMILIES = {
    "llama": ("Llama", "ForCausalLM", _DECODER),
    "mistral": ("Mistral", "ForCausalLM", {**_DECODER, "sliding_window": 4}),
    "qwen2": ("Qwen2", "ForCausalLM", _DECODER),
    "gemma2": ("Gemma2", "ForCausalLM", {**_DECODER, "head_dim": 8, "sliding_window": 4}),
    "phi": ("Phi", "ForCausalLM", _DECODER),
    "phi3": ("Phi3", "ForCausalLM", _DECODER),
    "mixtral": ("Mixtral", "ForCausalLM", {**_DECODER, "num_local_experts": 4}),
    "gpt_neox": ("GPTNeoX", "ForCausalLM", {**_SIZES, **_TOKENS}),
    "gpt2": ("GPT2", "LMHeadModel", _GPT),
    "gpt_bigcode": ("GPTBigCode", "ForCausalLM", _GPT),
    "opt": ("OPT", "ForCausalLM", {**_SIZES, **_TOKENS, "ffn_dim": 64, "word_embed_proj_dim": 32}),
    "mamba": ("Mamba", "ForCausalLM", {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    "t5": (
        "T5", "ForConditionalGeneration",
        {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
         "decoder_start_token_id": 0},
    ),
    "bart": ("Bart", "ForConditionalGeneration", _BART),
    "bert": ("Bert", "ForSequenceClassification", _SIZES),
    "clip": ("CLIPText", "Model", {**_SIZES, "max_position_embeddings": 64, "eos_token_id": 2}),
}  # fmt: skip
_NO_TEXT = ("bert", "clip")
IDS = torch.arange(3, 15).reshape(2, 6)
RIGHT, LEFT = torch.ones_like(IDS), torch.ones_like(IDS)
RIGHT[0, -2:] = 0
LEFT[0, :2] = 0


def attempt(name, step):
    """Report the result of a step, or its error."""
    torch.manual_seed(0)
    try:
        tell(name, step())
    except Exception as error:
        tell(name, f"{type(error).__name__}: {error}"[:300])


def classes_of(family):
    prefix, suffix, settings = FAMILIES[family]
    kind = "CLIPTextModel" if family == "clip" else prefix + suffix
    return getattr(transformers, f"{prefix}Config"), getattr(transformers, kind), settings


def made(family, attention):
    """A small model of a family, with weights that do not depend on the release's initialization."""
    config, kind, settings = classes_of(family)
    model = kind._from_config(config(**settings), attn_implementation=attention)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return model.eval()


def computed(model, labels, mask=RIGHT):
    """The loss and the numbers of a forward pass."""
    outputs = model(input_ids=IDS, attention_mask=mask, **labels)
    return {name: outputs[name] for name in ("loss", "logits", "last_hidden_state") if name in outputs}


def gradients(model, labels, checkpointing=False):
    model = copy.deepcopy(model).train()
    if checkpointing:
        model.gradient_checkpointing_enable()
    torch.manual_seed(0)
    outputs = model(input_ids=IDS, attention_mask=RIGHT, **labels)
    (outputs.loss if labels else outputs.last_hidden_state.sum()).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


def compiled(model, labels):
    torch._dynamo.reset()
    return computed(torch.compile(model, backend="eager", fullgraph=True), labels)


def saved(model, labels, folder):
    model.save_pretrained(folder)
    tell_folder(folder)
    return computed(type(model).from_pretrained(folder), labels)


def public(config):
    """The names of a configuration; hotfix adds a ``__getattr__`` to its class, as documented in docs/limits.md."""
    return [name for name in dir(config) if name != "__getattr__"]


def own_classes():
    """A custom configuration and model, whose forward reads attributes that may be missing."""

    class OwnConfig(transformers.LlamaConfig):
        model_type = "own"

    OwnConfig.attribute_map = {**transformers.LlamaConfig.attribute_map, "width": "hidden_size"}

    class OwnModel(transformers.LlamaForCausalLM):
        config_class = OwnConfig

        def forward(self, input_ids=None, attention_mask=None, labels=None, **others):
            outputs = super().forward(input_ids, attention_mask=attention_mask, labels=labels, use_cache=False)
            outputs.logits = outputs.logits * (2 if getattr(self.config, "is_decoder", True) else 3)
            outputs.logits = outputs.logits + getattr(self.config, "max_length", 512) + self.config.width
            return outputs

    torch.manual_seed(0)
    model = OwnModel(OwnConfig(**_DECODER)).eval()
    labels = {"labels": IDS}
    attempt("own forward", partial(computed, model, labels))
    attempt("own compiled", partial(compiled, model, labels))
    attempt("own gradients", partial(gradients, model, labels))
    attempt("own config", lambda: [repr(model.config), getattr(model.config, "nothing", "none"), public(model.config)])


def every_way(family, attention):
    try:
        model = made(family, attention)
    except (AttributeError, ImportError, ValueError, TypeError) as error:
        tell(f"{family} {attention}", f"{type(error).__name__}: {error}"[:300])
        return
    labels = {} if family == "clip" else {"labels": torch.tensor([0, 1]) if family == "bert" else IDS}
    name = f"{family} {attention}"
    attempt(f"{name} forward", partial(computed, model, labels))
    attempt(f"{name} padded on the left", partial(computed, model, labels, LEFT))
    attempt(f"{name} bfloat16", lambda: computed(copy.deepcopy(model).to(torch.bfloat16), labels))
    attempt(f"{name} gradients", partial(gradients, model, labels))
    if family not in _NO_TEXT:
        for way in ({}, {"num_beams": 2}, {"do_sample": True}, {"use_cache": False}):
            settings = {"max_new_tokens": 4, "do_sample": False, **way}
            attempt(f"{name} generate {way}", partial(model.generate, IDS, attention_mask=LEFT, **settings))
    if attention == "eager":
        return
    attempt(f"{name} checkpointing", partial(gradients, model, labels, True))
    attempt(f"{name} compiled", partial(compiled, model, labels))
    attempt(f"{name} saved and read", partial(saved, model, labels, family))
    attempt(f"{name} pickled", lambda: computed(pickle.loads(pickle.dumps(model)), labels))
    attempt(f"{name} shown", lambda: [repr(model.config), str(model), list(model.state_dict())])


for family in filter(None, os.environ.get("EVERYDAY", ",".join((*FAMILIES, "own"))).split(",")):
    if family == "own":
        own_classes()
        continue
    for attention in ("eager", "sdpa"):
        every_way(family, attention)
