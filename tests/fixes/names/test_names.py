"""Names of functions, flags, types and modules, on releases that lack them and on some that have them.

That they mean what they meant is what the cases prove; here: how they are found, what they refuse, and that they go.
"""

from __future__ import annotations

import json

import pytest

from tests.facts import lacking
from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FOUND = """
import hotfix.auto, importlib.util, pickle, sys
import transformers
assert not {"is_tf_available", "is_safetensors_available", "deepspeed"} - set(dir(transformers))
assert "transformers.integrations.deepspeed" not in sys.modules  # nothing was imported for it
assert importlib.util.find_spec("transformers.deepspeed") is not None
import transformers.deepspeed
from transformers.deepspeed import HfDeepSpeedConfig, is_deepspeed_zero3_enabled
assert pickle.loads(pickle.dumps(HfDeepSpeedConfig)) is HfDeepSpeedConfig
from transformers.utils import LossKwargs, cached_property, is_remote_url, is_tf_available
from transformers.image_transforms import PaddingMode  # which imports image_utils, which video_utils needs
from transformers.image_utils import VideoInput
from transformers.modeling_utils import SequenceSummary, find_pruneable_heads_and_indices, no_init_weights
from transformers.processing_utils import _validate_images_text_input_order
assert transformers.is_tf_available is transformers.file_utils.is_tf_available is is_tf_available
assert sys.modules["transformers.pytorch_utils"].find_pruneable_heads_and_indices is find_pruneable_heads_and_indices
for one in (
    LossKwargs, cached_property, is_remote_url, is_tf_available, SequenceSummary, find_pruneable_heads_and_indices,
    no_init_weights, _validate_images_text_input_order,
):
    assert pickle.loads(pickle.dumps(one)) is one
    assert one.__module__.startswith("transformers."), one.__module__
"""

GONE = """
hotfix.revert()
for module, name in (
    ("transformers", "is_tf_available"),
    ("transformers", "deepspeed"),
    ("transformers.utils", "LossKwargs"),
    ("transformers.utils", "TRANSFORMERS_CACHE"),
    ("transformers.image_utils", "VideoInput"),
    ("transformers.modeling_utils", "SequenceSummary"),
    ("transformers.pytorch_utils", "prune_layer"),
):
    assert name not in dir(sys.modules[module]), name
    try:
        exec(f"from {module} import {name}")
    except ImportError:
        continue
    raise AssertionError(name)
assert "transformers.deepspeed" not in sys.modules
print("gone")
"""

FOR_PEFT = """
import hotfix.auto, sys
import transformers
assert "transformers.cache_utils" not in sys.modules  # nothing was imported for it
from transformers import Cache, DynamicCache, EncoderDecoderCache, HybridCache
for cls in (EncoderDecoderCache, HybridCache):
    assert issubclass(cls, Cache) and not isinstance(DynamicCache(), cls)
    try:
        cls()
    except NotImplementedError as error:
        assert cls.__name__ in str(error)
    else:
        raise AssertionError(cls)
hotfix.revert()
assert not hasattr(transformers, "EncoderDecoderCache") and "HybridCache" not in dir(transformers)
print("gone")
"""

