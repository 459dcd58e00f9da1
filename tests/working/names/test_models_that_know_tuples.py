"""Models written before there were caches, and programs that handle their errors: each runs as without hotfix."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

RELEASES = ["4.57.6", "5.23.0"]

PROGRAM = """
    import torch
    from torch import nn
    from transformers import GenerationMixin, LlamaConfig, LogitsProcessor, LogitsProcessorList, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    config = LlamaConfig(
        num_hidden_layers=1, hidden_size=8, intermediate_size=8, num_attention_heads=2, num_key_value_heads=2,
        vocab_size=9, eos_token_id=None,
    )
    calls = []

    class Tuples(PreTrainedModel, GenerationMixin):
        config_class = LlamaConfig
        fails_at = 0

        def __init__(self, config):
            super().__init__(config)
            self.embed, self.head = nn.Embedding(9, 8), nn.Linear(8, 9)
            self.post_init()

        def forward(self, input_ids, past_key_values=None, use_cache=None, **kwargs):
            calls.append(tuple(input_ids.shape))
            if len(calls) == self.fails_at:
                raise KeyError("of the model")
            states = self.embed(input_ids)
            if past_key_values is not None:
                states = torch.cat([past_key_values[0][0], states], 1)
            logits = self.head(states.cumsum(1))[:, -input_ids.shape[1]:]
            return CausalLMOutputWithPast(logits=logits, past_key_values=((states, states),) if use_cache else None)

        def prepare_inputs_for_generation(self, input_ids, past_key_values=None, **kwargs):
            if past_key_values is not None:
                input_ids = input_ids[:, past_key_values[0][0].shape[1]:]
            return {"input_ids": input_ids, "past_key_values": past_key_values, "use_cache": kwargs.get("use_cache")}

        @staticmethod
        def _reorder_cache(past_key_values, beam_idx):
            return tuple(tuple(x.index_select(0, beam_idx) for x in layer) for layer in past_key_values)

    class Without(Tuples):
        def prepare_inputs_for_generation(self, input_ids, **kwargs):
            return {"input_ids": input_ids, "use_cache": False}

    class Streamer:
        def __init__(self):
            self.got = []
        def put(self, value):
            self.got.append(value.tolist())
        def end(self):
            self.got.append("end")

    torch.manual_seed(0)
    model = Tuples(config).eval()
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    options = dict(max_new_tokens=4, do_sample=False, pad_token_id=0)
"""

HANDLED = (
    PROGRAM
    + """
    for _ in range(2):
        try:
            print(model.generate(ids, **options).tolist())
        except (KeyError, TypeError, AttributeError) as error:
            print(type(error).__name__)
    print(calls, sorted(set(vars(model)) - {"generation_config"}))
    without = Without(config).eval()
    print(without.generate(ids, **options).shape, model.generate(ids, use_cache=False, **options).shape, len(calls))
    streamer = Streamer()
    try:
        model.generate(ids[:1], streamer=streamer, **options)
    except Exception as error:
        print(type(error).__name__, streamer.got)
    calls.clear()
    without.fails_at = 3
    try:
        without.generate(ids, **options)
    except KeyError as error:
        print(error, len(calls))
"""
)

LATE = (
    PROGRAM
    + """
    import sys
    sys.excepthook = lambda kind, error, trace: print(kind.__name__, error, len(calls))
    without = Without(config).eval()
    without.fails_at = 3
    without.generate(ids, **options)
"""
)

ENDS = (
    PROGRAM
    + """
    class Counting(LogitsProcessor):
        seen = 0
        def __call__(self, ids, scores):
            self.seen += 1
            return scores

    counting = Counting()
    tokens = model.generate(ids, logits_processor=LogitsProcessorList([counting]), **options)
    assert counting.seen == 4
    expected = ids
    for _ in range(4):
        expected = torch.cat([expected, model(expected).logits[:, -1:].argmax(-1)], 1)
    assert tokens.tolist() == expected.tolist()
    assert "_supports_default_dynamic_cache" not in vars(model)
    print("generated")
"""
)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("program", [HANDLED, LATE], ids=["handled", "late"])
def test_a_program_that_handles_the_error_or_fails_later_has_the_same_results(program, release, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    stock, armed = (run(path, transformers=release, flash_attn=None, hotfix=hotfix) for hotfix in (False, True))
    assert stock.stdout.strip()
    assert armed.stdout == stock.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_a_program_that_would_end_generates(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(ENDS))
    assert run(program, transformers=release, flash_attn=None, hotfix=False).returncode != 0
    assert run(program, transformers=release, flash_attn=None).require().stdout == "generated\n"
