"""Names of classes, methods, modules and entries of tables, on releases that lack them and on one that has them.

That they mean what they meant is what the cases prove; here: how they are found, what they refuse, and that they go.
"""

from __future__ import annotations

import json

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FOUND = """
import hotfix.auto, pickle, sys
import transformers
assert "AutoModelForVision2Seq" in dir(transformers)
assert not {"HybridCache", "AdamW", "BeamSearchScorer"} & set(dir(transformers))  # for code that would crash alone
assert "transformers.optimization" not in sys.modules  # nothing was imported for it
from transformers import AdamW, AutoModelForVision2Seq, BeamSearchScorer, HybridCache
from transformers.cache_utils import SlidingWindowCache
import transformers.generation.beam_search as module
assert module.BeamSearchScorer is BeamSearchScorer is transformers.generation.BeamSearchScorer
assert sys.modules["transformers.models.auto"].AutoModelForVision2Seq is AutoModelForVision2Seq
for one in (AdamW, AutoModelForVision2Seq, BeamSearchScorer, HybridCache):
    assert pickle.loads(pickle.dumps(one)) is one
    assert getattr(sys.modules[one.__module__], one.__name__) is one
assert SlidingWindowCache is transformers.StaticCache
"""

REFUSED = """
import torch
from transformers import BertConfig, BertModel, PhrasalConstraint, PretrainedConfig, PreTrainedTokenizerFast, SinkCache
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaFlashAttention2
from tokenizers import Tokenizer, models

def refuses(words, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except (NotImplementedError, AttributeError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{function} did not refuse")

class Heir(HybridCache):
    pass

for cls in (HybridCache, Heir):
    refuses("StaticCache(config=config", cls, config=None, max_cache_len=3)
refuses("custom_generate", SinkCache)
refuses("position_embeddings", LlamaFlashAttention2, transformers.LlamaConfig(), 0)
refuses("LlamaFlashAttention2.forward cannot be set", setattr, LlamaFlashAttention2, "forward", print)
refuses("4.57.6", BeamSearchScorer, batch_size=1, num_beams=2, device="cpu")
refuses("custom_generate", PhrasalConstraint, [1])
bert = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
assert bert.get_head_mask(None, 1) == [None]
refuses("no layer would use it", bert.get_head_mask, torch.ones(2), 1)
refuses("rope_theta", ROPE_INIT_FUNCTIONS["default"], PretrainedConfig())
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
assert tokenizer.encode_plus("a")["input_ids"] == [0]
refuses("convert_tokens_to_ids", tokenizer.encode_plus, ["a", "a"])
refuses("list of pairs", tokenizer.batch_encode_plus, "a")
refuses("list of pairs", tokenizer.batch_encode_plus, ["a", ("a", "a")])
"""

GONE = """
hotfix.revert()
for name in ("AdamW", "HybridCache", "BeamSearchScorer"):
    assert name not in dir(transformers), name
    try:
        exec(f"from transformers import {name}")
    except ImportError:
        continue
    raise AssertionError(name)
assert "transformers.generation.beam_search" not in sys.modules
assert "default" not in ROPE_INIT_FUNCTIONS
assert not hasattr(bert, "get_head_mask")
assert not hasattr(tokenizer, "encode_plus")
print("gone")
"""

WHERE_THEY_ARE = """
import hotfix.auto, json
import transformers, transformers.cache_utils, transformers.generation.utils, transformers.modeling_rope_utils
import transformers.models.auto.modeling_auto, transformers.processing_utils, transformers.tokenization_utils_base
print(json.dumps(sorted({one.fix for one in hotfix.report().outcomes if one.state.value == "applied"})))
"""


def test_they_are_found_refuse_impossible_requests_and_are_reverted() -> None:
    everything = {"HOTFIX_OPTIN": "removed-names"}
    result = run_script("-c", [FOUND + REFUSED + GONE], transformers="5.23.0", flash_attn=None, env=everything)
    assert result.require().stdout == "gone\n"


def test_a_release_that_has_them_keeps_its_own() -> None:
    names = (
        "hybrid-cache-removed",
        "v5-rope-init-default-removed",
        "v5-get-head-mask-removed",
        "tokenizer-encode-plus-removed",
        "v5-all-special-tokens-extended-removed",
        "processor-optional-attributes-removed",
        "automodelforvision2seq-removed",
        "sliding-window-cache-removed",
    )
    only = {"HOTFIX_OPTIN": ",".join(names), "HOTFIX_ONLY": ",".join(names)}
    result = run_script("-c", [WHERE_THEY_ARE], transformers="4.57.6", flash_attn=None, env=only)
    assert json.loads(result.require().stdout) == []


