"""Programs that run without a name that their release lacks: the result is the same with hotfix."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

WITH_THE_GROUP = {"HOTFIX_OPTIN": "removed-names"}

PEFT_BEFORE_CACHES = """
    import importlib.util
    import transformers
    try:
        from transformers import EncoderDecoderCache
    except ImportError:
        EncoderDecoderCache = None
    print("fallback", EncoderDecoderCache is None)
    import transformers.cache_utils as cache_utils
    for module in (transformers, cache_utils):
        for name in ("EncoderDecoderCache", "HybridCache"):
            print(name, hasattr(module, name), getattr(module, name, 0), name in dir(module), name in vars(module))
    names = {}
    exec("from transformers.cache_utils import *", names)
    print(sorted(name for name in names if "Cache" in name))
    print(importlib.util.find_spec("transformers.modeling_layers"))
    try:
        import transformers.modeling_layers
    except ImportError as error:
        print(type(error).__name__, error)
"""

CHECKPOINTING = """
    import torch
    try:
        from transformers.modeling_layers import GradientCheckpointingLayer
    except ImportError:
        GradientCheckpointingLayer = torch.nn.Module
    print(GradientCheckpointingLayer.__name__)
    try:
        from transformers import modeling_layers
    except (ImportError, AttributeError):
        modeling_layers = None
    print(modeling_layers)
"""

MODEL_INPUTS = """
    import transformers.utils.generic as generic
    try:
        from transformers.utils.generic import check_model_inputs
    except ImportError:
        from transformers.utils.generic import merge_with_config_defaults
        from transformers.utils.output_capturing import capture_outputs
        check_model_inputs = "both"
    print(check_model_inputs, hasattr(generic, "check_model_inputs"))
    import transformers.cache_utils as cache_utils
    import transformers.tokenization_utils_base as base
    print(hasattr(cache_utils, "SlidingWindowCache"), getattr(cache_utils, "SlidingWindowCache", None))
    print(hasattr(base.PreTrainedTokenizerBase, "clean_up_tokenization"))

    class Own(base.PreTrainedTokenizerBase):
        def __getattr__(self, name):
            if name == "clean_up_tokenization":
                return "own"
            raise AttributeError(name)

    print(Own.__new__(Own).clean_up_tokenization)
"""

OWN_ANSWERS = """
    import sys
    import transformers.modeling_utils, transformers.optimization, transformers.utils

    def answering(wanted):
        def answer(name):
            if name == wanted:
                return "mine"
            raise AttributeError(name)
        return answer

    def again():
        for statement in (
            "from transformers.optimization import AdamW as it",
            "from transformers.modeling_utils import apply_chunking_to_forward as it",
            "from transformers.utils import cached_property as it",
        ):
            names = {}
            exec(statement, names)
            print(names["it"])
        print(hasattr(transformers.utils, "nothing_of_the_kind"))

    transformers.optimization.__getattr__ = answering("AdamW")
    transformers.modeling_utils.__getattr__ = answering("apply_chunking_to_forward")

    class Shim(type(transformers.utils)):
        def __getattr__(self, name):
            if name == "cached_property":
                return "mine"
            raise AttributeError(name)

    transformers.utils.__class__ = Shim
    again()
    if "hotfix" in sys.modules:
        sys.modules["hotfix"].revert()
    again()
"""

OLD_ATTENTION = """
    import torch
    try:
        from transformers.models.llama.modeling_llama import LlamaSdpaAttention
    except ImportError:
        from transformers.models.llama.modeling_llama import LlamaAttention as LlamaSdpaAttention
    forward = LlamaSdpaAttention.forward
    LlamaSdpaAttention.forward = forward
    print(LlamaSdpaAttention.__name__)
    try:
        from transformers import HybridCache
    except ImportError:
        from transformers import StaticCache as HybridCache
    print(HybridCache.__name__)
    try:
        from transformers import AdamW
    except ImportError:
        from torch.optim import AdamW
    print(AdamW([torch.nn.Parameter(torch.ones(1))], lr=0.1, foreach=False).defaults["weight_decay"])
    try:
        from transformers import is_tf_available
    except ImportError:
        def is_tf_available():
            return False
    if is_tf_available():
        from transformers import TFPreTrainedModel
    from transformers import PreTrainedConfig

    class Config(PreTrainedConfig):
        model_type = "of-a-test"

    config = Config()
    print(getattr(config, "max_length", 512), hasattr(config, "num_beams"), getattr(config, "pad_token_id", "unset"))
    try:
        length = config.min_length
    except AttributeError as error:
        length = str(error)
    print(length)
