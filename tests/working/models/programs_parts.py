"""Correct programs with custom parts next to the library's, run on a release without repairs and repaired."""

from __future__ import annotations

import functools
import sys
import types
from importlib import import_module
from types import SimpleNamespace

import torch

from hotfix.proofs import zoo
from hotfix.proofs.zoo import WINDOW, windowed
from tests.working.models.programs_changed import opt, own_kernel, states


def _logits(testbed, model, **given):
    with torch.no_grad():
        return {"logits": model(testbed.randint(3, 64, 2, 9, seed=1), **given).logits}


# -- opt-double-scaling ------------------------------------------------------------------------------------------------


def _attentions(model):
    return [layer.self_attn for layer in model.model.decoder.layers]


def opt_with_another_eager_attention(testbed, target):
    """A workaround: the eager attention of the module is replaced by one that divides the queries by the scale."""
    module = import_module("transformers.models.opt.modeling_opt")
    eager = module.eager_attention_forward

    def divided(layer, query, *args, scaling, **kwargs):
        return eager(layer, query / scaling, *args, scaling=scaling, **kwargs)

    module.eager_attention_forward = divided
    model = opt(testbed)
    model.config._attn_implementation = "eager"
    return _logits(testbed, model)


def opt_with_a_hook_on_keys(testbed, target):
    """A workaround: a hook removes the scaling of the queries from the keys."""
    model = opt(testbed)
    for attention in _attentions(model):
        attention.k_proj.register_forward_hook(lambda module, args, output: output * 8**0.5)
    return _logits(testbed, model)


class Unscaled(torch.nn.Linear):
    """The workaround: the value that is multiplied once too often is divided first."""

    def forward(self, states):
        return super().forward(states) * 8**0.5


def opt_with_keys_of_ones_own(testbed, target):
    """A workaround: the projection of the keys compensates for the second scaling."""
    model = opt(testbed)
    for attention in _attentions(model):
        own = Unscaled(32, 32)
        own.load_state_dict(attention.k_proj.state_dict())
        attention.k_proj = own
    return _logits(testbed, model)


def opt_with_a_hook_on_every_module(testbed, target):
    """A workaround: a hook for all modules undoes the scaling in the affected projections."""
    model = opt(testbed)
    queries = [attention.q_proj for attention in _attentions(model)]

    def scaled_back(module, args, output):
        return output * 8**0.5 if any(module is query for query in queries) else None

    torch.nn.modules.module.register_module_forward_hook(scaled_back)
    return _logits(testbed, model)


def opt_with_a_hook_before(testbed, target):
    """A workaround in a model without biases: a hook scales up the projection's input."""
    model = opt(testbed)
    for attention in _attentions(model):
        attention.q_proj.bias.data.zero_()
        attention.q_proj.register_forward_pre_hook(lambda module, args: (args[0] * 8**0.5,))
    return _logits(testbed, model)


def opt_with_a_hook_of_accelerate(testbed, target):
    """A workaround: a hook as in accelerate, which rebuilds the output of the projection."""
    from accelerate.hooks import ModelHook, add_hook_to_module

    class ScaledBack(ModelHook):
        def post_forward(self, module, output):
            return output * 8**0.5

    model = opt(testbed)
    for attention in _attentions(model):
        add_hook_to_module(attention.q_proj, ScaledBack())
    return _logits(testbed, model)


class Larger(torch.nn.Module):
    def forward(self, weight):
        return weight * 8**0.5


def opt_with_a_parametrization(testbed, target):
    """A workaround: weight and bias of the projection are computed."""
    model = opt(testbed)
    for attention in _attentions(model):
        for name in ("weight", "bias"):
            torch.nn.utils.parametrize.register_parametrization(attention.q_proj, name, Larger())
    return _logits(testbed, model)


# -- gptbigcode-inverse-scale ------------------------------------------------------------------------------------------


def _bigcode(testbed, attn="sdpa"):
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4)
    return testbed.model(GPTBigCodeForCausalLM, config, attn=attn, dtype=torch.float32)


