"""Every JSON output for programs matches docs/schemas, and has no undocumented field."""

from __future__ import annotations

import json

import pytest

from hotfix.commands.main import COMMANDS
from hotfix.reports import lock
from hotfix.reports.report import Report
from tests.commands.cli_runs import ROOT, hotfix
from tests.commands.schemas import SCHEMAS, check

pytestmark = pytest.mark.drawn(4)  # a process for each case

ROTARY = "flash-rotary-dtype"
PINS = ROOT / "tests" / "commands" / "pins"
VERSIONS = ROOT / "hotfix" / "versions"

# The output of each command with --json; `verify` has its own test, on a machine where it can prove something.
PRINTED = {
    "status": ("status", "--json"),
    "unknown": ("status", "--unknown", "--json"),
    "list": ("list", "--all", "--json"),
    "explain": ("explain", ROTARY, "--json"),
    "matches": ("explain", "--error", "Input and cos/sin must have the same dtype", "--json"),
    "scan": ("scan", "--json", str(PINS / "verl.txt"), str(PINS / "qwen.txt")),
    "doctor": ("doctor", "--quick", "--json"),
    "diff": ("diff", ROTARY, "--json"),
    "digest": ("digest", "packaging.version:Version.__init__", "--json"),
    "fleet": ("fleet", ".", "--json"),
    "config": ("config", "--json"),
    "audit": ("audit", "--json", "--", "python", "-c", "pass"),
    "scan-code": ("scan-code", "--json", str(ROOT / "tests" / "fixes" / "names" / "remote_code")),
    "audit-path": ("audit", ".", "--json"),
    "check-model": ("check-model", "--json", ".", "--release", "4.51.3"),
}


def test_the_schemas_are_schemas():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is missing")
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMAS.read_text()))


@pytest.mark.parametrize("name", PRINTED)
def test_the_output_of_a_command_matches_its_schema(name, tmp_path):
    config = {"model_type": "llama", "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = hotfix(*PRINTED[name], cwd=tmp_path)
    check(name, done.json)


def test_every_command_with_json_is_looked_at():
    with_json = {word for word in COMMANDS if "--json" in hotfix(word, "--help").stdout}
    assert with_json == {words[0] for words in PRINTED.values()} | {"verify"}


def test_stored_files_match_their_schemas():
    check("catalogue", json.loads((ROOT / "hotfix" / "releases" / "unrepaired.json").read_text()))
    for file in sorted((VERSIONS / "evidence").glob("*.json")):
        check("evidence-index" if file.stem == "index" else "evidence", json.loads(file.read_text()))
    check("lock", json.loads(lock.describe(Report((), {}, "0" * 12, (), {}, ()))))


def test_a_field_that_no_schema_names_is_found():
    with pytest.raises(AssertionError, match="surplus"):
        check("evidence", {"fix": "x", "targets": {}, "surplus": 1})
    with pytest.raises(AssertionError, match="'targets' is a required property"):
        check("evidence", {"fix": "x"})
