"""The restored functions for masks give what those of 5.23.0 gave, for random inputs."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

DRAWN = """
import random
import warnings
import zlib
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import modeling_attn_mask_utils as masks
    from transformers.modeling_attn_mask_utils import AttentionMaskConverter
warnings.simplefilter("ignore")
random.seed(7)
torch.manual_seed(7)


def shown(make):
    try:
        made = make()
    except Exception as error:
        return type(error).__name__
    if not isinstance(made, torch.Tensor):
        return made
    return made.dtype, tuple(made.shape), made.stride(), zlib.crc32(repr(made.tolist()).encode())


for _ in range(400):
    texts, queries, past = random.choice([0, 1, 2, 3]), random.choice([0, 1, 1, 2, 5]), random.choice([-1, 0, 0, 1, 4])
    keys = max(queries + past, 0)
    window = random.choice([None, None, 0, 1, 2, 7])
    dtype = random.choice([torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64])
    inputs = torch.zeros(texts, queries, 2, dtype=dtype)
    values = random.choice([[1.0], [0.0, 1.0], [0.0, 0.5, 1.0, 2.0, float("inf")]])
    shapes = [(texts, keys), (texts, keys), (texts, 1, queries, keys), (texts, 2, keys), (texts, keys + 1)]
    shape = random.choice(shapes)
    mask = torch.tensor([random.choice(values) for _ in range(torch.Size(shape).numel())]).view(shape)
    mask = random.choice([mask, mask.to(dtype), mask.bool(), None])
    whole = random.choice([(texts, queries), [texts, queries]])
    print(shown(lambda: masks._prepare_4d_causal_attention_mask(mask, whole, inputs, past, window)))
    print(shown(lambda: masks._prepare_4d_causal_attention_mask_for_sdpa(mask, whole, inputs, past, window)))
    print(shown(lambda: masks._create_4d_causal_attention_mask(whole, dtype, "cpu", past, window)))
    is_causal, is_training = random.random() < 0.7, random.random() < 0.5
    number, length, lowest = map(random.choice, ([None, keys, keys], [None, 1, queries], [0.0, 1.0]))
    print(shown(lambda: AttentionMaskConverter(is_causal, window)))
    print(shown(lambda: AttentionMaskConverter(is_causal, window).to_causal_4d(texts, queries, keys, dtype)))
    ignore = AttentionMaskConverter._ignore_causal_mask_sdpa
    print(shown(lambda: ignore(mask, inputs, past, window, is_training)))
    if mask is not None:
        print(shown(lambda: masks._prepare_4d_attention_mask(mask, dtype, length)))
        print(shown(lambda: masks._prepare_4d_attention_mask_for_sdpa(mask, dtype, tgt_len=length)))
        print(shown(lambda: AttentionMaskConverter(is_causal, window).to_4d(mask, queries, dtype, number)))
        print(shown(lambda: AttentionMaskConverter._unmask_unattended(mask, lowest)))
"""

REPLACED = """
import torch
from transformers import modeling_attn_mask_utils as masks
from transformers.modeling_attn_mask_utils import AttentionMaskConverter, _prepare_4d_causal_attention_mask


def of_twos(input_ids_shape, dtype, device, past_key_values_length=0, sliding_window=None):
    print(tuple(input_ids_shape), dtype, device, past_key_values_length, sliding_window)
    rows, length = input_ids_shape
    return torch.full((rows, 1, length, length + past_key_values_length), 2, dtype=dtype, device=device)


def unpadded(mask, dtype, tgt_len=None):
    print(dtype, tgt_len)
    return torch.zeros(mask.shape[0], 1, tgt_len, mask.shape[1], dtype=dtype)


AttentionMaskConverter._make_causal_mask = staticmethod(of_twos)
AttentionMaskConverter._expand_mask = staticmethod(unpadded)
AttentionMaskConverter._ignore_causal_mask_sdpa = staticmethod(lambda **arguments: print(sorted(arguments)))
arguments = torch.ones(2, 4), (2, 3), torch.zeros(2, 3, 4), 1
print(_prepare_4d_causal_attention_mask(*arguments).tolist())
print(masks._prepare_4d_causal_attention_mask_for_sdpa(*arguments).tolist())
print(masks._create_4d_causal_attention_mask((2, 3), torch.float16, torch.device("cpu"), 2, 2).tolist())
print(masks._prepare_4d_attention_mask(torch.ones(2, 4), torch.float16, 3).tolist())
"""

LAZY = """
import sys
import warnings
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    import transformers.modeling_attn_mask_utils as masks
    print(len(shown), "torch" in sys.modules)
    masks.AttentionMaskConverter(True), masks.AttentionMaskConverter(False)
    from transformers.modeling_attn_mask_utils import _prepare_4d_attention_mask
    print([warning.category.__name__ for warning in shown if "modeling_attn_mask_utils" in str(warning.message)])
"""

COMPILED = """
import torch
from transformers.modeling_attn_mask_utils import _prepare_4d_causal_attention_mask_for_sdpa

@torch.compile(backend="eager", fullgraph=True, dynamic=True)
def mask(tokens, inputs):
    past = tokens.shape[1] - inputs.shape[1]
    return _prepare_4d_causal_attention_mask_for_sdpa(tokens, inputs.shape[:2], inputs, past, sliding_window=3)

for length, past in ((4, 0), (6, 0), (3, 2)):
    tokens, inputs = torch.ones(2, length + past, dtype=torch.int64), torch.zeros(2, length, 4)
    tokens[0, 0] = 0
    alone = _prepare_4d_causal_attention_mask_for_sdpa(tokens, (2, length), inputs, past, sliding_window=3)
    assert torch.equal(mask(tokens, inputs), alone)
print("equal")
"""


@pytest.mark.parametrize("program", [DRAWN, REPLACED], ids=["drawn", "replaced"])
def test_its_results_are_those_of_5_23(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    quiet = {"PYTHONWARNINGS": "ignore"}
    before = run(path, hotfix=False, transformers="5.23.0", flash_attn=None, env=quiet).require()
    restored = run(path, hotfix=True, transformers="5.24.0", flash_attn=None, env=quiet).require()
    assert before.stdout
    assert restored.stdout.splitlines() == before.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "printed"),
    [(LAZY, ["0 False", "['FutureWarning']"]), (COMPILED, ["equal"])],
    ids=["imports torch and warns on first use", "compiles"],
)
def test_on_5_24(program, printed, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    result = run(path, hotfix=True, transformers="5.24.0", flash_attn=None).require()
    assert result.stdout.splitlines() == printed