def bigcode_with_another_eager_attention(testbed, target):
    """A workaround: the eager attention of the module is replaced by one that inverts the scale."""
    module = import_module("transformers.models.gpt_bigcode.modeling_gpt_bigcode")
    eager = module.eager_attention_forward

    def turned(layer, *args, scaling, **kwargs):
        return eager(layer, *args, scaling=layer.head_dim**-0.5, **kwargs)

    module.eager_attention_forward = turned
    return _logits(testbed, _bigcode(testbed, "eager"))


def bigcode_with_a_hook(testbed, target):
    """A workaround: a hook divides the queries by the size of a head."""
    model = _bigcode(testbed)
    for block in model.transformer.h:
        block.attn.c_attn.register_forward_hook(
            lambda module, args, output: torch.cat([output[..., :32] / 8, output[..., 32:]], dim=-1)
        )
    return _logits(testbed, model)


def bigcode_with_a_projection(testbed, target):
    """The same as a custom projection."""

    class Mine(torch.nn.Linear):
        def forward(self, states):
            output = super().forward(states)
            return torch.cat([output[..., :32] / 8, output[..., 32:]], dim=-1)

    model = _bigcode(testbed)
    for block in model.transformer.h:
        block.attn.c_attn.__class__ = Mine
    return _logits(testbed, model)


# -- fa-sliding-window-off-by-one, fa2-varlen-kwargs-ignored -----------------------------------------------------------


def kernel_of_a_module_with_such_a_name(testbed, target):
    """A custom kernel from a module whose name starts like flash-attn's."""
    home = types.ModuleType("flash_attn_counting")
    home.own_kernel = own_kernel
    sys.modules[home.__name__] = home
    exec(
        "def flash_attn_func(*args, window_size=(-1, -1), **options):\n"
        "    return own_kernel(*args, window_size=tuple(one - 1 for one in window_size), **options)\n",
        home.__dict__,
    )
    utils = import_module("transformers.modeling_flash_attention_utils")
    utils.flash_attn_func = utils.flash_attn_2_func = home.flash_attn_func
    return {"output": utils._flash_attention_forward(*states(testbed), None, 12, is_causal=True, sliding_window=WINDOW)}


def lengths_of_the_prompt_as_tensors(testbed, target):
    """Later generation steps receive the lengths of the prompt, the longest as a tensor."""
    from transformers.modeling_flash_attention_utils import _flash_attention_forward

    from tests.working.models.programs_attention import states as of

    ends = torch.tensor([0, 9], dtype=torch.int32)
    longest = ends.diff().max()
    lengths = {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest}
    return {
        f"{queries} of {keys}": _flash_attention_forward(
            *of(testbed, queries, keys), None, queries, is_causal=True, **lengths
        )
        for queries, keys in ((1, 10), (3, 12), (9, 18))
    }


# -- gemma2-fa2-no-window, fa2-sliding-window-mask-slicing -------------------------------------------------------------


def common_function_without_a_window(testbed, target):
    """Gemma 2 with a custom function in place of the common one, which takes the arguments of this release."""
    module = import_module("transformers.models.gemma2.modeling_gemma2")
    original = module._flash_attention_forward

    def mine(query, key, value, mask, length, dropout, softmax_scale, is_causal, use_top_left_mask, softcap):
        options = {"softmax_scale": softmax_scale, "use_top_left_mask": use_top_left_mask, "softcap": softcap}
        return original(query, key, value, mask, length, is_causal, dropout=dropout, **options)

    model = windowed(testbed, "gemma2")
    module._flash_attention_forward = mine
    ids = testbed.randint(3, 60, 2, WINDOW, seed=1)
    with torch.no_grad():
        return {"logits": model(ids, use_cache=False).logits}


