"""Correct programs with Gemma 3, Gemma 4 and GLM-4V, run on a release without repairs and on the same one repaired."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping
from importlib import import_module

import torch

from hotfix.proofs import zoo

GEMMA3 = "transformers.models.gemma3.modeling_gemma3"


# -- Gemma 3 -----------------------------------------------------------------------------------------------------------


def numbered_images(testbed, target):
    """The token types number the images of a text: a workaround for images that attend to each other."""
    model, inputs = zoo.gemma3(testbed)
    types = inputs["token_type_ids"]
    inputs["token_type_ids"] = torch.where(torch.arange(16) > 7, 2 * types, types)
    with torch.no_grad():
        return {"logits": model(**inputs, use_cache=False).logits * inputs["attention_mask"][..., None]}


def chat_of_two_turns(testbed, target):
    """A chat without images, whose second turn follows the cache of the first one."""
    from transformers import HybridCache

    model, _ = zoo.gemma3(testbed)
    cache = HybridCache(model.config.get_text_config(), 1, 24, "cpu", torch.float32)
    ids, results = testbed.randint(1, 59, 1, 5, seed=1), {}
    for turn in range(2):
        ids = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            token_type_ids=torch.zeros_like(ids),
            past_key_values=cache,
            max_new_tokens=3,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
        results[f"turn {turn}"] = ids
        ids = torch.cat([ids, testbed.randint(1, 59, 1, 4, seed=2)], dim=1)
    return results


def mask_of_ones_own(testbed, target):
    """A subclass that builds the masks of `generate` itself, and finds the images in the prompt."""
    model, inputs = zoo.gemma3(testbed)
    seen = []

    class Mine(type(model)):
        """Records the types that it receives: none, in this release."""

        @staticmethod
        def create_masks_for_generate(config, input_embeds, token_type_ids=None, **kwargs):
            seen.append(torch.tensor(token_type_ids is not None))
            module = import_module("transformers.masking_utils")
            kwargs.pop("position_ids", None)
            return module.create_masks_for_generate(config.get_text_config(), input_embeds, **kwargs)

    model.__class__ = Mine
    made = model.generate(
        **inputs, cache_implementation="hybrid", max_new_tokens=3, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    return {"tokens": made, "seen": torch.stack(seen)}


# -- Gemma 4 -----------------------------------------------------------------------------------------------------------


def gemma4(testbed, shared=2):
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig

    config = Gemma4TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        global_head_dim=16,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_kv_shared_layers=shared,
        vocab_size_per_layer_input=64,
        hidden_size_per_layer_input=8,
        max_position_embeddings=64,
    )
    return testbed.model(Gemma4ForCausalLM, config, attn="eager", dtype=torch.float32)


def rebuilt(value):
    """The result of hooks that move inputs to a device: mappings, lists and tuples are new objects."""
    if isinstance(value, Mapping):
        return type(value)({key: rebuilt(item) for key, item in value.items()})
    return type(value)(rebuilt(item) for item in value) if isinstance(value, (list, tuple)) else value


def hooks_that_rebuild(testbed, target):
    """Each layer has a hook that rebuilds its inputs, as in a model on two devices; with a cache."""
    model = gemma4(testbed)
    for layer in model.model.layers:
        layer.register_forward_pre_hook(lambda _, args, given: rebuilt((args, given)), with_kwargs=True)
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    with torch.no_grad():
        logits = model(ids, use_cache=True).logits
    tokens = model.generate(ids, max_new_tokens=4, do_sample=False, eos_token_id=None, pad_token_id=0)
    return {"logits": logits, "tokens": tokens}


def hooks_without_a_cache(testbed, target):
    """The same without a cache, where the release is wrong: the output must equal that without hooks."""
    model = gemma4(testbed)
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    with torch.no_grad():
        without_hooks = model(ids, use_cache=False).logits
        for layer in model.model.layers:
            layer.register_forward_pre_hook(lambda _, args, given: rebuilt((args, given)), with_kwargs=True)
        return {"difference": (model(ids, use_cache=False).logits - without_hooks).abs().max()}


def hooks_that_keep_arguments(testbed, target):
    """Hooks that copy the inputs of each layer in training, and save them in evaluation."""
    model, kept, saved = gemma4(testbed), [], []

    def copied(_, args, given):
        kept.append(copy.deepcopy(given))

    def written(_, args, given):
        file = io.BytesIO()
        torch.save(given, file)
        file.seek(0)
        saved.append(torch.load(file, weights_only=True)["position_ids"] is not None)

    ids = testbed.randint(3, 60, 2, 9, seed=1)
    for hook, is_trained in ((copied, True), (written, False)):
        added = [layer.register_forward_pre_hook(hook, with_kwargs=True) for layer in model.model.layers]
        model.train(is_trained)(ids, labels=ids, use_cache=False).loss.backward()
        for token in added:
            token.remove()
    return {"kept": torch.tensor(len(kept)), "saved": torch.tensor(saved)}


def gemma4_layers_by_themselves(testbed, target):
    """Layers that are called one by one, as in a custom pipeline."""
    model = gemma4(testbed).model
    hidden, results = testbed.randn(2, 5, 32, seed=1), {}
    extra = testbed.randn(2, 5, 8, seed=2)
    positions = torch.arange(5)[None]
    with torch.no_grad():
        for number, layer in enumerate(model.layers):
            tables = model.rotary_emb(hidden, positions, model.config.layer_types[number])
            results[f"layer {number}"] = layer(hidden, extra, position_embeddings=tables, attention_mask=None)
    return results


def layers_with_fixed_arguments(testbed, target):
    """A custom layer that names its arguments and takes no others; this model's layers share nothing."""
    model = gemma4(testbed)
    base = type(model.model.layers[0])

    class Mine(base):
        """Takes the arguments that the model of this release passes."""

        def forward(
            self,
            hidden_states,
            per_layer_input=None,
            position_embeddings=None,
            attention_mask=None,
            position_ids=None,
            past_key_values=None,
        ):
            return super().forward(
                hidden_states, per_layer_input, position_embeddings, attention_mask, position_ids, past_key_values
            )

    for layer in model.model.layers:
        layer.__class__ = Mine
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    with torch.no_grad():
        return {"logits": model(ids, use_cache=False).logits, "with a cache": model(ids, use_cache=True).logits}