SUMMARIES = """
import hotfix.auto, tempfile, transformers
import hotfix
from hotfix.proofs.names.pipelines_removed import TEXTS, save
from hotfix.proofs.testbed import Testbed
from transformers import GenerationConfig, pipeline

with tempfile.TemporaryDirectory() as folder, Testbed("cpu") as testbed:
    save(testbed, folder)
    def length(run, **options):
        [result] = run(TEXTS[0], return_tensors=True, **options)
        return len(result["summary_token_ids"])
    run = pipeline("summarization", model=folder, max_length=7)
    assert type(run) is transformers.SummarizationPipeline and isinstance(run, transformers.Text2TextGenerationPipeline)
    assert length(run) == 7, "what was said when it was made"
    assert length(run, max_length=6) == 6
    assert length(run, generation_config=GenerationConfig(max_length=5, decoder_start_token_id=0)) == 5
    run = pipeline("summarization", model=folder)
    run._of_task = {"max_length": 8, "min_length": 8}
    assert length(run) == 8, "what the configuration says of the task"
    assert length(run, max_length=9, min_length=9) == 9, "whoever calls is stronger"
    run.model.generation_config.max_length, run._of_task = 6, {}
    ids = run.tokenizer(TEXTS[0], return_tensors="pt").input_ids
    assert length(run) == run.model.generate(ids).shape[1] <= 7, "what the model says, and the first token"
    assert length(pipeline("summarization", model=folder)) == 257, "and what 4.57.6 says by itself"
for task in ("image-to-text", "translation_en_fr", "other"):
    try:
        transformers.pipelines.PIPELINE_REGISTRY.check_task(task)
    except KeyError:
        continue
    raise AssertionError(task)
assert transformers.pipelines.check_task("translation_en_to_fr")[2] == ("en", "fr")
hotfix.revert()
assert not {"summarization", "translation", "text2text-generation"} & transformers.pipelines.SUPPORTED_TASKS.keys()
print("gone")
"""

HANDLED = """
import hotfix.auto, transformers
from transformers.pipelines import PIPELINE_REGISTRY, SUPPORTED_TASKS, pipeline
from transformers.pipelines.base import PipelineRegistry

def fails(function, *arguments):
    try:
        function(*arguments)
    except KeyError as error:
        return str(error)

print(fails(pipeline, "summarization"))
print(fails(PIPELINE_REGISTRY.check_task, "translation_en_to_fr"))
print(fails(PipelineRegistry({}, {}).check_task, "text2text-generation"))
print(hasattr(transformers, "SummarizationPipeline"), hasattr(transformers.pipelines, "TranslationPipeline"))
print(sorted(SUPPORTED_TASKS), PIPELINE_REGISTRY.supported_tasks is SUPPORTED_TASKS)
print(sorted(PIPELINE_REGISTRY.get_supported_tasks()))
"""

QUESTIONS = """
import hotfix.auto, tempfile, transformers
from hotfix.proofs.names.pipelines_removed import CONTEXT, QUESTION, save_bert
from hotfix.proofs.testbed import Testbed
from transformers import pipeline

with tempfile.TemporaryDirectory() as folder, Testbed("cpu") as testbed:
    save_bert(testbed, folder)
    run = pipeline("question-answering", model=folder)
assert type(run) is transformers.QuestionAnsweringPipeline
for said in (
    {"question": "", "context": CONTEXT}, {"question": QUESTION}, {"question": ["a", "b"], "context": ["c"]},
    {"question": QUESTION, "context": CONTEXT, "top_k": 0},
    {"question": QUESTION, "context": CONTEXT, "doc_stride": 40, "max_seq_len": 30},
):
    try:
        run(**said)
    except ValueError as error:
        print(error)
    else:
        raise AssertionError(said)
try:
    run("no question")
except KeyError as error:
    print(error.args[0])
assert run(QUESTION, CONTEXT) == run(iter([{"question": QUESTION, "context": CONTEXT}]))
run.tokenizer.padding_side = "left"  # of models that read the context first
plain = run(question=QUESTION, context=CONTEXT, top_k=5, max_seq_len=48)
padded = run(question=QUESTION, context=CONTEXT, top_k=5, max_seq_len=48, padding="max_length")
for answer in (*plain, *padded):
    assert answer["answer"] == CONTEXT[answer["start"]:answer["end"]] != "", answer
short = {"question": QUESTION, "context": CONTEXT[:30]}
batch = run([short, {"question": QUESTION, "context": CONTEXT}], batch_size=2)
assert all(one["answer"] == CONTEXT[one["start"]:one["end"]] != "" for one in batch) and batch[0]["end"] <= 30, batch
class Slow:
    is_fast = False
try:
    pipeline("question-answering", model=run.model, tokenizer=Slow())
except ValueError as error:
    print(error)
"""