def keys_cut_to_the_mask(testbed, target):
    """A workaround: the function under Mistral's attention cuts keys and values to the mask that the release cuts."""
    from transformers import DynamicCache

    module = import_module("transformers.models.mistral.modeling_mistral")
    owner, original = module, getattr(module, "_flash_attention_forward", None)
    if original is None:
        owner = module.MistralFlashAttention2
        original = owner._flash_attention_forward

    def cut(*args, **kwargs):
        first = 0 if owner is module else 1
        args = list(args)
        mask = args[first + 3]
        if mask is not None and args[first + 1].shape[1] > mask.shape[1]:
            args[first + 1 : first + 3] = [argument[:, -mask.shape[1] :] for argument in args[first + 1 : first + 3]]
        return original(*args, **kwargs)

    owner._flash_attention_forward = cut
    model = windowed(testbed, "mistral", layers=2)
    ids = testbed.randint(3, 64, 2, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    cache, steps = DynamicCache(), []
    with torch.no_grad():
        for start, end in ((0, WINDOW), *((at, at + 1) for at in range(WINDOW, 12))):
            output = model(
                ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, start:end],
                past_key_values=cache,
                use_cache=True,
            )
            steps.append(output.logits[:, -1])
    return {"logits": torch.stack(steps, dim=1)}


# -- Gemma 3 -----------------------------------------------------------------------------------------------------------


def one_image_in_rows(testbed, target):
    """One image per text, whose rows are separated by a text token: all its tokens see each other."""
    model, inputs = zoo.gemma3(testbed)
    at = torch.arange(16)
    inputs["token_type_ids"] = ((at == 3) | (at == 4) | (at == 6) | (at == 7)).long().expand(2, -1)
    inputs["input_ids"] = torch.where(inputs["input_ids"] == 60, 5, inputs["input_ids"])
    with torch.no_grad():
        return {"logits": model(**inputs, use_cache=False).logits * inputs["attention_mask"][..., None]}


def images_with_negative_numbers(testbed, target):
    """The token types number the images of a text: -1, -2."""
    model, inputs = zoo.gemma3(testbed)
    types_ = inputs["token_type_ids"]
    inputs["token_type_ids"] = -torch.where(torch.arange(16) > 7, 2 * types_, types_)
    with torch.no_grad():
        return {"logits": model(**inputs, use_cache=False).logits * inputs["attention_mask"][..., None]}


# -- qwenvl-vision-fa2-crash, qwen2vl-text-position-ids-from-mrope -----------------------------------------------------


def attention_that_wraps_the_librarys(testbed, target):
    """Two images under a custom attention that has the name and module of the library's, by functools.wraps."""
    functions = import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS
    flash = import_module("transformers.integrations.flash_attention").flash_attention_forward
    sdpa = import_module("transformers.integrations.sdpa_attention").sdpa_attention_forward

    @functools.wraps(flash)
    def mine(*args, **kwargs):
        return sdpa(*args, **kwargs)

    functions["mine"] = mine
    results = {}
    for package, owner in (("qwen2_5_vl", "Qwen2_5_VLVisionAttention"), ("glm4v", "Glm4vVisionAttention")):
        named = SimpleNamespace(module=f"transformers.models.{package}.modeling_{package}", qualname=f"{owner}.forward")
        encoder, inputs = zoo.encoder_and_inputs(testbed, named, attn="sdpa", dtype=torch.float32)
        for module in encoder.modules():
            if hasattr(module, "config"):
                module.config._attn_implementation = "mine"
        results[package] = encoder(**inputs)
    return results


def eager_attention_that_reads_positions(testbed, target):
    """The eager attention of the module is replaced by one that separates packed texts by their positions."""
    from tests.working.models.programs_qwen import _decoder, _for_this_release

    model = _decoder(testbed, _for_this_release(), "eager")
    module, seen = sys.modules[type(model).__module__], []
    eager = module.eager_attention_forward

    def mine(layer, query, key, value, mask, position_ids=None, **kwargs):
        seen.append(position_ids)
        return eager(layer, query, key, value, None, **kwargs)

    module.eager_attention_forward = mine
    positions = torch.cat([zoo.qwen_image_positions(0), zoo.qwen_image_positions(2)], dim=-1)
    embeddings = testbed.randn(1, positions.shape[-1], 64, seed=1)
    output = model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state
    return {"output": output, "positions": torch.stack(seen)}


# -- qwen2vl-decode-delta-left-padding ---------------------------------------------------------------------------------


