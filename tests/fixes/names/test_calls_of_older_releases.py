"""Calls of older programs that the cases of their fixes leave out: the release that they are compared with fails."""

from __future__ import annotations

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

BY_NAME = """
import hotfix.auto
from PIL import Image
from hotfix.proofs.names.text_before_images import processor_of

processor, text = processor_of("ProcessorMixin")
picture = Image.new("RGB", (28, 28))
made = processor(text, images=picture, return_tensors="pt")
assert made["input_ids"].equal(processor(text=text, images=picture, return_tensors="pt")["input_ids"])
"""

FROM_A_FILE = """
import tempfile
from pathlib import Path
import hotfix.auto
from transformers import LlamaTokenizer, T5Tokenizer
from hotfix.proofs.processing.v5_vocab_file_unread import _files

for kind in (T5Tokenizer, LlamaTokenizer):
    with tempfile.TemporaryDirectory() as folder:
        file = _files(kind.__name__.removesuffix("Tokenizer"), Path(folder))["vocab_file"]
        ids = kind(file)("low newer").input_ids
        assert ids == kind(vocab_file=file)("low newer").input_ids and len(set(ids)) > 2, ids
        assert kind is T5Tokenizer or ids[0] == 1, ids
"""

BY_THE_NUMBER = """
import hotfix.auto
from hotfix.proofs.testbed import Testbed
from hotfix.proofs.training.encoder_decoder_given_the_number import model_of

for name in ("EncoderDecoderModel", "VisionEncoderDecoderModel"):
    model, inputs = model_of(Testbed(), name)
    number = (inputs["labels"] != -100).sum()
    mean = model(**inputs).loss
    assert (model(**inputs, num_items_in_batch=2 * number).loss - mean / 2).abs() < 1e-6
    in_a_tuple = model(**inputs, num_items_in_batch=2 * number, return_dict=False)[0]
    assert (in_a_tuple - mean / 2).abs() < 1e-6
"""

OF_EMBEDDINGS = """
import hotfix.auto, torch
from hotfix.proofs.names.empty_cache_is_true import model_of
from hotfix.proofs.testbed import Testbed
from hotfix.proofs.zoo import small_llama

testbed = Testbed()
embeddings = small_llama(testbed).get_input_embeddings()(testbed.randint(3, 32, 2, 5, seed=3))
mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
options = dict(max_new_tokens=5, do_sample=False, pad_token_id=0, eos_token_id=-1, attention_mask=mask)
wanted = small_llama(testbed).generate(inputs_embeds=embeddings, **options)
for ask in (bool, len):
    assert model_of(testbed, ask).generate(inputs_embeds=embeddings, **options).equal(wanted)
"""


@pytest.mark.parametrize(
    ("program", "release", "extras"),
    [
        pytest.param(BY_NAME, "4.57.6", ("pillow==11.3.0",), id="a text by position and an image by name"),
        pytest.param(FROM_A_FILE, "5.4.0", ("sentencepiece==0.2.0", "protobuf==5.29.5"), id="a file of SentencePiece"),
        pytest.param(BY_THE_NUMBER, "4.49.0", (), id="a number that is not that of the batch"),
        pytest.param(OF_EMBEDDINGS, "4.57.6", (), id="embeddings for a cache that is asked"),
    ],
)
def test_a_call_of_an_older_release_runs(program, release, extras):
    run_script("-c", [program], transformers=release, flash_attn=None, extras=extras).require()
