"""Programs that load files correctly without hotfix also do so with it: stock and armed are equal bit for bit."""

from __future__ import annotations

from typing import Any

import pytest

from hotfix.proofs.processing._pictures import PACKAGES
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def stays(program: str, release: str, fix: str, module: str = "programs", **how: Any) -> None:
    """Assert that a program computes the same in an armed process as in stock."""
    name = f"tests.working.loading.{module}:{program}"
    stock = run(name, transformers=release, flash_attn=None, hotfix=False, **how).require()
    alone = {"HOTFIX_ONLY": fix, "HOTFIX_OPTIN": fix}
    armed = run(name, transformers=release, flash_attn=None, env=alone, **how).require()
    assert stock.tensors
    assert stock.tensors.keys() == armed.tensors.keys()
    for key, expected in stock.tensors.items():
        assert torch.equal(expected, armed.tensors[key]), (key, read(expected), read(armed.tensors[key]))


def read(value: Any) -> str:
    """Decode a tensor of `programs.values`."""
    return bytes(value.tolist()).decode() if value.dtype is torch.uint8 else str(value)


DTYPE = "torch-dtype-key-dtype-in-v4"
ROPE = "v5-rope-parameters-ignored-by-v4"
TOKENIZERS = "tokenizer-class-tokenizersbackend,extra-special-tokens-list,v5-add-bos-token-not-written"

PROGRAMS = (
    # program, release, fixes
    ("own_dtype", "4.40.2", DTYPE),  # harm 13
    ("dtype_of_a_library_class", "4.40.2", DTYPE),  # harm 13
    ("own_rope", "4.36.2", ROPE),  # harm 14
    ("own_rope", "4.57.6", ROPE),
    ("library_config_of_4x", "4.40.2", f"{DTYPE},{ROPE}"),
    ("own_tokenizer", "4.44.2", f"{TOKENIZERS},chat-template-jinja-file-ignored"),  # harm 15
    ("own_tokenizer", "4.57.6", TOKENIZERS),
    ("templates", "4.36.2", "chat-template-jinja-file-ignored"),  # harm 20
    ("own_processor", "4.49.0", "processor-config-nested"),  # harm 55
    ("missing_preprocessor", "4.49.0", "processor-config-nested"),
    ("untied_from_a_configuration", "5.2.0", "v5-config-without-tie-word-embeddings"),  # harm 9
    ("work_around_of_imports", "4.36.2", "get-imports-guarded-flash-attn"),  # harm 11
    ("work_around_of_imports", "4.44.2", "get-imports-guarded-flash-attn"),
    ("composition_that_can_be_made", "5.0.0", "config-without-defaults-cannot-be-shown"),  # harm 12
    ("composition_that_can_be_made", "5.6.0", "config-without-defaults-cannot-be-shown"),
    ("composition_that_can_be_made", "4.53.0", "config-without-defaults-cannot-be-shown"),
    ("own_tied_keys", "5.0.0", "v5-t5-tied-keys-order"),  # harm 16
    ("umt5_of_its_own", "5.0.0", "v5-umt5-config-unties-encoder"),  # harm 17
    ("own_names_of_weights", "4.44.2", "vlm-checkpoint-key-layout-new-to-old"),  # harm 51
    ("own_names_of_weights", "5.3.0", "vlm-checkpoint-key-layout-new-to-old"),
    ("own_vision_language_model", "5.5.1", "v5-vlm-saved-in-two-layouts"),  # harm 52
    ("own_reward_model", "4.53.0", "vlm-key-mapping-subclass"),  # harm 53
    ("buffers_of_children", "5.0.0", "v5-custom-weights-initialised-again"),  # harm 54
    ("buffers_of_children", "5.12.1", "v5-custom-weights-initialised-again"),
    ("large_tokenizer_without_configuration", "4.57.2", "tokenizer-local-config-dict"),  # harm 56
    ("reused_model_kwargs", "4.56.0", "pipeline-torch-dtype-ignored"),  # harm 57
)


