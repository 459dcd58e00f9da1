"""The proof: attentions and layers of one's own in Llama, as they were written to 4.55 and to 5.23, generate."""

from types import MethodType
from typing import Any, Callable

import torch
from packaging.version import Version

from hotfix.names.own_attention_without_the_cache import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "4.55.4"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens by greedy and by beam search, the first row padded on the left, and those of the library's layers."""
    prompt = testbed.randint(3, 32, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    results = {}
    for way in WAYS:
        for name in ("past_key_value", "past_key_values"):
            model = model_of(testbed, way, name)
            for beams in (1, 2):
                results[f"{way}, {name}: {beams}"] = model.generate(
                    prompt,
                    attention_mask=mask,
                    max_new_tokens=6,
                    num_beams=beams,
                    do_sample=False,
                    pad_token_id=0,
                    eos_token_id=-1,
                )
    return results


WAYS = ("library", "class", "strict", "instance", "layer")


def model_of(testbed: Testbed, way: str, name: str) -> Any:
    """A tiny Llama.

    Args:
        testbed: the testbed.
        way: ``library`` as it is; with attentions of a ``class`` of one's own, with ``strict`` ones without
            ``**kwargs``, with a ``forward`` in each ``instance``; or with a decoder ``layer`` of one's own.
        name: by which the code knows the cache. The newest one of a release is not tried.
    """
    from transformers import __version__
    from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer

    names = ["past_key_value", "past_key_values", "cache"]
    newest = names[(Version(__version__) >= Version("4.56")) + (Version(__version__) >= Version("5.24"))]
    if names.index(name) >= names.index(newest):
        name = "past_key_value"
    model = small_llama(testbed).eval()
    attention = type("Attention", (LlamaAttention,), {"forward": attention_of(name)})
    for layer in model.model.layers:
        if way == "class":
            layer.self_attn.__class__ = attention
        elif way == "strict":
            strict = ", position_ids=None, use_cache=None, output_attentions=None"
            layer.self_attn.__class__ = type("Strict", (LlamaAttention,), {"forward": attention_of(name, strict)})
        elif way == "instance":
            layer.self_attn.forward = MethodType(attention_of(name), layer.self_attn)
        elif way == "layer":
            layer.__class__ = type("Layer", (LlamaDecoderLayer,), {"forward": layer_of(name)})
    return model


def attention_of(name: str, others: str = ", **kwargs") -> Callable[..., Any]:
    """The ``forward`` of an attention.

    Args:
        name: its name of the cache.
        others: its further arguments.
    """
    return _made(f"""
        def forward(self, hidden_states, position_embeddings, attention_mask, {name}=None, cache_position=None{others}):
            shape = hidden_states.shape[:-1]
            projections = (self.q_proj, self.k_proj, self.v_proj)
            query, key, value = (each(hidden_states).view(*shape, -1, self.head_dim).transpose(1, 2)
                                 for each in projections)
            query, key = apply_rotary_pos_emb(query, key, *position_embeddings)
            if {name} is not None:
                key, value = {name}.update(key, value, self.layer_idx, {{"cache_position": cache_position}})
            key, value = (repeat_kv(each, self.num_key_value_groups) for each in (key, value))
            output = scaled_dot_product_attention(query, key, value, attention_mask, scale=self.scaling,
                                                  is_causal=attention_mask is None and query.shape[2] > 1)
            output = output.transpose(1, 2)
            return self.o_proj(output.reshape(*shape, -1)), None
        """)


def layer_of(name: str) -> Callable[..., Any]:
    """The ``forward`` of a decoder layer.

    Args:
        name: its name of the cache.
    """
    return _made(f"""
        def forward(self, hidden_states, attention_mask=None, position_ids=None, {name}=None, use_cache=False,
                    position_embeddings=None, **kwargs):
            attended, _ = self.self_attn(hidden_states=self.input_layernorm(hidden_states), {name}={name},
                                         attention_mask=attention_mask, position_ids=position_ids,
                                         position_embeddings=position_embeddings, use_cache=use_cache)
            hidden_states = hidden_states + attended
            return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))
        """)


def _made(source: str) -> Callable[..., Any]:
    from textwrap import dedent

    from transformers.models.llama import modeling_llama

    scope: dict[str, Any] = {
        "__name__": __name__,
        "apply_rotary_pos_emb": modeling_llama.apply_rotary_pos_emb,
        "repeat_kv": modeling_llama.repeat_kv,
        "scaled_dot_product_attention": torch.nn.functional.scaled_dot_product_attention,
    }
    exec(dedent(source), scope)
    forward: Callable[..., Any] = scope["forward"]
    return forward
