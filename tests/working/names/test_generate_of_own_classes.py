"""Classes that do not inherit ``generate``: programs that work without it do not notice hotfix, others get it."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

RELEASES = ["4.52.4", "4.57.6", "5.0.0", "5.23.0"]

MODEL = """
    import copy, inspect, io, os, pickle, sys, tempfile, warnings
    import torch
    import transformers
    from transformers import GenerationMixin, LlamaConfig, LlamaForCausalLM, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    torch.manual_seed(0)
    config = LlamaConfig(
        num_hidden_layers=1, hidden_size=16, intermediate_size=16, num_attention_heads=2, num_key_value_heads=2,
        vocab_size=32, use_cache=False, eos_token_id=None,
    )

    class Base(PreTrainedModel):
        config_class = LlamaConfig

        def _init_weights(self, module):
            pass

    class Own(Base):
        def __init__(self, config):
            super().__init__(config)
            self.inner = LlamaForCausalLM(config)
            self.post_init()

        def forward(self, input_ids, attention_mask=None, **kwargs):
            return CausalLMOutputWithPast(logits=self.inner(input_ids, attention_mask, use_cache=False).logits)

        def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
            return {"input_ids": input_ids, "attention_mask": attention_mask}

    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    options = dict(max_new_tokens=4, do_sample=False, use_cache=False, pad_token_id=0)

    def greedy(model):
        tokens = ids
        for _ in range(4):
            tokens = torch.cat([tokens, model(tokens).logits[:, -1:].argmax(-1)], 1)
        return tokens
"""

FALLBACKS = (
    MODEL
    + """
    model = Own(config).eval()
    for owner in (Own, model, PreTrainedModel):
        print(hasattr(owner, "generate"), getattr(owner, "generate", None))
    for _ in range(2):
        try:
            print(model.generate(ids, **options).tolist())
        except AttributeError as error:
            print(type(error).__name__, error, greedy(model).tolist())
    print([name for name, _ in inspect.getmembers(model) if name == "generate"], "generate" in dir(model))
    print([base.__name__ for base in Own.__bases__], [base.__name__ for base in Own.__mro__])
    print(Own.can_generate(), getattr(model, "generation_config", None), isinstance(model, GenerationMixin))

    class Writes(Own):
        def generate(self, ids, **kwargs):
            try:
                return super().generate(ids, **kwargs)
            except AttributeError:
                return greedy(self)

    class Mixed(Own, GenerationMixin):
        pass

    print(Writes(config).generate(ids).tolist() == greedy(model).tolist(), Writes.can_generate())
    mixed = Mixed(config).eval()
    print(Mixed.generate is GenerationMixin.generate, Mixed.can_generate(), mixed.generate(ids, **options).tolist())
    print(hasattr(model, "generate"), copy.deepcopy(model)(ids).logits.sum().item())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        print(sorted(os.listdir(folder)))
        loaded = Own.from_pretrained(folder)
        print(getattr(loaded, "generation_config", None), torch.equal(loaded(ids).logits, model(ids).logits))
    torch.save(model.state_dict(), io.BytesIO())
    print(sorted(set(vars(model)) - {"generation_config"}))
"""
)

NEEDS_IT = (
    MODEL
    + """
    class Talks(Own):
        def generate(self, ids, **kwargs):
            return super().generate(ids, **kwargs)

    class Derived(Own):
        pass

    class Outer(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.language_model = inner

        def chat(self, ids):
            return self.language_model.generate(ids, **options)

    if transformers.__version__ >= "5":
        chats = Own(config)
        assert chats.generation_config.num_beams in (1, None)
        assert chats.can_generate()

    first, derived, talks = Own(config).eval(), Derived(config).eval(), Talks(config).eval()
    assert Outer(first).chat(ids).tolist() == greedy(first).tolist()
    assert derived.generate(ids, **options).tolist() == greedy(derived).tolist()
    assert talks.generate(ids, **options).tolist() == greedy(talks).tolist()
    assert Own.can_generate() and isinstance(first, GenerationMixin)
    with tempfile.TemporaryDirectory() as folder:
        first.generation_config.max_new_tokens = 2
        first.save_pretrained(folder)
        assert "generation_config.json" in os.listdir(folder)
        again = Own.from_pretrained(folder).eval()
        assert again.generate(ids, do_sample=False, use_cache=False, pad_token_id=0).shape == (2, 5)
    print("generated")
"""
)

LOADED_BEFORE = (
    MODEL
    + """
    folder = tempfile.mkdtemp()
    class Known(Own, GenerationMixin):
        pass
    known = Known(config)
    known.generation_config.max_new_tokens = 2
    known.save_pretrained(folder)
    model, other = Own.from_pretrained(folder).eval(), Own(config).eval()
    assert model.generate(ids, do_sample=False, use_cache=False, pad_token_id=0).shape == (2, 5)
    assert other.generate(ids, **options).shape == (2, 7)
    assert other.generation_config.max_new_tokens is None
    import hotfix
    hotfix.revert()
    assert Own.__bases__ == (Base,) and not hasattr(model, "generate")
    print("as its checkpoint says")
"""
)


@pytest.mark.parametrize("release", RELEASES)
def test_a_program_that_works_without_it_has_the_same_results(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(FALLBACKS))
    stock, armed = (
        run(program, transformers=release, flash_attn=None, hotfix=hotfix).require() for hotfix in (False, True)
    )
    assert stock.stdout.strip()
    assert armed.stdout == stock.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_a_program_that_would_end_generates(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(NEEDS_IT))
    stock = run(program, transformers=release, flash_attn=None, hotfix=False)
    assert "has no attribute 'generat" in stock.stderr
    assert run(program, transformers=release, flash_attn=None).require().stdout == "generated\n"


@pytest.mark.parametrize("release", RELEASES)
def test_a_model_gets_the_settings_of_its_checkpoint(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(LOADED_BEFORE))
    assert run(program, transformers=release, flash_attn=None).require().stdout == "as its checkpoint says\n"
