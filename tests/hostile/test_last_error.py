"""After a traceback that an opt-in repair prevents, a line names the opt-in."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from hotfix.reports import ended
from tests.commands.cli_runs import ROOT, stack

ID = "pretrainedmodel-no-generate"
PROGRAM = """
import hotfix.auto
import torch
from transformers import PretrainedConfig, PreTrainedModel

class OwnForCausalLM(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(2, 2)

    def prepare_inputs_for_generation(self, input_ids):
        return {"input_ids": input_ids}

model = OwnForCausalLM(PretrainedConfig())
"""


def waiting(*errors):
    return [SimpleNamespace(id="toy", load=lambda: SimpleNamespace(errors=errors))]


def raised(error, name="__main__"):
    """An error that a module of this name has raised."""
    try:
        exec("raise error", {"error": error, "__name__": name})
    except type(error) as same:
        return same


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (AttributeError("'XForCausalLM' object has no attribute 'generate'"), True),
        (AttributeError("'XForCausalLM' object has no attribute 'generat'"), False),
        (TypeError("'XForCausalLM' object has no attribute 'generate'"), False),
    ],
)
def test_the_line_names_the_fix_whose_error_it_is(error, named):
    pattern = "AttributeError: '…ForCausalLM' object has no attribute 'generate'"
    assert ("HOTFIX_OPTIN=toy" in ended.sentence(raised(error), waiting(pattern))) == named
    assert ended.sentence(raised(error), []) == ""


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        (KeyError("type"), "KeyError: 'type'"),
        (AttributeError("'NoneType' object has no attribute 'shape'"), "AttributeError: 'NoneType' object has no …"),
    ],
)
def test_an_error_of_any_code_needs_a_frame_of_the_library(error, pattern):
    assert ended.sentence(raised(error), waiting(pattern)) == ""
    assert "HOTFIX_OPTIN=toy" in ended.sentence(raised(error, "transformers_modules.mine"), waiting(pattern))


def run(code, **variables):
    path = ":".join(map(str, (*stack("4.55.0"), ROOT)))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.testbed
def test_a_process_that_ends_with_such_an_error_names_the_opt_in():
    ended_with_it = run(f"{PROGRAM}model.generate()")
    assert ended_with_it.returncode == 1
    *_, error, _, last = ended_with_it.stderr.splitlines()
    assert error.startswith("AttributeError: ")
    assert f"HOTFIX_OPTIN={ID}" in last


RAISES = """
import hotfix.auto, transformers

def fail():
    raise AttributeError("'OwnForCausalLM' object has no attribute '{name}'")
"""


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("name", "end", "variables"),
    [
        ("generat", "fail()", {}),
        ("generate", "try:\n    fail()\nexcept AttributeError:\n    raise SystemExit(1)", {}),
        ("generate", "fail()", {"HOTFIX_LOG": "quiet"}),
        ("generate", "fail()", {"HOTFIX_SKIP": ID}),
    ],
    ids=["another error", "a handled error", "quiet", "skipped"],
)
def test_no_other_process_names_it(name, end, variables):
    ended_otherwise = run(f"{RAISES.format(name=name)}\n{end}", **variables)
    assert ended_otherwise.returncode == 1
    assert ID not in ended_otherwise.stderr
