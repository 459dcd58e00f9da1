"""Configurations and tokenizers of working programs are the same with hotfix."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = [
    ("experts_of_its_own", "4.51.3", "qwen3-moe-experts-key"),
    ("rotary_pct_given", "5.2.0", "v5-gpt-neox-rotary-pct-lost"),
    ("both_lists_of_tokens", "5.2.0", "v5-additional-special-tokens-lost"),
    ("scaling_completed_early", "5.21.0", "rope-scaling-completed-too-soon"),
    ("longrope_with_its_own_check", "4.42.4", "phi3-longrope-type-refused"),
    ("linear_beside_llama3", "4.42.4", "rope-scaling-validation-llama31"),
    ("names_of_a_repeated_piece", "5.2.0", "v5-conversion-reverse"),
    ("experts_beside_rope_parameters", "5.0.0", "qwen3-moe-experts-key"),
    ("no_tokens_of_the_list", "5.2.0", "v5-additional-special-tokens-lost"),
    ("attributes_of_initialised_modules", "5.0.0", "v5-custom-weights-initialised-again"),
    ("a_table_of_its_own", "5.0.0", "v5-umt5-config-unties-encoder"),
    ("a_table_of_its_own", "5.2.0", "v5-umt5-config-unties-encoder"),
    ("rope_of_a_part", "4.49.0", "v5-rope-parameters-ignored-by-v4"),
    ("rope_of_a_part", "4.57.6", "v5-rope-parameters-ignored-by-v4"),
    ("rope_of_a_model_without", "4.57.6", "v5-rope-parameters-ignored-by-v4"),
    ("a_template_file_of_its_own", "4.44.2", "chat-template-jinja-file-ignored"),
    ("a_dtype_of_its_own", "4.56.0", "pipeline-torch-dtype-ignored"),
]


@pytest.mark.parametrize(("program", "release", "fix"), PROGRAMS)
def test_a_working_program_gives_the_same(program, release, fix):
    case = f"tests.working.loading.programs_more:{program}"
    stock = run(case, transformers=release, flash_attn=None, hotfix=False).require().tensors
    armed = run(case, transformers=release, flash_attn=None, env={"HOTFIX_ONLY": fix}).require().tensors
    assert stock.keys() == armed.keys()
    assert [name for name in stock if not stock[name].equal(armed[name])] == []
