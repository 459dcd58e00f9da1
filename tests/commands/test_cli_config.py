"""Settings in files: of processes by HOTFIX_CONFIG, of `hotfix scan` in a project's pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hotfix.engine.policy import Policy
from hotfix.errors import PolicyError
from tests.commands.cli_runs import ROOT, hotfix

ROTARY, PADDING = "flash-rotary-dtype", "fa2-right-padding-check"
IGNORE = '[[tool.hotfix.scan.ignore]]\nid = "{}"\nreason = "we  live\\nwith it"\n{}\n'


@pytest.fixture
def settings(tmp_path):
    """Writes a file of settings; returns the variables that name it."""

    def write(text):
        (tmp_path / "hotfix.toml").write_text(text)
        return {"HOTFIX_CONFIG": str(tmp_path / "hotfix.toml")}

    return write


def test_a_file_sets_switches_and_a_variable_is_stronger(settings):
    variables = settings('[tool.hotfix]\nskip = ["one", "two-*"]\nstrict = true\nlog = "quiet"\npin = "0123456789ab"\n')
    read = Policy.from_environment(variables)
    assert (read.skip, read.strict, read.log, read.pin) == (("one", "two-*"), True, "quiet", "0123456789ab")
    read = Policy.from_environment({**variables, "HOTFIX_LOG": "debug", "HOTFIX_STRICT": "0", "HOTFIX_SKIP": ""})
    assert (read.skip, read.strict, read.log) == ((), False, "debug")
    assert Policy.from_environment(settings("enabled = false\n")).enabled is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("skp = 'x'\n", "'skp' is no switch"),
        ("skip = 3\n", "must be a text"),
        ("log = 'loud'\n", "HOTFIX_LOG=loud"),
        ("log = \n", "not TOML"),
        ("config = '/other.toml'\n", "'config' is no switch"),
        ("[tool.hotfix]\nskip = {a = 1}\n", "must be a text"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_nothing_is_guessed(settings, text, said):
    variables = settings(text)
    with pytest.raises(PolicyError, match=said):
        Policy.from_environment(variables)
    assert said in Policy.lenient(variables).problem
    with pytest.raises(PolicyError):
        Policy.lenient(settings(f"require = 'x'\n{text}"))  # it asks to be stopped, so far as it can be read


def test_a_path_must_be_absolute_and_a_working_directory_is_never_read(settings, tmp_path):
    with pytest.raises(PolicyError, match="absolute"):
        Policy.from_environment({"HOTFIX_CONFIG": "hotfix.toml"})
    with pytest.raises(PolicyError, match="No such file"):
        Policy.from_environment({"HOTFIX_CONFIG": "/nowhere/hotfix.toml"})
    for name in ("hotfix.toml", "pyproject.toml"):
        (tmp_path / name).write_text("[tool.hotfix]\nenabled = false\nnonsense = 1\n")
    code = "import hotfix.auto, hotfix; from hotfix import session; print(session.current().policy.enabled)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_config_says_what_is_in_force_and_where_it_comes_from(settings, tmp_path):
    variables = settings('skip = ["x*"]\nlog = "quiet"\n')
    (tmp_path / "pyproject.toml").write_text(IGNORE.format(ROTARY, "expires = 2020-01-01"))
    done = hotfix("config", "--json", env={**variables, "HOTFIX_LOG": "info"}, cwd=tmp_path).json
    switches = {one["name"]: (one["value"], one["from"]) for one in done["switches"]}
    assert switches["HOTFIX_SKIP"] == ("x*", variables["HOTFIX_CONFIG"])
    assert switches["HOTFIX_LOG"] == ("info", "the environment")
    assert switches["HOTFIX_PIN"] == ("", "default")
    [ignored] = done["scan"]["ignore"]
    assert ignored == {"id": ROTARY, "reason": "we live with it", "expires": "2020-01-01", "holds": False}
    assert "it counts again" in hotfix("config", cwd=tmp_path).text
    assert hotfix("config", env=settings("skp = 1\n")).status == 2


def test_a_project_says_what_to_fail_on_and_what_to_ignore(tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("transformers==4.49.0\nflash-attn==2.7.4.post1\n")
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.hotfix.scan]\nfail-on = "crash"\n')
    assert hotfix("scan", "requirements.txt", cwd=tmp_path).status == 1
    [scan] = hotfix("scan", "requirements.txt", "--json", cwd=tmp_path).json["scans"]
    every = [one["id"] for one in scan["findings"] if one["kind"] == "crash"]
    lived_with = "".join(IGNORE.format(id, "expires = 2099-01-01" if number else "") for number, id in enumerate(every))
    project.write_text(f'[tool.hotfix.scan]\nfail-on = "crash"\n{lived_with}')
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert done.status == 0
    assert f"Ignored by this project: {every[0]} (we live with it)" in done.text
    assert hotfix("scan", "requirements.txt", "--fail-on", "silent", cwd=tmp_path).status == 1, "an option is stronger"
    results = hotfix("scan", "requirements.txt", "--format", "sarif", cwd=tmp_path).json["runs"][0]["results"]
    assert {one["ruleId"] for one in results if "suppressions" in one} == set(every)
    project.write_text('[tool.hotfix.scan]\nfail-on = "crash"\n' + IGNORE.format(ROTARY, "expires = 2020-01-01"))
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert done.status == 1
    assert f"{ROTARY} was ignored until 2020-01-01, and counts again" in done.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.hotfix.scan]\nfail_on = 'any'\n", "has no 'fail_on'"),
        ("[tool.hotfix]\nsacn = 1\n", "has no 'sacn'"),
        ("[tool.hotfix.scan]\nfail-on = 'bad'\n", "allowed are"),
        ('[[tool.hotfix.scan.ignore]]\nid = "flash-rotary-dtype"\n', "an id and a reason"),
        (IGNORE.format("flash-rotary", ""), "did you mean"),
        (IGNORE.format(ROTARY, "expires = 'soon'"), "write it as 2027-01-31"),
    ],
)
def test_a_mistake_in_a_project_is_one_line(tmp_path, text, said):
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n")
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
