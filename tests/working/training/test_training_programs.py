"""Programs that train correctly without hotfix do so with it, bit for bit; those that it repairs stay repaired."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from tests.working.training import programs_numbers, programs_own, programs_steps
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

LOSSES = "tests.working.training.programs:every_loss"
MODELS = "tests.working.training.programs_models"
OWN = "tests.working.training.programs_own"
STEPS = "tests.working.training.programs_steps"
NUMBERS = "tests.working.training.programs_numbers"
BESIDE = {"peft": "peft==0.17.1", "deepspeed": "deepspeed==0.16.2"}
"""Packages of a program, by a part of its name."""


@cache
def both(program, release, fix, accelerate, what=""):
    """The results of a program in stock and in an armed process."""
    how = {
        "transformers": release,
        "flash_attn": None,
        "extras": [f"accelerate=={accelerate}", *(extra for name, extra in BESIDE.items() if name in program)],
        "target": SimpleNamespace(module="", qualname=what) if what else None,
    }
    stock = run(program, hotfix=False, **how).require().tensors
    return stock, run(program, env={"HOTFIX_ONLY": fix}, **how).require().tensors


def differences(stock, armed):
    assert stock
    return [name for name, value in stock.items() if name not in armed or not same(value, armed[name])]


def same(value, other):
    """Whether two tensors are equal; NaN in stock must be NaN with hotfix."""
    return value.shape == other.shape and bool(((value == other) | ((value != value) & (other != other))).all())


# -- losses, in micro-batches and in one batch -------------------------------------------------------------------------

KINDS = (
    "plain", "passing", "smoothing", "mean", "mean by steps", "mean of divided", "by samples", "sum", "by the number",
    "function", "function of the number", "divides the result", "divides in place", "always divides", "of 4.45",
    "of 4.45 that divides", "own training step", "by rows", "average of four",
    "multiplies", "function that multiplies",
)  # fmt: skip
# Fix, release, accelerate, model, and the repaired values: harms 1, 2 and 32. Everything else stays as it is.
REPAIRED = (
    ("trainer-ga-multiplied-loss", "4.46.1", "1.1.1", "bert", ("plain", "passing", "smoothing", "mean")),
    ("trainer-ga-multiplied-loss", "4.47.1", "1.1.1", "bert", ("plain", "passing", "smoothing", "mean")),
    (
        "trainer-ga-num-items-dropped", "4.48.0", "1.1.1", "llama",
        # One that divides under a condition is left alone: its source does not show whether this run divides.
        ("plain", "passing", "mean", "function of the number", "of 4.45"),
    ),
    (
        "v5-trainer-ga-double-division", "5.2.0", "1.15.0", "llama",
        (
            "plain", "passing", "mean by steps", "mean of divided", "by samples", "sum", "by the number",
            "function of the number", "divides the result", "divides in place", "always divides",
        ),
    ),
    ("v5-trainer-ga-double-division", "5.2.0", "1.15.0", "net",
     ("plain", "passing", "mean", "function of the number", "divides in place")),
)  # fmt: skip


def factor(tensors, prefix):
    """The norm of all gradients of the micro-batches, as a multiple of that of the batch."""
    lengths = [
        sum(value.double().square().sum() for name, value in tensors.items() if name.startswith(f"{prefix}{way} grad"))
        for way in ("micro", "whole")
    ]
    return float((lengths[0] / lengths[1]).sqrt())


@pytest.mark.parametrize(("fix", "release", "accelerate", "model", "repaired"), REPAIRED)
def test_a_loss_that_is_right_stays_as_it_is_and_one_that_is_repaired_is_right(
    fix, release, accelerate, model, repaired
):
    stock, armed = both(LOSSES, release, fix, accelerate, f"{model}/{','.join(KINDS)}")
    for kind in KINDS:
        prefix = f"{model}: {kind}: "
        changed = [name for name in differences(stock, armed) if name.startswith(prefix)]
        if kind in repaired:
            assert factor(stock, prefix) != pytest.approx(1, rel=1e-3), kind
            assert factor(armed, prefix) == pytest.approx(1, rel=1e-5), kind
        else:
            assert changed == [], kind


@pytest.mark.parametrize("release", [pytest.param("4.46.3", marks=pytest.mark.slow), "4.48.3"])
def test_a_mean_that_deepspeed_divides_is_divided_once(release):
    """Harm 29."""
    stock, armed = both(f"{STEPS}:means_under_deepspeed", release, "deepspeed-double-gas-scaling", "1.1.1")
    assert differences(stock, armed) == []
    for kind in ("mean", "smoothing", "function"):
        assert float(armed[f"{kind}: micro"]) == pytest.approx(float(armed[f"{kind}: whole"]), rel=1e-5), kind


# -- programs ----------------------------------------------------------------------------------------------------------

PROGRAMS = (
    ("own_classes", "4.57.6", "1.15.0", "num-items-off-by-one"),  # harm 3
    ("a_copy_of_the_loop", "4.49.0", "1.1.1", "trainer-last-accumulation-remainder"),  # harm 4
    ("a_copy_of_the_loop", "4.51.3", "1.15.0", "trainer-last-accumulation-remainder"),
    ("resumed_from_stock", "4.51.3", "1.15.0", "trainer-last-accumulation-remainder"),
    ("resumed_from_stock", "4.48.0", "1.1.1", "trainer-last-accumulation-remainder"),
    ("own_losses_of_a_mamba", "4.53.0", "1.8.1", "ga-loss-kwargs-swallowed-vlm"),  # harms 30, 31
    ("own_losses_of_a_mamba", "4.57.6", "1.15.0", "ga-loss-kwargs-swallowed-vlm"),
    ("where_it_writes", "4.38.2", "0.33.0", "trainer-tmp-checkpoint-rename-race"),
    ("training_step_by_the_number", "4.57.6", "1.15.0", "num-items-off-by-one"),
    ("a_schedule_of_its_own", "4.51.3", "1.15.0", "trainer-last-accumulation-remainder"),
    ("a_schedule_of_its_own", "4.48.0", "1.1.1", "trainer-last-accumulation-remainder"),
    ("a_loss_without_the_first_label", "5.12.1", "1.15.0", "v5-num-items-undercount-seq2seq"),
    ("a_loss_that_takes_no_shifted_labels", "4.57.6", "1.15.0", "shift-labels-dropped-by-heads"),
    ("parts_that_embed_pixels", "4.57.6", "1.15.0", "vision-lora-checkpointing-no-grad"),
    ("a_writer_that_reads_embeddings", "4.50.3", "1.1.1", "labels-shifted-twice"),
    ("a_writer_that_reads_embeddings", "4.57.6", "1.15.0", "labels-shifted-twice"),
    ("hooks_of_a_mamba", "4.57.6", "1.15.0", "ga-loss-kwargs-swallowed-vlm"),
    ("hooks_of_a_llama", "4.48.0", "1.1.1", "trainer-ga-num-items-dropped"),
    ("a_callback_that_divides", "4.46.1", "1.1.1", "trainer-ga-multiplied-loss"),
    ("a_callback_that_multiplies", "5.2.0", "1.15.0", "v5-trainer-ga-double-division"),
    ("losses_that_call_one_without_the_first_label", "5.12.1", "1.15.0", "v5-num-items-undercount-seq2seq"),
    ("a_prompt_of_peft", "4.57.6", "1.15.0", "num-items-off-by-one"),
    ("a_prompt_in_the_forward", "4.57.6", "1.15.0", "num-items-off-by-one"),
    ("a_number_of_ones_own", "4.57.6", "1.15.0", "num-items-off-by-one"),
    ("a_decorated_loss", "4.49.0", "1.1.1", "trainer-compute-loss-arity"),
    ("gradients_divided_by_hand", "4.48.0", "1.1.1", "trainer-ga-num-items-dropped"),
    ("short_epochs_and_averages", "4.47.1", "1.1.1", "trainer-ga-multiplied-loss"),
    ("labels_moved_back", "4.49.0", "1.1.1", "labels-shifted-twice"),
    ("labels_moved_back", "4.51.3", "1.1.1", "labels-shifted-twice"),
)


PLACES = ((programs_own, OWN), (programs_steps, STEPS), (programs_numbers, NUMBERS))


@pytest.mark.parametrize(("program", "release", "accelerate", "fix"), PROGRAMS)
def test_a_program_that_is_right_stays_as_it_is(program, release, accelerate, fix):
    module = next((place for prefix, place in PLACES if hasattr(prefix, program)), MODELS)
    stock, armed = both(f"{module}:{program}", release, fix, accelerate)
    assert differences(stock, armed) == []


def test_reading_the_loss_of_a_model_gives_no_warning():
    """The library's property warns of unknown models, and the release does not read it for these."""
    how = {"transformers": "4.57.6", "flash_attn": None, "extras": ["accelerate==1.15.0"]}
    stock = run(f"{MODELS}:own_classes", hotfix=False, **how).require()
    armed = run(f"{MODELS}:own_classes", env={"HOTFIX_ONLY": "num-items-off-by-one"}, **how).require()
    assert "loss_type" not in stock.stderr
    assert "loss_type" not in armed.stderr