"""

WINDOW = """
    import torch
    from transformers import DynamicCache, MistralConfig
    sizes = dict(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, num_key_value_heads=2, vocab_size=9)
    cache = DynamicCache(config=MistralConfig(sliding_window=4, **sizes))
    for _ in range(3):
        cache.update(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), 0)
    print(hasattr(cache, "key_cache"), getattr(cache, "value_cache", None))
"""

OWN_LISTS = """
    import torch
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    sizes = dict(num_hidden_layers=2, hidden_size=8, intermediate_size=8, num_attention_heads=2, vocab_size=9)
    model, ids, cache = LlamaForCausalLM(LlamaConfig(**sizes)).eval(), torch.arange(4).view(1, 4), DynamicCache()
    model(ids, past_key_values=cache)
    cache.key_cache = [torch.zeros(1)]
    cache.value_cache = []
    cache.value_cache.append("mine")
    print(model(ids, past_key_values=cache).logits.sum().item(), cache.key_cache, cache.value_cache)
    try:
        print(cache[0])
    except TypeError as error:
        print(error)
    print(hasattr(cache, "seen_tokens"), getattr(cache, "get_usable_length", None))
    print(hasattr(DynamicCache, "from_legacy_cache"))
    print(hasattr(model, "get_head_mask"), [name for name, _ in model.named_modules()][:3])
"""

MIXED_IN = """
    import inspect, pickle, copy
    import torch
    from transformers import DynamicCache, LlamaConfig, PreTrainedModel
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    class Masks:
        def get_head_mask(self, head_mask, num_hidden_layers, is_attention_chunked=False):
            return "mixed in"

    class Remote(PreTrainedModel, Masks):
        config_class = LlamaConfig

    model = Remote(LlamaConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, vocab_size=9))
    print(model.get_head_mask(None, 1), hasattr(Remote, "get_head_mask"))
    print("default" in ROPE_INIT_FUNCTIONS, ROPE_INIT_FUNCTIONS.get("default"), sorted(ROPE_INIT_FUNCTIONS))
    if "default" not in ROPE_INIT_FUNCTIONS:
        ROPE_INIT_FUNCTIONS["default"] = lambda *args, **kwargs: "mine"
    print(ROPE_INIT_FUNCTIONS["default"](), len(copy.deepcopy(ROPE_INIT_FUNCTIONS)))
    cache = pickle.loads(pickle.dumps(DynamicCache()))
    print(len(cache), sorted(vars(cache)), [name for name, _ in inspect.getmembers(DynamicCache, inspect.isfunction)])

    class Own(DynamicCache):
        seen_tokens = 7

        def get_usable_length(self, length, layer=0):
            above = getattr(super(), "get_usable_length", None)
            return "own" if above is None else above(length, layer)

    print(Own().seen_tokens, Own().get_usable_length(1))
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    print(hasattr(tokenizer, "encode_plus"), getattr(tokenizer, "batch_encode_plus", None))
    print(hasattr(tokenizer, "all_special_tokens_extended"), hasattr(tokenizer, "clean_up_tokenization"))
    try:
        tokenizer.encode_plus("a")
    except AttributeError as error:
        print(error)
"""

PROGRAMS = [
    ("4.36.2", PEFT_BEFORE_CACHES, {}),
    ("4.49.0", CHECKPOINTING, {}),
    ("5.2.0", MODEL_INPUTS, {}),
    ("5.3.0", OWN_ANSWERS, {}),
    ("5.3.0", OLD_ATTENTION, {**WITH_THE_GROUP, "FORCE_TF_AVAILABLE": "1"}),
    ("5.23.0", OLD_ATTENTION, {**WITH_THE_GROUP, "FORCE_TF_AVAILABLE": "1"}),
    ("4.57.6", WINDOW, WITH_THE_GROUP),
    ("5.3.0", OLD_ATTENTION, {"FORCE_TF_AVAILABLE": "1"}),
    ("5.23.0", OLD_ATTENTION, {"FORCE_TF_AVAILABLE": "1"}),
    ("4.57.6", WINDOW, {}),
    ("4.57.6", OWN_LISTS, {}),
    ("5.23.0", OWN_LISTS, {}),
    ("5.0.0", MIXED_IN, {}),
    ("5.23.0", MIXED_IN, {}),
]


@pytest.mark.parametrize(
    ("release", "text", "switches"), PROGRAMS, ids=[f"{row[0]}-{n}" for n, row in enumerate(PROGRAMS)]
)
def test_the_result_is_that_of_the_release(release, text, switches, tmp_path):
    """Numbers 18, 19, 21 to 26, 28 and 58."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    stock, armed = (
        run(program, transformers=release, flash_attn=None, hotfix=hotfix, env=switches).require()
        for hotfix in (False, True)
    )
    assert stock.stdout.strip()
    assert armed.stdout == stock.stdout


