"""Programs with classes, handlers and loops of their own around restored names: the result is the same with hotfix."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

SIZES = """
    import torch
    from transformers import LlamaConfig
    sizes = dict(
        num_hidden_layers=1, hidden_size=8, intermediate_size=8, num_attention_heads=2, num_key_value_heads=2,
        vocab_size=9,
    )
"""

CONFIGURATIONS = """
    import copy, pickle
    from transformers import PreTrainedConfig

    class Special(AttributeError):
        pass

    class Own(PreTrainedConfig):
        model_type = "own"
        attribute_map = {"deep": "depth"}

        def __init__(self, hidden_size=8, **kwargs):
            self.hidden_size = hidden_size
            super().__init__(**kwargs)

        @property
        def depth(self):
            return self.number_of_layers * 2

        @property
        def special(self):
            raise Special("mine")

        def __getattribute__(self, name):
            if name == "hidden":
                raise AttributeError("not shown")
            return super().__getattribute__(name)

    plain, given = Own(), Own(max_length=30, num_beams=4)
    print(plain == given, given == plain, given == Own(max_length=31), given != Own(hidden_size=9), given == 3)
    print(sorted(set(given) - set(plain)), given.to_dict() == plain.to_dict(), copy.deepcopy(given) == given)
    print(pickle.loads(pickle.dumps(given)) == given)
    for name in ("depth", "deep", "hidden", "nothing", "max_length"):
        try:
            print(getattr(given, name))
        except AttributeError as error:
            print(name, type(error).__name__, error)
    try:
        given.special
    except Special as error:
        print("special", error)
"""

INDEXED = """
    import operator
    from transformers import DynamicCache

    cache = DynamicCache()

    def named(read):
        try:
            return read()
        except AttributeError as error:
            return "attribute", type(error) is AttributeError, str(error)
        except TypeError as error:
            return "type", type(error) is TypeError, str(error)

    print(named(lambda: cache[0]), named(lambda: cache[0:1]), named(lambda: cache.__getitem__(0)))
    try:
        operator.getitem(cache, 0)
    except Exception as error:
        print(type(error).__name__, error)
"""

ALL_NAMES = (
    SIZES
    + """
    import inspect
    from unittest import mock
    from tokenizers import Tokenizer, models
    from transformers import DynamicCache, LlamaForCausalLM, MistralConfig, PreTrainedTokenizerFast, StaticCache

    window = DynamicCache(config=MistralConfig(sliding_window=4, **sizes))
    for _ in range(3):
        window.update(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), 0)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    model = LlamaForCausalLM(LlamaConfig(**sizes))

    def every(thing):
        try:
            return all(getattr(thing, name) is not thing for name in dir(thing) if name != "__abstractmethods__")
        except Exception as error:
            return str(error)

    for thing in (window, StaticCache(config=LlamaConfig(**sizes), max_cache_len=4), tokenizer):
        print(len(dir(thing)), [name for name, _ in inspect.getmembers(thing) if name == "seen_tokens"])
    for thing in (window, tokenizer, model, DynamicCache, PreTrainedTokenizerFast, LlamaForCausalLM):
        print(every(thing))
    print(hasattr(mock.Mock(spec=tokenizer), "encode_plus"), hasattr(mock.Mock(spec=window), "seen_tokens"))

    class Own(DynamicCache):
        def __init__(self):
            super().__init__()
            self.seen_tokens = 3

        def __dir__(self):
            return [*super().__dir__(), "more"]

    print([name for name in dir(Own()) if name in ("seen_tokens", "more", "key_cache")])
"""
)

ADAPTED = (
    SIZES
    + """
    import functools, tempfile
    from tokenizers import Tokenizer, models
    from transformers import LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast
    from safetensors.torch import save_file

    calls = []

    def taking_all(function):
        @functools.wraps(function)
        def called(self, *args, **kwargs):
            calls.append((function.__name__, sorted(kwargs)))
            return function(self)
        return called

    class Wrapped(LlamaForCausalLM):
        @taking_all
        def tie_weights(self):
            return super().tie_weights()

        @taking_all
        def _check_and_adjust_attn_implementation(self):
            return "eager"

    model = Wrapped(LlamaConfig(tie_word_embeddings=True, **sizes))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        _, found = Wrapped.from_pretrained(folder, output_loading_info=True)
    print(calls, sorted(found["missing_keys"]))

    class Old(LlamaForCausalLM):
        def tie_weights(self):
            pass

    class OldAttention(LlamaForCausalLM):
        def _check_and_adjust_attn_implementation(self, implementation, is_init_check=False):
            return "eager"

    class NoPostInit(PreTrainedModel):
        config_class = LlamaConfig

        def __init__(self, config):
            super().__init__(config)
            self.table = torch.nn.Embedding(9, 8)

    class OldPad(PreTrainedTokenizerFast):
        def _pad(
            self, encoded, max_length=None, padding_strategy=None, pad_to_multiple_of=None, return_attention_mask=None
        ):
            return dict(encoded)

    def prepared(act):
        try:
            act()
        except (AttributeError, TypeError) as error:
            return "prepared", str(error)
        return "went on"

    print(prepared(lambda: Old(LlamaConfig(**sizes))), prepared(lambda: OldAttention(LlamaConfig(**sizes))))
    tokenizer = OldPad(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), pad_token="a")
    print(prepared(lambda: tokenizer.pad({"input_ids": [0]})))
    with tempfile.TemporaryDirectory() as folder:
        model = NoPostInit(LlamaConfig(**sizes))
        model.config.save_pretrained(folder)
        save_file(model.state_dict(), f"{folder}/model.safetensors", metadata={"format": "pt"})
        print(prepared(lambda: NoPostInit.from_pretrained(folder)))
