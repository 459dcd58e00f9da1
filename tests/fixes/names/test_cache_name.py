"""Code that was written before 5.24.0 renamed ``past_key_values`` computes the same with hotfix as on 5.23.0."""

from __future__ import annotations

from typing import Any

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

STRICT = """
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, set_seed

class Strict(LlamaForCausalLM):
    def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
                use_cache=None, return_dict=None):
        return super().forward(input_ids, attention_mask, position_ids, past_key_values, inputs_embeds,
                               use_cache=use_cache)

set_seed(0)
small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
model = Strict(LlamaConfig(**small)).eval()
ids = torch.tensor([[1, 5, 7, 9], [2, 8, 6, 4]])
said = dict(max_new_tokens=5, pad_token_id=0, eos_token_id=39)
print(model.generate(ids, do_sample=False, **said).tolist())
print(model.generate(ids, do_sample=False, num_beams=3, **said).tolist())
set_seed(1)
print(model.generate(ids, do_sample=True, **said).tolist())
print(model.generate(inputs_embeds=model.get_input_embeddings()(ids), do_sample=False, **said).tolist())
print(model.generate(ids, do_sample=False, past_key_values=DynamicCache(), **said).tolist())
print(model.generate(ids, do_sample=False, cache_implementation="static", disable_compile=True, **said).tolist())
print(model.generate(ids[:1], do_sample=False, assistant_model=LlamaForCausalLM(model.config).eval(), **said).tolist())
"""

OUTPUTS = """
import copy, pickle
from dataclasses import dataclass
from typing import Any
import torch
from torch import nn
from torch.utils import _pytree
from transformers import GenerationMixin, LlamaConfig, LlamaModel, LlamaPreTrainedModel, set_seed
from transformers.utils import ModelOutput

@dataclass
class Output(ModelOutput):
    loss: Any = None
    logits: Any = None
    past_key_values: Any = None
    features: Any = None

@dataclass
class States(ModelOutput):
    cache_params: Any
    logits: Any = None

class Own(LlamaPreTrainedModel, GenerationMixin):
    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, use_cache=None, **kwargs):
        made = self.model(input_ids, attention_mask, past_key_values=past_key_values, use_cache=use_cache)
        return Output(logits=self.head(made[0]), past_key_values=made.past_key_values, features=made[0])

set_seed(0)
small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
model = Own(LlamaConfig(**small)).eval()
ids = torch.tensor([[1, 5, 7, 9], [2, 8, 6, 4]])
for options in ({}, {"num_beams": 2}, {"use_cache": False}):
    print(model.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0, eos_token_id=39, **options).tolist())

x = torch.ones(2)
output = Output(logits=x, past_key_values=(x, x + 1), features=x + 2)
for each in (output, copy.deepcopy(output), pickle.loads(pickle.dumps(output))):
    print(list(each), each.past_key_values, each["past_key_values"], each.get("past_key_values"), each[1:])
leaves, spec = _pytree.tree_flatten(output)
print(len(leaves), list(_pytree.tree_unflatten(leaves, spec)))
print(States(x).cache_params, list(States(cache_params=x)), list(States(cache_params=x, logits=x)))
output.past_key_values = (x,)
print(output.past_key_values, output["past_key_values"])

@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    output = Output(logits=x, past_key_values=(x, x * 2))
    return output.logits + output.past_key_values[1] + output["past_key_values"][0]

print(compiled(x))
"""

CACHES = """
import copy, pickle
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, set_seed
from transformers.cache_utils import StaticCache

class Counting(DynamicCache):
    seen = 0
    def update(self, key_states, value_states, layer_idx, cache_kwargs=None):
        self.seen += key_states.shape[-2]
        return super().update(key_states, value_states, layer_idx, cache_kwargs)

class Longer(Counting):
    def update(self, key_states, value_states, layer_idx):
        return super().update(key_states, value_states, layer_idx)

set_seed(0)
small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(**small)).eval()
ids = torch.tensor([[1, 5, 7, 9]])
for cls in (Counting, Longer):
    cache = cls(config=model.config)
    said = dict(max_new_tokens=5, do_sample=False, pad_token_id=0, eos_token_id=39)
    print(model.generate(ids, past_key_values=cache, **said).tolist(), cache.seen, cache.get_seq_length())
    for each in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        print(type(each).__name__, each.seen, model(ids, past_key_values=each).logits.sum().item(), each.seen)

@torch.compile(backend="eager")
def compiled(ids, cache):
    return model(ids, past_key_values=cache).logits

print(compiled(ids, Counting(config=model.config)).sum().item())
"""


PEFT = """
import torch
from peft import LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, set_seed

small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
ids = torch.tensor([[1, 5, 7, 9], [2, 8, 6, 4]])
for kind, options in (
    (PromptTuningConfig, dict(num_virtual_tokens=3)),
    (PrefixTuningConfig, dict(num_virtual_tokens=3)),
    (LoraConfig, dict(init_lora_weights=False, target_modules=["q_proj"])),
):
    set_seed(0)
    model = get_peft_model(LlamaForCausalLM(LlamaConfig(**small)), kind(task_type="CAUSAL_LM", **options)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(20)
    for ways in (dict(), dict(num_beams=2)):
        said = dict(max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=39, **ways)
        print(model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **said).tolist())
"""


