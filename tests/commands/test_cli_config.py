"""Settings in files: of processes by HOTFIX_CONFIG, of `hotfix scan` in a project's pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hotfix.commands import CommandError
from hotfix.commands.main import main
from hotfix.commands.pins import readers
from hotfix.commands.scan import settings as project_settings
from hotfix.engine.policy import Policy
from hotfix.errors import PolicyError
from tests.commands.cli_runs import ROOT, hotfix
from tests.facts import lacking

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
        ("skp = 'x'\n", "'skp' is not a setting"),
        ("skip = 3\n", "must be a string"),
        ("log = 'loud'\n", "HOTFIX_LOG=loud"),
        ("log = \n", "not TOML"),
        ("config = '/other.toml'\n", "'config' is not a setting"),
        ("[tool.hotfix]\nskip = {a = 1}\n", "must be a string"),
    ],
)
def test_unreadable_input_is_an_error_and_nothing_is_guessed(settings, text, said):
    variables = settings(text)
    with pytest.raises(PolicyError, match=said):
        Policy.from_environment(variables)
    assert said in Policy.lenient(variables).problem
    with pytest.raises(PolicyError):
        Policy.lenient(settings(f"require = 'x'\n{text}"))  # the readable part has a guard


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


def test_config_lists_the_active_settings_and_their_origin(settings, tmp_path):
    variables = settings('skip = ["x*"]\nlog = "quiet"\n')
    (tmp_path / "pyproject.toml").write_text(IGNORE.format(ROTARY, "expires = 2020-01-01"))
    done = hotfix("config", "--json", env={**variables, "HOTFIX_LOG": "info"}, cwd=tmp_path).json
    switches = {switch["name"]: (switch["value"], switch["from"]) for switch in done["switches"]}
    assert switches["HOTFIX_SKIP"] == ("x*", variables["HOTFIX_CONFIG"])
    assert switches["HOTFIX_LOG"] == ("info", "the environment")
    assert switches["HOTFIX_PIN"] == ("", "default")
    [ignored] = done["scan"]["ignore"]
    assert ignored == {"id": ROTARY, "reason": "we live with it", "expires": "2020-01-01", "holds": False}
    assert "it counts again" in hotfix("config", cwd=tmp_path).text
    assert hotfix("config", env=settings("skp = 1\n")).status == 2


def test_a_project_configures_failures_and_ignored_bugs(tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("transformers==4.49.0\nflash-attn==2.7.4.post1\n")
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.hotfix.scan]\nfail-on = "crash"\n')
    assert hotfix("scan", "requirements.txt", cwd=tmp_path).status == 1
    [scan] = hotfix("scan", "requirements.txt", "--json", cwd=tmp_path).json["scans"]
    every = [finding["id"] for finding in scan["findings"] if finding["kind"] == "crash"]
    lived_with = "".join(IGNORE.format(id, "expires = 2099-01-01" if number else "") for number, id in enumerate(every))
    project.write_text(f'[tool.hotfix.scan]\nfail-on = "crash"\n{lived_with}')
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert done.status == 0
    assert lacking(done.text, f"{every[0]} (we live") == []
    assert hotfix("scan", "requirements.txt", "--fail-on", "silent", cwd=tmp_path).status == 1, "an option is stronger"
    results = hotfix("scan", "requirements.txt", "--format", "sarif", cwd=tmp_path).json["runs"][0]["results"]
    assert {result["ruleId"] for result in results if "suppressions" in result} == set(every)
    project.write_text('[tool.hotfix.scan]\nfail-on = "crash"\n' + IGNORE.format(ROTARY, "expires = 2020-01-01"))
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert done.status == 1
    assert lacking(done.text, f"{ROTARY} was ignored", "2020-01-01") == []


FORMS = {
    "blanks in the heading": "[ tool . hotfix . scan ]\nfail-on = 'crash'\n",
    "quotes in the heading": "[\"tool\".'hotfix'.\"sc\\u0061n\"]\nfail-on = 'crash'\n",
    "escapes in the heading": '[tool."hotf\\u0069x".scan]\nfail-on = "crash"\n',
    "an inline table": "[tool]\nhotfix = { scan = { fail-on = 'crash' } }\n",
    "inline tables": "tool = { hotfix = { scan = { fail-on = 'crash' } } }\n",
    "dotted keys": "tool.hotfix.scan.fail-on = 'crash'\n",
    "dotted keys with blanks": "[tool]\nhotfix . scan . fail-on = 'crash'\n",
    "a byte order mark": "\ufeff[tool.hotfix.scan]\nfail-on = 'crash'\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_count_however_they_are_written(form, tmp_path):
    (tmp_path / "pyproject.toml").write_text(FORMS[form], encoding="utf-8")
    assert project_settings.read(tmp_path).fail_on == "crash"


def test_the_nearest_file_with_settings_counts(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.hotfix.scan]\nfail-on = 'crash'\n")
    inner = tmp_path / "package" / "tests"
    inner.mkdir(parents=True)
    (inner.parent / "pyproject.toml").write_text("[project]\nname = 'inner'\n[tool.other]\nhotfix = 3\n")
    assert project_settings.read(inner).fail_on == "crash"


@pytest.mark.parametrize("parser", [True, False])
def test_without_a_parser_settings_are_an_error_and_other_files_are_none(parser, tmp_path, monkeypatch):
    if not parser:
        monkeypatch.setattr(readers, "_toml_parser", lambda: None)
    file = tmp_path / "pyproject.toml"
    file.write_text("[project]\ndependencies = ['transformers-hotfix[cli]', 'torch']\nlicense = 'MIT'\n")
    assert project_settings.read(tmp_path).fail_on == ""
    for text in FORMS.values():
        file.write_text(text, encoding="utf-8")
        if parser:
            assert project_settings.read(tmp_path).fail_on == "crash"
        else:
            with pytest.raises(CommandError, match=r"pyproject.toml: .*tomli.*pip install"):
                project_settings.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tool = 3\n", "tool is a number and must be a table; write [tool]"),
        ("tool = ['hotfix']\n", "tool is a list"),
        ("[[tool]]\nhotfix = 3\n", "tool is a list"),
        ("[tool]\nhotfix = true\n", "tool.hotfix is true or false and must be a table; write [tool.hotfix]"),
        ("[tool.hotfix]\nscan = 3\n", "tool.hotfix.scan is a number"),
        ("[tool.hotfix]\nscan = 2027-01-31\n", "tool.hotfix.scan is a value"),
        ("[[tool.hotfix.scan]]\nfail-on = 'any'\n", "tool.hotfix.scan is a list"),
        ("[tool.hotfix.scan]\nfail-on = ['any']\n", "allowed are"),
        ("[tool.hotfix.scan]\nignore = {id = 'x'}\n", "must be a list"),
        ("[tool.hotfix.scan]\nignore = [3]\n", "must be a list"),
        ("[tool.hotfix.scan\n", "not TOML"),
        ("x = " + "9" * 5000 + "\n", "not TOML"),
        ("x = " + "[" * 5000 + "\n", "nested too deeply"),
        ("\udcff = 1\n", "UTF-8"),
        ("#" * 2**21, "larger than 1 MB"),
        ("[tool.hotfix.scan]\nfail_on = 'any'\n", "has no 'fail_on'"),
        ("[tool.hotfix]\nsacn = 1\n", "has no 'sacn'"),
        ("[tool.hotfix.scan]\nfail-on = 'bad'\n", "allowed are"),
        ('[[tool.hotfix.scan.ignore]]\nid = "flash-rotary-dtype"\n', "an id and a reason"),
        (IGNORE.format("flash-rotary", ""), "did you mean"),
        (IGNORE.format(ROTARY, "expires = 'soon'"), "write it as 2027-01-31"),
    ],
)
def test_a_mistake_in_a_project_is_one_line(tmp_path, text, said, monkeypatch, capsys):
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n")
    monkeypatch.chdir(tmp_path)
    assert main(["scan", "requirements.txt"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err
    assert str(tmp_path / "pyproject.toml") in printed.err
    assert "--debug" not in printed.err