LISTS = """
    import torch
    from transformers import DynamicCache

    class Own(DynamicCache):
        def __init__(self):
            super().__init__()
            self.key_cache = []

    cache = DynamicCache()
    for layer in range(2):
        cache.update(torch.ones(1, 1, 4, 2), torch.ones(1, 1, 4, 2), layer)
    cache.key_cache = [tensor[:, :, -2:] * 3 for tensor in cache.key_cache]
    cache.value_cache = [tensor[:, :, -2:] * 5 for tensor in cache.value_cache]
    print([layer.keys.shape[-2] for layer in cache.layers], cache.layers[1].values.sum().item(), cache.get_seq_length())
    try:
        cache.key_cache = []
    except AttributeError as error:
        print("refused")
    own = Own()
    own.key_cache.append(1)
    print(own.key_cache)
"""

BROKEN_FLASH = """
    import os, sys, tempfile
    folder = tempfile.mkdtemp()
    os.makedirs(folder + "/flash_attn")
    open(folder + "/flash_attn/__init__.py", "w").write("raise ImportError('undefined symbol')")
    os.makedirs(folder + "/flash_attn-2.7.4.dist-info")
    open(folder + "/flash_attn-2.7.4.dist-info/METADATA", "w").write("Name: flash-attn\\nVersion: 2.7.4\\n")
    sys.path.insert(0, folder)
    import importlib
    importlib.invalidate_caches()
    import transformers.modeling_flash_attention_utils as utils
    print(hasattr(utils, "unpad_input"))
"""


@pytest.mark.parametrize("switches", [{}, WITH_THE_GROUP], ids=["default", "group"])
def test_lists_that_are_assigned_to_a_cache_reach_its_layers(tmp_path, switches):
    """Number 21."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(LISTS))
    done = run(program, transformers="4.57.6", flash_attn=None, env=switches).require()
    assert done.stdout.splitlines()[-3:] == ["[2, 2] 20.0 2", "refused", "[1]"]


@pytest.mark.parametrize("switches", [{}, WITH_THE_GROUP], ids=["default", "group"])
def test_a_broken_flash_attn_is_no_failure_of_hotfix(tmp_path, switches):
    """Number 27."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(BROKEN_FLASH))
    done = run(program, transformers="5.3.0", flash_attn=None, env=switches).require()
    assert "False" in done.stdout.splitlines()
    assert "itself failed" not in done.stderr


GIVEN = """
    import pickle
    from transformers.utils.generic import check_model_inputs, ModelOutput
    from transformers.cache_utils import SlidingWindowCache, StaticCache
    print(SlidingWindowCache is StaticCache, pickle.loads(pickle.dumps(check_model_inputs)) is check_model_inputs)
    import torch
    from transformers import LlamaConfig, PreTrainedModel
    from transformers.modeling_outputs import BaseModelOutput

    class Layer(torch.nn.Module):
        def forward(self, x):
            return x + 1

    class Remote(PreTrainedModel):
        config_class = LlamaConfig
        _can_record_outputs = {"hidden_states": Layer}

        def __init__(self, config):
            super().__init__(config)
            self.layers = torch.nn.ModuleList([Layer(), Layer()])
            self.post_init()

        @check_model_inputs()
        def forward(self, x, **kwargs):
            for layer in self.layers:
                x = layer(x)
            return BaseModelOutput(last_hidden_state=x)

    sizes = dict(num_hidden_layers=2, hidden_size=8, num_attention_heads=2, num_key_value_heads=2, vocab_size=9)
    model = Remote(LlamaConfig(**sizes))
    print(len(model(torch.zeros(1, 2), output_hidden_states=True).hidden_states))
"""