def test_prompt_learning_of_peft_computes_what_5_23_computes(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PEFT, encoding="utf-8")
    here: dict[str, Any] = {"flash_attn": None, "extras": ["peft==0.21.2", "accelerate==1.15.0"]}
    before = run(path, hotfix=False, transformers="5.23.0", **here).require()
    repaired = run(path, hotfix=True, transformers="5.24.0", **here).require()
    assert len(before.stdout.splitlines()) == 6
    assert repaired.stdout == before.stdout
    assert run(path, hotfix=False, transformers="5.24.0", **here).stdout != before.stdout


PREPARED = """
import copy, pickle
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
ids = torch.tensor([[1, 5, 7, 9]])

class Own(LlamaForCausalLM):
    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, **kwargs):
        past = past_key_values
        inputs = super().prepare_inputs_for_generation(input_ids, past_key_values=past, **kwargs)
        print("past_key_values" in inputs, inputs.get("past_key_values") is past, inputs["past_key_values"] is past)
        inputs["past_key_values"] = other = DynamicCache(config=self.config)
        self(**inputs)
        print(other.get_seq_length(), past.get_seq_length(), len(inputs), len({**inputs}), len(copy.copy(inputs)))
        print(inputs.setdefault("past_key_values", 3) is other, type(pickle.loads(pickle.dumps(inputs))).__name__)
        inputs.update(past_key_values=past)
        print(inputs["past_key_values"] is past, inputs.get("past_key_values", 5) is past)

model = Own(LlamaConfig(**small)).eval()
model.prepare_inputs_for_generation(ids, past_key_values=DynamicCache(config=model.config), use_cache=True)
"""


@pytest.mark.parametrize(
    "program", [STRICT, OUTPUTS, CACHES, PREPARED], ids=["forwards", "outputs", "caches", "inputs"]
)
def test_it_computes_what_5_23_computes(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    before = run(path, hotfix=False, transformers="5.23.0", flash_attn=None).require()
    repaired = run(path, hotfix=True, transformers="5.24.0", flash_attn=None).require()
    assert before.stdout
    assert repaired.stdout.splitlines() == before.stdout.splitlines()
    assert run(path, hotfix=False, transformers="5.24.0", flash_attn=None).stdout != before.stdout


REVERTED = """
import types
import hotfix
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer, apply_rotary_pos_emb

def attends(self, hidden_states, position_embeddings, attention_mask, past_key_values=None, **kwargs):
    shape = hidden_states.shape[:-1]
    projections = (self.q_proj, self.k_proj, self.v_proj)
    q, k, v = (each(hidden_states).view(*shape, -1, self.head_dim).transpose(1, 2) for each in projections)
    q, k = apply_rotary_pos_emb(q, k, *position_embeddings)
    if past_key_values is not None:
        k, v = past_key_values.update(k, v, self.layer_idx)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
    return self.o_proj(out.transpose(1, 2).reshape(*shape, -1)), None

def layer(self, hidden_states, attention_mask=None, past_key_values=None, position_embeddings=None, **kwargs):
    own = dict(attention_mask=attention_mask, past_key_values=past_key_values, position_embeddings=position_embeddings)
    hidden_states = hidden_states + self.self_attn(hidden_states=self.input_layernorm(hidden_states), **own)[0]
    return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))

Attention = type("Attention", (LlamaAttention,), {"forward": attends})
Layer = type("Layer", (LlamaDecoderLayer,), {"forward": layer})
small = dict(vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(**small)).eval()
first, second, third = model.model.layers
first.self_attn.__class__ = Attention
second.__class__ = Layer
third.self_attn.forward = types.MethodType(attends, third.self_attn)

def kept():
    outer = vars(Layer)["forward"]  # from 5.24 on a wrapper of the release
    cell = outer.__closure__[outer.__code__.co_freevars.index("forward")].cell_contents
    return Attention.forward, cell, vars(third.self_attn)["forward"].__func__

def say(before):
    print([one is other for one, other in zip(before, kept())])

before = kept()
ids = torch.tensor([[1, 5, 7]])
model.generate(ids, max_new_tokens=1, pad_token_id=0)
model.generate(ids, max_new_tokens=3, pad_token_id=0, use_cache=False)
say(before)
model.generate(ids, max_new_tokens=3, pad_token_id=0)
say(before)
hotfix.revert()
say(before)
"""


def test_the_parts_of_a_model_are_changed_for_a_cache_alone_and_put_back(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(REVERTED, encoding="utf-8")
    env = {"HOTFIX_OPTIN": "own-attention-without-the-cache"}
    result = run(path, hotfix=True, transformers="5.24.0", flash_attn=None, env=env).require()
    assert result.stdout.splitlines() == [str([True] * 3), str([False] * 3), str([True] * 3)]
