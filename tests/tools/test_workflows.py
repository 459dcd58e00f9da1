"""The workflows call sessions of nox, and hold nothing else that could go wrong on its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SETUP = "python -m pip install nox uv"


def sessions():
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any("nox.session" in ast.unparse(decorator) for decorator in node.decorator_list)
    }


def test_there_is_a_workflow_for_each_occasion():
    assert [file.stem for file in WORKFLOWS] == ["ci", "full", "newrelease", "release"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_run_only_sessions_that_exist(file):
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        match = re.fullmatch(r"nox -s ([\w ]+?)(?: (?:--|--force-python) [^;&|]*)?", command)
        assert command == SETUP or match, command
        assert not match or set(match[1].split()) <= sessions(), command


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_no_workflow_may_do_more_than_it_says(file):
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    granted = yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"]
    assert granted == (
        {"contents": "write", "pull-requests": "write"} if file.stem == "newrelease" else {"contents": "read"}
    )