HANDLERS = (
    ("kinds_of_layers", "5.13.0", "v5-custom-layer-types"),
    ("model_around_gemma3", "4.51.3", "gemma3-two-layouts-into-base"),
    ("llama31_in_an_old_release", "4.42.4", "rope-scaling-validation-llama31"),
    ("phi3_in_an_old_release", "4.42.4", "phi3-longrope-type-refused"),
    ("scaling_refused_by_remote_code", "5.21.0", "rope-scaling-completed-too-soon"),
    ("tokenizer_without_its_list", "4.48.3", "extra-special-tokens-list"),
    ("tokenizer_of_an_unknown_class", "4.57.6", "tokenizer-class-tokenizersbackend"),
    ("large_tokenizer_that_is_handled", "4.57.2", "tokenizer-local-config-dict"),
    ("weights_without_metadata", "4.47.1", "safetensors-metadata-none"),
    ("size_in_reserve", "4.50.3", "qwen2vl-saved-size-pixels"),
    ("video_size_in_reserve", "4.53.3", "colpali-size-keys"),
    ("image_processor_without_a_hash", "4.50.3", "qwen2vl-max-pixels-ignored"),
    ("pipeline_of_its_own", "4.56.0", "pipeline-torch-dtype-ignored"),
    ("adapter_of_a_vision_language_model", "4.52.3", "vlm-save-reverse-mapping"),
)


@pytest.mark.parametrize(("program", "release", "fix"), PROGRAMS)
def test_a_right_program_stays_right(program, release, fix):
    stays(program, release, fix)


@pytest.mark.parametrize(("program", "release", "fix"), HANDLERS)
def test_a_program_that_handles_the_error_stays_right(program, release, fix):
    extras = [f"torchvision=={PACKAGES['torchvision']}"] if "size" in program or "image" in program else []
    extras = ["peft==0.15.2"] if "adapter" in program else extras
    stays(program, release, fix, module="programs_handlers", extras=extras)


def test_a_handler_that_asks_again_gets_the_repair():
    name = "tests.working.loading.programs_handlers:two_ways_to_load"
    fix = "tokenizer-class-tokenizersbackend"
    stock = run(name, transformers="4.57.6", flash_attn=None, hotfix=False)
    assert stock.error is not None
    armed = run(name, transformers="4.57.6", flash_attn=None, env={"HOTFIX_ONLY": fix}).require()
    assert read(armed.tensors["pad"]) == '"<unk>"'


SUBCLASSES = (
    ("conversion_of_its_own", "5.9.0"),
    ("conversion_of_its_own", "5.23.0"),
    ("experts_of_its_own", "5.23.0"),  # ends in 5.9.0, as the next one does
    ("head_of_another_shape", "5.23.0"),
    ("names_changed_in_the_file", "5.9.0"),
    ("names_changed_in_the_file", "5.23.0"),
    ("names_given_by_the_caller", "5.9.0"),
    ("names_given_by_the_caller", "5.23.0"),
    ("names_of_its_own", "5.9.0"),
    ("names_of_its_own", "5.23.0"),
    ("names_that_are_saved", "5.9.0"),
    ("names_that_are_saved", "5.23.0"),
    ("tied_to_its_embeddings", "5.9.0"),
    ("tied_to_its_embeddings", "5.23.0"),
)


@pytest.mark.parametrize(("program", "release"), SUBCLASSES)
def test_a_subclass_that_loads_rightly_is_left_alone(program, release):
    stays(program, release, "v5-subclass-weights-not-converted", module="programs_subclasses")


@pytest.mark.parametrize("release", ["4.44.2", "4.52.3", "4.57.6", "5.13.0"])
def test_a_model_of_its_own_lives_as_in_stock(release):
    name = "tests.working.loading.programs_life:life"
    stock = run(name, transformers=release, flash_attn=None, hotfix=False).require().tensors
    armed = run(name, transformers=release, flash_attn=None).require().tensors
    assert {key: read(value) for key, value in stock.items()} == {key: read(value) for key, value in armed.items()}