def test_a_model_that_ignores_the_number_stays_repaired():
    stock, armed = both(f"{MODELS}:plain_mamba", "4.57.6", "ga-loss-kwargs-swallowed-vlm", "1.15.0")
    for way in ("plain: ", "passing: "):
        assert factor(stock, way) == pytest.approx(4, rel=1e-5)
        assert factor(armed, way) == pytest.approx(1, rel=1e-5)


def test_a_model_that_ignores_the_number_stays_repaired_with_a_hook_that_only_reads():
    stock, armed = both(f"{STEPS}:a_watched_mamba", "4.57.6", "ga-loss-kwargs-swallowed-vlm", "1.15.0")
    assert factor(stock, "watched: ") == pytest.approx(4, rel=1e-5)
    assert factor(armed, "watched: ") == pytest.approx(1, rel=1e-5)


def test_a_wrapper_that_refuses_the_number_runs_and_is_divided():
    """Harm 33."""
    program = f"{MODELS}:a_wrapper_that_refuses_the_number"
    stock, armed = both(program, "4.48.0", "trainer-ga-num-items-dropped", "1.1.1")
    assert [name for name in differences(stock, armed) if not name.startswith("plain: ")] == []
    for name, value in armed.items():
        if name.startswith("whole: gradient"):
            expected = armed[name.replace("whole: ", "plain: ")]
            assert torch.allclose(value, expected, rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize("release", ["4.50.3", "4.57.6"])
def test_labels_that_have_yet_to_be_moved_are_moved(release):
    """Harms 5 and 37: stock shifts them, and labels need not be contiguous."""
    stock, armed = both(f"{MODELS}:losses_of_a_writer", release, "labels-shifted-twice", "1.1.1")
    for name in ("copied", "copied and masked"):
        assert stock[name].equal(armed[name]), name
    for name in ("contiguous", "not contiguous", "moved by hand"):
        assert not stock[name].equal(armed[name]), name
    assert armed["contiguous"].equal(armed["not contiguous"])
    assert armed["contiguous"].equal(armed["moved by hand"])


@pytest.mark.parametrize("release", ["4.44.2", "4.46.1"])
def test_globals_that_the_program_allowed_stay_allowed(release):
    """Harm 34."""
    program, fix = f"{MODELS}:allowed_before", "trainer-rng-state-torch26-no-safe-globals"
    stock, armed = both(program, release, f"{fix},accelerator-dispatch-batches", "1.1.1")
    assert differences(stock, armed) == []
    assert bool(armed["allowed"])


def test_reading_needs_no_permission():
    how = {"transformers": "4.46.1", "flash_attn": None, "extras": ["accelerate==1.1.1"]}
    fixes = {"HOTFIX_ONLY": "trainer-rng-state-torch26-no-safe-globals,accelerator-dispatch-batches"}
    some = SimpleNamespace(module="", qualname="some")
    tensors = run(f"{MODELS}:allowed_before", env=fixes, target=some, **how).require().tensors
    assert "read" in tensors
    assert bool(tensors["allowed"])


@pytest.mark.parametrize("has_a_gradient", [False, True])
def test_a_tower_that_writes_into_its_embeddings_trains(has_a_gradient):
    """Harm 6."""
    program, fix = f"{MODELS}:a_tower_that_is_written_into", "vision-lora-checkpointing-no-grad"
    stock, armed = both(program, "4.57.6", fix, "1.15.0", "gradient" if has_a_gradient else "")
    assert differences(stock, armed) == []
    assert ("tower.block.weight" in stock) is has_a_gradient
    assert "tower.block.weight" in armed


# -- checkpoints of the Trainer ----------------------------------------------------------------------------------------

RESUMED = "tests.working.training.programs_resumed"


@pytest.mark.parametrize(("release", "accelerate"), [("4.52.4", "1.7.0"), ("5.0.0", "1.12.0"), ("5.23.0", "1.12.0")])
def test_a_checkpoint_that_is_read_as_it_should_be_is_read_once(release, accelerate):
    """Another head, custom classes and custom loading get the weights and the random numbers of stock."""
    stock, armed = both(f"{RESUMED}:resumed", release, "trainer-checkpoint-keys-not-converted", accelerate)
    assert differences(stock, armed) == []


def test_a_vision_language_model_resumes_from_a_checkpoint_of_an_armed_process():
    """Its checkpoint had the names of the Hub, which no Trainer of this release reads: the weights were reset."""
    stock, armed = both(f"{RESUMED}:whole_and_resumed", "4.52.3", "vlm-save-reverse-mapping", "1.7.0")
    assert differences(stock, armed) == []
    assert all(same(armed[name], armed[name.replace("whole", "resumed")]) for name in armed if "whole" in name)


@pytest.mark.parametrize("release", ["4.57.6", "5.23.0"])
def test_a_vision_language_model_that_stock_begins_again_is_resumed(release):
    fix = "trainer-checkpoint-keys-not-converted"
    stock, armed = both(f"{RESUMED}:whole_and_resumed", release, fix, "1.12.0")
    assert any("resumed" in name for name in differences(stock, armed))
    assert all(same(armed[name], armed[name.replace("whole", "resumed")]) for name in armed if "whole" in name)


@pytest.mark.parametrize(("release", "accelerate"), [("4.57.6", "1.15.0"), ("5.23.0", "1.12.0")])
def test_a_checkpoint_of_a_model_with_parts_of_ones_own_ends_no_run(release, accelerate):
    """The configuration does not define the model: stock continues, and the loaded weights stay the same."""
    fix = "trainer-checkpoint-keys-not-converted"
    stock, armed = both(f"{RESUMED}:parts_of_ones_own", release, fix, accelerate)
    for name, value in stock.items():
        saved = stock.get(name.replace(": read: ", ": saved: "))
        if saved is None or same(value, saved):
            assert same(armed[name], value), name
        assert saved is None or same(armed[name], saved), name