"""
)

WITHOUT_POSITIONS = (
    SIZES
    + """
    import functools
    from transformers import LlamaForCausalLM

    class Old(LlamaForCausalLM):
        def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None,
                    inputs_embeds=None, use_cache=None, return_dict=None, output_attentions=None,
                    output_hidden_states=None):
            return super().forward(input_ids, attention_mask=attention_mask, position_ids=position_ids,
                                   past_key_values=past_key_values, use_cache=use_cache, return_dict=True)

    own = Old.forward

    class Taken(Old):
        @functools.wraps(own)
        def forward(self, *args, **kwargs):
            taken.append(kwargs.pop("cache_position").shape)
            return own(self, *args, **kwargs)

    taken = []
    torch.manual_seed(0)
    model, ids = Old(LlamaConfig(**sizes)).eval(), torch.tensor([[1, 2, 3]])

    def generated(model):
        try:
            return model.generate(ids, max_new_tokens=2, do_sample=False).tolist()
        except TypeError as error:
            return "by hand", str(error)

    print(generated(model))
    print(generated(Taken(LlamaConfig(**sizes)).eval())[0][:3], taken)
"""
)

OWN_ERRORS = """
    import transformers.modeling_utils as modeling, transformers.pipelines as pipelines

    class Own(AttributeError):
        pass

    def answer(name):
        if name == "given":
            return 3
        raise Own(f"mine: {name}")

    modeling.__getattr__ = answer
    print(modeling.given, hasattr(modeling, "nothing"))
    for module in (modeling, pipelines):
        for name in ("nothing", "shard_checkpoint", "SummarizationPipeline"):
            try:
                print(getattr(module, name))
            except AttributeError as error:
                print(type(error).__name__, error)
"""

PROGRAMS = {
    "configurations": (CONFIGURATIONS, ("5.0.0", "5.23.0")),
    "indexed": (INDEXED, ("5.0.0", "5.23.0")),
    "all-names": (ALL_NAMES, ("5.0.0", "5.23.0")),
    "adapted": (ADAPTED, ("5.0.0", "5.23.0")),
    "own-errors": (OWN_ERRORS, ("5.0.0", "5.23.0")),
    "without-positions": (WITHOUT_POSITIONS, ("4.49.0", "4.57.6")),
}


@pytest.mark.parametrize(
    ("name", "release"), [(name, release) for name, (_, releases) in PROGRAMS.items() for release in releases]
)
def test_the_result_is_that_of_the_release(name, release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAMS[name][0]))
    stock, armed = (
        run(program, transformers=release, flash_attn=None, hotfix=hotfix).require() for hotfix in (False, True)
    )
    assert stock.stdout.strip()
    assert armed.stdout == stock.stdout


RECEIVED = """
    import hotfix.auto, sys, typing
    import transformers, transformers.utils.generic as generic
    assert "torch" not in sys.modules or generic.__dict__.get("torch"), "a name that nobody has asked for imports torch"
    from transformers import CLIPFeatureExtractor
    from transformers.models.segformer.feature_extraction_segformer import SegformerFeatureExtractor
    from transformers.utils import LossKwargs

    assert isinstance(CLIPFeatureExtractor, type) and CLIPFeatureExtractor.__name__ == "CLIPFeatureExtractor"
    assert transformers.SegformerFeatureExtractor is SegformerFeatureExtractor
    import torch
    assert typing.get_type_hints(LossKwargs) == {"num_items_in_batch": typing.Optional[torch.Tensor]}
    print("all")
"""


@pytest.mark.parametrize("release", ["5.0.0", "5.23.0"])
def test_names_of_removed_modules_and_their_annotations_are_there(release, tmp_path):
    """The first program that imported a class from a module created on access got None."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(RECEIVED))
    assert run(program, transformers=release, flash_attn=None, hotfix=False).require().stdout == "all\n"