def test_a_release_that_is_older_than_a_name_does_not_get_it() -> None:
    program = "import hotfix.auto, transformers\nassert 'HybridCache' not in dir(transformers)\n" + WHERE_THEY_ARE
    only = {"HOTFIX_OPTIN": "hybrid-cache-removed", "HOTFIX_ONLY": "hybrid-cache-removed"}
    program = program.replace("transformers.modeling_rope_utils", "transformers")
    result = run_script("-c", [program], transformers="4.40.2", flash_attn=None, env=only)
    assert json.loads(result.require().stdout.splitlines()[-1]) == []


TOWERS = """
import hotfix.auto, copy, pickle, torch
import hotfix
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPVisionModel

small = CLIPTextConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, vocab_size=9)
tower = CLIPTextModel(small).eval()
names = list(tower.state_dict())
assert tower.text_model is tower and tower.text_model.final_layer_norm is tower.final_layer_norm
assert not [name for name in names if name.startswith("text_model.")]
assert dict(tower.named_children()).keys() == {"embeddings", "encoder", "final_layer_norm"}
# Who asks knows both layouts, and goes by the answer.
assert not hasattr(tower, "text_model") and getattr(tower, "text_model", None) is None
assert tower.base_model is tower and tower.get_decoder() is tower
try:
    tower.vision_model
except AttributeError as error:
    assert str(error) == "'CLIPTextModel' object has no attribute 'vision_model'", error
# Weights go by their names to a tower without any.
with torch.device("meta"):
    empty = CLIPTextModel(small)
try:
    empty.text_model
except AttributeError as error:
    assert str(error) == "'CLIPTextModel' object has no attribute 'text_model'", error
else:
    raise AssertionError("it was there")
# Accelerate finds it in any tower, by a `getattr` without which it ends.
from accelerate.utils import set_module_tensor_to_device
place = "text_model.embeddings.token_embedding.weight"
for model in (empty, CLIPTextModel(small)):
    value = torch.ones_like(tower.embeddings.token_embedding.weight)
    set_module_tensor_to_device(model, place, "cpu", value=value)
    assert torch.equal(model.embeddings.token_embedding.weight, value)
# The old names of weights, alone and in a model of one's own; what is wrong stays an error.
old = {f"text_model.{name}": value + 1 for name, value in tower.state_dict().items()}
for model, prefix in ((CLIPTextModel(small), ""), (torch.nn.ModuleDict({"clip": CLIPTextModel(small)}), "clip.")):
    before = {prefix + name: value for name, value in old.items()}
    model.load_state_dict(before)
    assert len(before) == len(old) and all(name.startswith(prefix + "text_model.") for name in before)
    loaded = model.state_dict()
    assert all(torch.equal(loaded[prefix + name], value + 1) for name, value in tower.state_dict().items())
    try:
        model.load_state_dict({**before, prefix + "text_model.other": torch.ones(1)})
    except RuntimeError as error:
        assert "other" in str(error)
    else:
        raise AssertionError("it was taken")
projected = CLIPTextModelWithProjection(small)
assert projected.text_model.text_model is projected.text_model and hasattr(projected, "text_model")
assert list(projected.state_dict())[0].count("text_model.") == 1
for other in (copy.deepcopy(tower), pickle.loads(pickle.dumps(tower))):
    assert other.text_model is other and b"hotfix" not in pickle.dumps(other)

class Own(CLIPTextModel):
    def __init__(self, config):
        super().__init__(config)
        self.text_model = torch.nn.Linear(2, 2)

own = Own(small)
assert isinstance(own.text_model, torch.nn.Linear) and hasattr(own, "text_model")
hotfix.revert()
assert "text_model" not in vars(CLIPTextModel) and "_load_from_state_dict" not in vars(CLIPTextModel)
assert isinstance(own.text_model, torch.nn.Linear)
try:
    tower.text_model
except AttributeError:
    print("gone")
"""


@pytest.mark.parametrize("release", ["5.6.0", "5.23.0"])
def test_a_tower_reads_as_its_inner_model_and_misleads_no_lookup(release: str) -> None:
    only = {"HOTFIX_OPTIN": "clip-tower-attributes-removed", "HOTFIX_ONLY": "clip-tower-attributes-removed"}
    result = run_script("-c", [TOWERS], transformers=release, flash_attn=None, extras=["accelerate==1.15.0"], env=only)
    assert result.require().stdout == "gone\n"