WHAT_WAS_DONE = """
import hotfix.auto, json
import transformers, transformers.deepspeed, transformers.image_utils, transformers.modeling_utils
import transformers.processing_utils, transformers.tokenization_utils_base, transformers.activations
import transformers.modeling_flash_attention_utils
print(json.dumps(sorted({one.target for one in hotfix.report().outcomes if one.state.value == "applied"})))
"""

OF_MINE = (
    "is-torch-ge-1-13-removed",
    "is-flash-attn-ge-2-10-removed",
    "pytorch-gelu-tanh-missing",
    "encoder-decoder-cache-missing",
    "cached-property-and-small-names-removed",
    "check-model-inputs-missing",
    "clean-up-tokenization-missing",
    "apply-chunking-removed",
    "losskwargs-removed",
    "is-tf-flax-available-removed",
    "transformers-deepspeed-module-removed",
    "videoinput-moved",
    "validate-images-text-order-removed",
    "flash-utils-names-removed",
)


def test_they_are_found_and_go_away() -> None:
    everything = {"HOTFIX_OPTIN": "removed-names", "PYTHONWARNINGS": "ignore::FutureWarning"}
    result = run_script("-c", [FOUND + GONE], transformers="5.23.0", flash_attn=None, env=everything)
    assert result.require().stdout == "gone\n"


@pytest.mark.parametrize("release", ["5.0.0", "5.23.0"])
def test_the_callers_length_limit_of_a_summary_holds(release: str) -> None:
    result = run_script("-c", [SUMMARIES], transformers=release, flash_attn=None)
    assert result.require().stdout == "gone\n"


@pytest.mark.parametrize("release", ["5.0.0", "5.23.0"])
def test_a_program_that_handles_a_missing_task_gets_the_error(release: str) -> None:
    stock, armed = (
        run_script("-c", [code], transformers=release, flash_attn=None).require().stdout
        for code in (HANDLED.replace("hotfix.auto, ", ""), HANDLED)
    )
    assert stock.count("None") == 0
    assert armed == stock


def test_invalid_questions_give_a_one_line_error() -> None:
    result = run_script("-c", [QUESTIONS], transformers="5.23.0", flash_attn=None)
    facts = (
        ("`question`",),
        ("`context`",),
        ("2 questions", "1 contexts"),
        ("top_k", "at least 1"),
        ("`doc_stride` (40)", "`max_seq_len` (30)"),
        ("dictionary", "question", "context"),
        ("Slow", "fast tokenizer", "before 5.3.0"),
    )
    lines = result.require().stdout.splitlines()
    assert len(lines) == len(facts)
    assert [lacking(line, *named) for line, named in zip(lines, facts)] == [[]] * len(facts)


def test_newer_peft_finds_the_caches_that_it_asks_for() -> None:
    assert run_script("-c", [FOR_PEFT], transformers="4.41.2", flash_attn=None).require().stdout == "gone\n"


def test_a_release_that_has_them_keeps_its_own() -> None:
    only = {"HOTFIX_OPTIN": ",".join(OF_MINE), "HOTFIX_ONLY": ",".join(OF_MINE)}
    result = run_script("-c", [WHAT_WAS_DONE], transformers="4.45.2", flash_attn=None, env=only)
    assert json.loads(result.require().stdout) == []


def test_without_flash_attn_its_functions_are_not_given() -> None:
    only = {"HOTFIX_OPTIN": "flash-utils-names-removed", "HOTFIX_ONLY": "flash-utils-names-removed"}
    program = WHAT_WAS_DONE.replace("transformers.deepspeed", "transformers")
    result = run_script("-c", [program], transformers="5.23.0", flash_attn=None, env=only)
    assert json.loads(result.require().stdout) == []
