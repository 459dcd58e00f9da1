"""The output of `--format sarif`, checked against the schema of SARIF 2.1.0 and the additional requirements of GitHub.

Both come in an npm package, @microsoft/sarif-multitool-linux; `nox -s formats` downloads it and sets SARIF_MULTITOOL to
its folder. The program in it checks only GitHub's rules: its own schema check accepts a level that does not exist, so
the schema is checked here.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .cli_runs import hotfix

PACKAGE = os.environ.get("SARIF_MULTITOOL")
pytestmark = pytest.mark.skipif(PACKAGE is None, reason="sarif-multitool is missing; `nox -s formats` gets it")
# The program looks up the addresses in a log, and waits ten seconds for each where there is no network.
NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
IGNORED = '[[tool.hotfix.scan.ignore]]\nid = "flash-rotary-dtype"\nreason = "we live with it"\n'
CODE = """
from transformers import AdamW, top_k_top_p_filtering
from transformers.pytorch_utils import find_pruneable_heads_and_indices
try:
    from transformers import AutoModelForVision2Seq
except ImportError:
    AutoModelForVision2Seq = None
"""


def faults(folder: Path) -> list[tuple[str, str]]:
    """The errors in the logs of a folder: the log, and the fault or the rule of the validator."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is missing")
    package = Path(str(PACKAGE))
    logs = sorted(folder.glob("*.sarif"))
    schema = jsonschema.Draft202012Validator(json.loads((package / "sarif-2.1.0.json").read_text(encoding="utf-8")))
    problems = [(log.name, fault.message) for log in logs for fault in schema.iter_errors(json.loads(log.read_text()))]
    report = folder / "report"
    said = subprocess.run(
        [str(package / "Sarif.Multitool"), "validate", *map(str, logs), "--rule-kind", "Sarif;Gh", "-o", str(report)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **NO_NETWORK},
    )
    assert f"{len(logs)} files scanned" in said.stdout, said.stdout + said.stderr
    run = json.loads(report.read_text(encoding="utf-8-sig"))["runs"][0]
    assert all(invocation["executionSuccessful"] for invocation in run["invocations"]), said.stdout
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    return problems + [
        (place.rpartition("/")[2], result["ruleId"])
        for place, result in zip(places, run["results"])
        if result.get("level") == "error"
    ]


def test_the_output_is_valid_sarif_that_github_accepts(tmp_path):
    logs, project = tmp_path / "logs", tmp_path / "project"
    logs.mkdir()
    project.mkdir()
    (project / "pinned.txt").write_text("transformers==4.49.0\nflash-attn==2.7.4.post1\n")
    (project / "ranged.txt").write_text("torch\ntransformers>=4.45,<5\n")
    (project / "nothing.txt").write_text("torch==2.6.0\n")
    (project / "code.py").write_text(CODE)
    (project / "good.py").write_text("from transformers import AutoModel\n")
    for file in ("pinned.txt", "ranged.txt", "nothing.txt"):
        done = hotfix("scan", file, "--format", "sarif", cwd=project)
        (logs / f"{file}.sarif").write_text(done.stdout)
    for file in (".", "good.py"):
        done = hotfix("scan-code", file, "--format", "sarif", cwd=project)
        (logs / f"code{file}.sarif").write_text(done.stdout)
    (project / "pyproject.toml").write_text(IGNORED)
    done = hotfix("scan", "pinned.txt", "--format", "sarif", cwd=project)
    (logs / "ignored.sarif").write_text(done.stdout)
    assert any("suppressions" in result for result in done.json["runs"][0]["results"])
    assert faults(logs) == []


def test_planted_faults_are_found(tmp_path):
    """One log breaks the schema, and only GitHub would refuse the other: without them these tests prove nothing."""
    (tmp_path / "pins.txt").write_text("transformers==4.49.0\n")
    log = hotfix("scan", "pins.txt", "--format", "sarif", cwd=tmp_path).json
    run = log["runs"][0]
    described = run["tool"]["driver"]["rules"][0].pop("fullDescription")
    (tmp_path / "refused.sarif").write_text(json.dumps(log))
    run["tool"]["driver"]["rules"][0]["fullDescription"] = described
    run["results"][0]["level"] = "fatal"
    (tmp_path / "wrong.sarif").write_text(json.dumps(log))
    assert faults(tmp_path) == [
        ("wrong.sarif", "'fatal' is not one of ['none', 'note', 'warning', 'error']"),
        ("refused.sarif", "GH2012"),
    ]
