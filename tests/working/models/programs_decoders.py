"""Correct programs for text models, which run on a release without repairs, and on the same release repaired."""

from __future__ import annotations

import io
import logging
import pickle
import tempfile
from importlib import import_module
from types import SimpleNamespace

import torch

from hotfix.proofs.models.v5_model_max_length_extended import limit
from hotfix.proofs.zoo import llama, small_llama


def _opt(testbed, attn="eager"):
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=48, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=32
    )
    return testbed.model(OPTForCausalLM, config, attn, torch.float32)


def _logits(testbed, model):
    with torch.no_grad():
        return model(testbed.randint(5, 48, 2, 9, seed=1)).logits


# -- opt-double-scaling ------------------------------------------------------------------------------------------------


def opt_with_half_the_exponent(testbed, target):
    """A workaround: the release scales twice, so the program sets the root of the scale each time."""
    model = _opt(testbed)
    for layer in model.model.decoder.layers:
        layer.self_attn.scaling = layer.self_attn.head_dim**-0.25
    return {"logits": _logits(testbed, model)}


def opt_with_a_hook(testbed, target):
    """A workaround: a hook undoes the first scaling."""
    model = _opt(testbed)
    for layer in model.model.decoder.layers:
        layer.self_attn.q_proj.register_forward_hook(lambda module, args, output: output / 8**-0.5)
    return {"logits": _logits(testbed, model)}


def opt_with_an_attention(testbed, target):
    """A workaround: a custom attention divides the queries by the scale."""
    eager = import_module("transformers.models.opt.modeling_opt").eager_attention_forward

    def divided(module, query, *args, scaling, **kwargs):
        return eager(module, query / scaling, *args, scaling=scaling, **kwargs)

    import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS["divided"] = divided
    model = _opt(testbed)
    model.config._attn_implementation = "divided"
    return {"logits": _logits(testbed, model)}


def opt_observed(testbed, target):
    """A hook that only reads: the model stays repaired."""
    model, seen = _opt(testbed), []

    def read(module, args, output):
        seen.append(output.shape)

    for layer in model.model.decoder.layers:
        layer.self_attn.q_proj.register_forward_hook(read)
    return {"logits": _logits(testbed, model)}


# -- llama4-moe-score-order --------------------------------------------------------------------------------------------


def _llama4(testbed):
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    config = Llama4TextConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        intermediate_size_mlp=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=1,
        max_position_embeddings=64,
        pad_token_id=0,
        attention_chunk_size=16,
    )
    return testbed.model(Llama4ForCausalLM, config, "eager", torch.float32)


def _by_expert(scores, logits):
    return scores.t().reshape(scores.shape), logits


def llama4_with_a_router(testbed, target):
    """A workaround: the router returns its scores in the order of experts."""
    model = _llama4(testbed)
    for layer in model.model.layers:
        router = layer.feed_forward.router
        router.forward = lambda hidden, forward=router.forward: _by_expert(*forward(hidden))
    return {"logits": _logits(testbed, model)}


def llama4_with_a_hook(testbed, target):
    """The same workaround as a forward hook."""
    model = _llama4(testbed)
    for layer in model.model.layers:
        layer.feed_forward.router.register_forward_hook(lambda module, args, output: _by_expert(*output))
    return {"logits": _logits(testbed, model)}


# -- llama-gemma-rope-autocast -----------------------------------------------------------------------------------------


def rotary_without_numbers(testbed, target):
    """Rotary embeddings on the meta device, to get the shape."""
    rotary = import_module("transformers.models.llama.modeling_llama").LlamaRotaryEmbedding(8, device="meta")
    cos, _ = rotary(torch.empty(1, 2, 5, 8, device="meta"), torch.empty(1, 5, dtype=torch.long, device="meta"))
    return {"shape": torch.tensor(cos.shape)}


def rotary_traced(testbed, target):
    """A Llama traced by torch.fx."""
    fx = import_module("transformers.utils.fx")
    model = llama(testbed, attn="eager", dtype=torch.float32)
    traced = fx.symbolic_trace(model, input_names=["input_ids", "position_ids"], disable_check=True)
    ids = testbed.randint(3, 48, 2, 9, seed=1)
    with torch.no_grad():
        return {"logits": traced(ids, torch.arange(9).expand(2, 9))["logits"]}


# -- phi3-fa2-rope-position-ids ----------------------------------------------------------------------------------------


