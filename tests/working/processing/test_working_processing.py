"""Programs that work without hotfix give the same results with it: processors, tokenizers and chat templates."""

from __future__ import annotations

import pytest

from hotfix.proofs.processing._pictures import PACKAGES
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


PICTURES = tuple(f"{name}=={version}" if version else name for name, version in PACKAGES.items() if version is not None)


def both(program, release, fix, **options):
    """The results of a program in stock and armed with one fix; both runs must succeed."""
    case = f"tests.working.processing.programs:{program}"
    options = {"transformers": release, "flash_attn": None, "extras": PICTURES, **options}
    stock = run(case, hotfix=False, **options).require().tensors
    armed = run(case, hotfix=True, env={"HOTFIX_ONLY": fix}, **options).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    return stock, armed.tensors


def differences(stock, armed):
    """The differences, with both values if they are texts."""
    assert stock.keys() == armed.keys()
    return {name: (shown(stock[name]), shown(armed[name])) for name in stock if not stock[name].equal(armed[name])}


def shown(tensor):
    is_text = tensor.dtype == torch.int64 and tensor.ndim == 1
    return bytes(tensor.tolist()).decode() if is_text else tensor.tolist()


@pytest.mark.parametrize("release", ["4.44.2", "4.57.6", "5.2.0"])
def test_messages_in_any_container_give_the_same_text(release):
    """Number 10: arrays, objects, dates and other values were replaced by the names of their types."""
    assert differences(*both("chat", release, "chat-template-sandbox-escape")) == {}


@pytest.mark.parametrize("release", ["4.44.2", "5.2.0"])
def test_values_of_any_class_give_the_same_text(release):
    """A missing date raised a TypeError; custom operators and mappings behaved like Python's types."""
    assert differences(*both("chat_of_odd_values", release, "chat-template-sandbox-escape")) == {}


@pytest.mark.parametrize("release", ["4.50.3", "4.57.6"])
def test_the_size_of_the_caller_is_not_written_to(release):
    """Number 49: the second processor got the limit of the first; a size without numbers was kept as it is."""
    assert differences(*both("one_size_for_two_processors", release, "qwen2vl-image-processor-size-discarded")) == {}


@pytest.mark.parametrize("release", ["4.50.3", "5.10.4"])
def test_a_size_that_is_assigned_later_wins_over_older_limits(release):
    """Number 50: limits from the creation of the processor overrode the size."""
    assert differences(*both("size_assigned_later", release, "qwen2vl-max-pixels-ignored")) == {}


@pytest.mark.parametrize(
    ("release", "fix"),
    [
        ("4.50.0", "qwen2vl-image-size-mutation"),
        ("4.50.0", "qwen2vl-max-pixels-ignored"),
        ("5.3.0", "qwen2vl-image-size-mutation"),
        ("5.17.0", "qwen2vl-image-size-mutation"),
    ],
)
def test_a_subclass_may_have_any_type_of_size(release, fix):
    """None, for a processor that does not resize, raised a TypeError; an OrderedDict became a dict."""
    assert differences(*both("size_of_a_subclass", release, fix)) == {}


@pytest.mark.parametrize("release", ["5.0.0", "5.2.0"])
def test_a_post_processor_of_the_file_is_kept(release):
    """Number 48: it was replaced by [CLS] and [SEP]."""
    assert differences(*both("deberta_with_its_own_tokens", release, "v5-debertav2-no-special-tokens")) == {}


@pytest.mark.parametrize("release", ["5.0.0", "5.3.0"])
def test_a_tokenizer_without_special_tokens_gets_none(release):
    """It got the first token of its vocabulary twice."""
    assert differences(*both("deberta_without_tokens", release, "v5-debertav2-no-special-tokens")) == {}


@pytest.mark.parametrize("release", ["5.2.0", "5.23.0"])
def test_options_of_the_caller_hold_for_a_byte_level_tokenizer(release):
    """The leading space was missing, and the caller's tokenizer could not be saved."""
    assert differences(*both("byte_level_as_the_caller_wants", release, "v5-byte-level-tokenizer-overridden")) == {}


@pytest.mark.parametrize("release", ["5.2.0", "5.23.0"])
def test_a_blank_in_front_that_the_settings_ask_for_is_put_there(release):
    """It was that of tokenizer.json, which stock and 4.57.6 do not use."""
    program = "byte_level_with_a_blank_in_its_settings"
    assert differences(*both(program, release, "v5-byte-level-tokenizer-overridden")) == {}


@pytest.mark.parametrize("release", ["5.3.0", "5.23.0"])
def test_a_tokenizer_class_of_the_program_cuts_text_as_it_says(release):
    """The file overrode the program's own class."""
    assert differences(*both("own_byte_level_class", release, "v5-byte-level-tokenizer-overridden")) == {}


def test_an_image_processor_of_the_program_is_called_as_without_hotfix():
    """It was copied for a call with a limit, and lost its counts."""
    assert differences(*both("own_image_processor", "4.50.1", "qwen2vl-processor-pixels-ignored")) == {}