# -- GLM-4V ------------------------------------------------------------------------------------------------------------

GLM4V = "transformers.models.glm4v.modeling_glm4v"


def attention_of_glm4v(testbed, lengths):
    module = import_module(GLM4V)
    config = module.Glm4vVisionConfig(hidden_size=32, num_heads=2, depth=1, intermediate_size=48)
    config._attn_implementation = "eager"
    layer = testbed.fill(module.Glm4vVisionAttention(config)).eval()
    tokens = sum(lengths)
    ends = torch.tensor([0, *lengths]).cumsum(0)
    tables = tuple(testbed.randn(tokens, 16, seed=seed) for seed in (2, 3))
    with torch.no_grad():
        return layer(testbed.randn(tokens, 32, seed=1), ends, position_embeddings=tables)


def one_image(testbed, target):
    """A single image, for which the mask has the same value everywhere."""
    return {"output": attention_of_glm4v(testbed, (12,))}


def eager_attention_of_ones_own(testbed, target):
    """Two images, and an eager attention that uses the mask directly: True for visible tokens. A workaround."""
    module = import_module(GLM4V)
    original = module.eager_attention_forward

    def attention(layer, query, key, value, attention_mask, **kwargs):
        scores = torch.zeros(attention_mask.shape).masked_fill(~attention_mask.bool(), -torch.inf)
        return original(layer, query, key, value, scores, **kwargs)

    module.eager_attention_forward = attention
    return {"output": attention_of_glm4v(testbed, (8, 4))}