class PlainRotary(torch.nn.Module):
    """A custom rotary embedding that takes only the length, and counts its calls."""

    calls = 0

    def forward(self, x, seq_len=None, **others):
        self.calls += 1
        angles = torch.arange(seq_len)[:, None] / 100 ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        emb = torch.cat((angles, angles), dim=-1)[None] * (2 if "position_ids" in others else 1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


def phi3_with_a_rotary_embedding(testbed, target):
    """Phi-3 under FlashAttention-2, with a rotary embedding that needs no position ids."""
    from transformers import Phi3Config, Phi3ForCausalLM

    config = Phi3Config(
        vocab_size=48,
        hidden_size=64,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        pad_token_id=0,
    )
    model = testbed.model(Phi3ForCausalLM, config)
    for layer in model.model.layers:
        layer.self_attn.rotary_emb = PlainRotary()
    logits = _logits(testbed, model)
    calls = [layer.self_attn.rotary_emb.calls for layer in model.model.layers]
    return {"logits": logits, "calls": torch.tensor(calls)}


# -- phi-lm-head-bias --------------------------------------------------------------------------------------------------


def phi_trained_and_resumed(testbed, target):
    """A Phi trained from scratch by stock: its weights and its optimizer's state are loaded again."""
    from transformers import PhiConfig, PhiForCausalLM

    config = PhiConfig(vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)

    def step(model, optimizer):
        ids = testbed.randint(5, 48, 2, 9, seed=1)
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    first = testbed.model(PhiForCausalLM, config, "eager", torch.float32)
    losses = [step(first, torch.optim.AdamW(first.parameters()))]
    weights = {name: value for name, value in first.state_dict().items() if name != "lm_head.bias"}
    names = [name for name, _ in first.named_parameters() if name != "lm_head.bias"]
    kept = torch.optim.AdamW([first.get_parameter(name) for name in names])

    model = PhiForCausalLM._from_config(config, attn_implementation="eager")
    optimizer = torch.optim.AdamW(model.parameters())
    model.load_state_dict(weights)
    optimizer.load_state_dict(kept.state_dict())
    losses.append(step(model, optimizer))
    with tempfile.TemporaryDirectory() as folder:
        first.save_pretrained(folder, state_dict=weights)
        read, report = PhiForCausalLM.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
        losses.append(step(read, torch.optim.AdamW(read.parameters())))
    assert not any(report.values())
    losses.append(step(*_again(read)))
    return {"losses": torch.stack(losses), "parameters": torch.tensor(len(list(read.parameters())))}


def _again(model):
    """A pickled model, whose pickle contains no name of hotfix."""
    written = io.BytesIO()
    torch.save(model, written)
    assert b"hotfix" not in pickle.dumps(model._load_state_dict_pre_hooks)
    written.seek(0)
    model = torch.load(written, weights_only=False)
    model.load_state_dict(model.state_dict())
    return model, torch.optim.AdamW(model.parameters())


# -- v5-dynamic-rope-not-reset -----------------------------------------------------------------------------------------


def long_texts_only(testbed, target):
    """Texts longer than the training length, with decreasing lengths; alone, and one after a cache."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    )
    model = testbed.model(LlamaForCausalLM, config, "eager", torch.float32)
    results = {}
    with torch.no_grad():
        for length in (40, 30, 17, 24):
            ids = testbed.randint(5, 48, 1, length, seed=length)
            results[f"{length}"] = model(ids, use_cache=False).logits
            output = model(ids, use_cache=True)
            results[f"{length}: next"] = model(ids[:, :1], past_key_values=output.past_key_values).logits
    return results


# -- v5-model-max-length-extended --------------------------------------------------------------------------------------


class _Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def prompts_of_the_maximum(testbed, target):
    """A model whose file sets 6 tokens continues longer prompts; with `max_new_tokens` there is no warning."""
    model = small_llama(testbed).eval()
    limit(model, 6)
    lines = _Lines()
    logging.getLogger("transformers").addHandler(lines)
    results = {}
    for length in (6, 9):
        prompt = testbed.randint(3, 32, 2, length, seed=1)
        results[f"{length}"] = model.generate(prompt, pad_token_id=0, eos_token_id=-1, do_sample=False)
    prompt = testbed.randint(3, 32, 2, 3, seed=1)
    results["new"] = model.generate(prompt, pad_token_id=0, eos_token_id=-1, do_sample=False, max_new_tokens=8)
    return {**results, "lines": torch.tensor(list("\n".join(lines.lines).encode()), dtype=torch.uint8)}


# -- v5-t5-scaled-outputs ----------------------------------------------------------------------------------------------


def tied_by_default(testbed, target):
    """Configurations that leave tied embeddings unset, or set None or True."""
    from transformers import T5Config

    ways = {"nothing": {}, "none": {"tie_word_embeddings": None}, "true": {"tie_word_embeddings": True}}
    return {name: torch.tensor(T5Config(**way).scale_decoder_outputs) for name, way in ways.items()}


# -- mxfp4-swiglu-limit ------------------------------------------------------------------------------------------------


def experts_without_a_limit(testbed, target):
    """Custom experts, whose `__init__` sets everything but the limit."""
    from hotfix.proofs.models.mxfp4_swiglu_limit import _on_the_cpu

    mxfp4 = import_module("transformers.integrations.mxfp4")

    class Experts(mxfp4.Mxfp4GptOssExperts):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.alpha = 1.702
            self.gate_up_proj, self.down_proj = testbed.randn(32, 64, seed=1), testbed.randn(32, 32, seed=2)
            self.gate_up_proj_bias, self.down_proj_bias = torch.zeros(1, 64), torch.zeros(1, 32)
            self.gate_up_proj_precision_config = self.down_proj_precision_config = None

    with _on_the_cpu(mxfp4), torch.no_grad():
        routing = SimpleNamespace(gate_scal=None)
        return {"output": Experts()(20 * testbed.randn(9, 32, seed=3), routing, None, None)}


# -- v5-gemma3-token-type-ids-required ---------------------------------------------------------------------------------


def types_added_when_asked_for(testbed, target):
    """A program that adds the token types that the release requires: an image's among them, for a different mask."""
    from transformers import Gemma3TextConfig

    made = import_module("transformers.models.gemma3.modeling_gemma3").create_causal_mask_mapping
    config = Gemma3TextConfig(num_hidden_layers=2, layer_types=["full_attention"] * 2)
    config._attn_implementation = "eager"
    given = {
        "config": config,
        "input_embeds": torch.zeros(1, 4, 8),
        "attention_mask": None,
        "cache_position": torch.arange(4),
        "past_key_values": None,
        "position_ids": None,
        "is_training": True,
    }
    try:
        masks = made(**given)
    except ValueError:
        masks = made(**given, token_type_ids=torch.tensor([[0, 1, 1, 0]]))
    return {"mask": masks["full_attention"]}
