"""After a traceback that an opt-in repair prevents, a line names the opt-in."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from hotfix.reports import ended
from tests.commands.cli_runs import ROOT, stack

ID = "clip-tower-attributes-removed"
PROGRAM = """
import hotfix.auto
from transformers import CLIPTextConfig, CLIPTextModel

model = CLIPTextModel(CLIPTextConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2))
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
    path = ":".join(map(str, (*stack("5.23.0"), ROOT)))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.testbed
def test_a_process_that_ends_with_such_an_error_names_the_opt_in():
    ended_with_it = run(f"{PROGRAM}model.text_model")
    assert ended_with_it.returncode == 1
    *_, error, _, last = ended_with_it.stderr.splitlines()
    assert error.startswith("AttributeError: ")
    assert f"HOTFIX_OPTIN={ID}" in last


RAISES = """
import hotfix.auto, transformers

def fail():
    raise AttributeError("'CLIPTextModel' object has no attribute '{name}'")
"""


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("name", "end", "variables"),
    [
        ("text_mode", "fail()", {}),
        ("text_model", "try:\n    fail()\nexcept AttributeError:\n    raise SystemExit(1)", {}),
        ("text_model", "fail()", {"HOTFIX_LOG": "quiet"}),
        ("text_model", "fail()", {"HOTFIX_SKIP": ID}),
    ],
    ids=["another error", "a handled error", "quiet", "skipped"],
)
def test_no_other_process_names_it(name, end, variables):
    ended_otherwise = run(f"{RAISES.format(name=name)}\n{end}", **variables)
    assert ended_otherwise.returncode == 1
    assert ID not in ended_otherwise.stderr