def positions_put_right_afterwards(testbed, target):
    """A workaround: a subclass adds the padding to the positions that the release prepares."""
    from hotfix.proofs.models.qwen2vl_decode_delta_left_padding import generated, prompts
    from tests.working.models.programs_qwen import _model_class

    cls = _model_class("qwen2_5_vl:Qwen2_5_VLForConditionalGeneration")
    model = zoo.qwen_vl(testbed, cls, dtype=torch.float32)

    class Model(cls):
        def prepare_inputs_for_generation(self, input_ids, attention_mask=None, cache_position=None, **kwargs):
            kwargs.update(attention_mask=attention_mask, cache_position=cache_position)
            inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)
            if cache_position[0] > 0 and inputs.get("position_ids") is not None:
                inputs["position_ids"] = inputs["position_ids"] + (attention_mask == 0).sum(-1, keepdim=True)
            return inputs

    model.__class__ = Model
    return generated(model, *prompts(testbed))


def inputs_passed_on(testbed, target):
    """A subclass that only inspects the prepared inputs: it stays repaired."""
    from hotfix.proofs.models.qwen2vl_decode_delta_left_padding import generated, prompts
    from tests.working.models.programs_qwen import _model_class

    cls = _model_class("qwen2_5_vl:Qwen2_5_VLForConditionalGeneration")
    model = zoo.qwen_vl(testbed, cls, dtype=torch.float32)

    class Model(cls):
        def prepare_inputs_for_generation(self, *args, **kwargs):
            inputs = super().prepare_inputs_for_generation(*args, **kwargs)
            self.seen = sorted(inputs)
            return inputs

    model.__class__ = Model
    return generated(model, *prompts(testbed))


# -- mxfp4-swiglu-limit ------------------------------------------------------------------------------------------------


def experts_with_a_limit_of_their_own(testbed, target):
    """Custom experts with a different `limit`."""
    from hotfix.proofs.models.mxfp4_swiglu_limit import _on_the_cpu

    mxfp4 = import_module("transformers.integrations.mxfp4")

    class Experts(mxfp4.Mxfp4GptOssExperts):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.alpha, self.limit = 1.702, 1
            self.gate_up_proj, self.down_proj = testbed.randn(32, 64, seed=1), testbed.randn(32, 32, seed=2)
            self.gate_up_proj_bias, self.down_proj_bias = torch.zeros(1, 64), torch.zeros(1, 32)
            self.gate_up_proj_precision_config = self.down_proj_precision_config = None

    with _on_the_cpu(mxfp4), torch.no_grad():
        routing = SimpleNamespace(gate_scal=None)
        return {"output": Experts()(20 * testbed.randn(9, 32, seed=3), routing, None, None)}


# -- idefics-smolvlm-position-ids --------------------------------------------------------------------------------------


def _wrong_positions(positions, sides, dtype, default=torch.float32):
    """The number of patches of square images with wrong positions.

    Args:
        positions: of a side.
        sides: numbers of patches of the images.
        dtype: of the images.
        default: of new tensors.
    """
    module, results = import_module("transformers.models.idefics2.modeling_idefics2"), {}
    config = module.Idefics2VisionConfig(hidden_size=4, num_attention_heads=1, image_size=2 * positions, patch_size=2)
    torch.set_default_dtype(default)
    embeddings, seen = module.Idefics2VisionEmbeddings(config).to(dtype), []
    embeddings.position_embedding.register_forward_hook(lambda module, args, output: seen.append(args[0].flatten()))
    for side in sides:
        embeddings(torch.zeros(1, 3, 2 * side, 2 * side, dtype=dtype), torch.ones(1, side, side, dtype=torch.bool))
        rows = torch.arange(side) * positions // side
        results[f"{side} of {positions}"] = (seen.pop() != (rows[:, None] * positions + rows).flatten()).sum()
    torch.set_default_dtype(torch.float32)
    return results


def images_with_right_positions(testbed, target):
    """Images whose positions the release computes correctly: in bfloat16, and under other default dtypes."""
    half, short, double = torch.bfloat16, torch.float16, torch.float64
    results = _wrong_positions(70, (25,), half)
    for positions, sides in ((24, (24, 22)), (27, (21,)), (26, (14,))):
        results.update(_wrong_positions(positions, sides, half, half))
    results.update(_wrong_positions(32, (12, 30), short, short))
    if import_module("transformers").__version__ >= "5":
        results.update(_wrong_positions(70, (35, 55), torch.float32, double))
    return results