def test_a_program_that_would_end_gets_the_old_meaning(tmp_path):
    """Number 18: with brackets, and with the hidden states that 5.1.0 collects."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(GIVEN))
    done = run(program, transformers="5.3.0", flash_attn=None).require()
    before = run(program, transformers="5.3.0", flash_attn=None, hotfix=False)
    assert before.returncode != 0
    said = done.stdout.splitlines()
    assert said[-2] == "True True"
    assert int(said[-1]) > 1


OLD_CODE = """
    import pickle
    import torch
    from transformers import AdamW, AutoModelForVision2Seq, DynamicCache, HybridCache, is_tf_available
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.modeling_utils import apply_chunking_to_forward, find_pruneable_heads_and_indices
    from transformers.models.llama.modeling_llama import LlamaFlashAttention2
    from transformers.models.qwen2.tokenization_qwen2_fast import Qwen2TokenizerFast
    from transformers.tokenization_utils import PreTrainedTokenizerBase
    from transformers.utils import LossKwargs, is_torch_fx_available
    import transformers.deepspeed
    from transformers import LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast, Trainer, TrainingArguments
    from tokenizers import Tokenizer, models

    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = AdamW([weight], lr=0.1)
    weight.grad = torch.ones(1)
    optimizer.step()
    print(weight.item(), optimizer.defaults["eps"], pickle.loads(pickle.dumps(AdamW)) is AdamW)
    print(is_tf_available(), is_torch_fx_available(), issubclass(LossKwargs, dict))
    states = torch.ones(1, 2, 3, 4)
    cache = DynamicCache.from_legacy_cache(((states, states),))
    print(isinstance(cache, HybridCache), cache[0][0].shape, cache.seen_tokens, cache.get_usable_length(2))
    print(cache.get_max_length(), len(cache.to_legacy_cache()), len(cache.key_cache))
    config = LlamaConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, vocab_size=9)
    print(ROPE_INIT_FUNCTIONS["default"](config, "cpu")[1])

    class Old(PreTrainedModel):
        config_class = LlamaConfig
        _tied_weights_keys = ["head.weight"]

        def __init__(self, config):
            super().__init__(config)
            self.table, self.head = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9, bias=False)
            self.post_init()

        def get_input_embeddings(self):
            return self.table

        def get_output_embeddings(self):
            return self.head

        def tie_weights(self):
            self._tie_or_clone_weights(self.head, self.table)

        def forward(self, ids, past):
            x = self.table(ids) + past.get_usable_length(1) + past.seen_tokens
            return self.head(x) if self.get_head_mask(None, 1) == [None] else None

    model = Old(LlamaConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, vocab_size=9))
    print(model.head.weight is model.table.weight)
    ids = torch.tensor([[1, 2]])
    expected = model(ids, cache)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    print("compiled", torch.equal(compiled(ids, cache), expected), hasattr(cache, "seen_tokens"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    print(tokenizer.encode_plus("a")["input_ids"])

    class OldTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False):
            return model.weight.sum() * 0 + 1.0

        def log(self, logs):
            print(sorted(logs))

    steps = dict(max_steps=1, logging_steps=1, report_to=[], remove_unused_columns=False, save_strategy="no")
    args = TrainingArguments("x", evaluation_strategy="no", no_cuda=True, **steps)
    data = dict(train_dataset=[{}] * 2, data_collator=lambda rows: {"x": torch.ones(2, 1)})
    trainer = OldTrainer(torch.nn.Linear(1, 1), args, **data, tokenizer=tokenizer)
    print(trainer.train().global_step, trainer.tokenizer is tokenizer)
"""


def test_old_code_without_handlers_ends_without_hotfix_and_runs_with_it(tmp_path):
    program = tmp_path / "old_code.py"
    program.write_text(textwrap.dedent(OLD_CODE))
    where = {"transformers": "5.23.0", "flash_attn": None, "extras": ("accelerate==1.15.0",)}
    before = run(program, hotfix=False, env={"PYTHONWARNINGS": "ignore"}, **where)
    assert "cannot import name 'AdamW'" in before.stderr
    done = run(program, env={"PYTHONWARNINGS": "ignore"}, **where).require()
    said = [line for line in done.stdout.splitlines() if line[:1] != "{"]
    assert said[:3] == [said[0], "False True True", "False torch.Size([1, 2, 3, 4]) 3 3"]
    assert "compiled True False" in said
    assert said[-1] == "1 True"
    (line,) = [line_ for line_ in done.stderr.splitlines() if line_.startswith("hotfix: ") and "restored" in line_]
    assert "AdamW for old_code.py:4" in line
