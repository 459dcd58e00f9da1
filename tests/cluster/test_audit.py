"""``hotfix audit -- COMMAND`` on the processes of a job: a script that starts two ranks."""

from __future__ import annotations

import json

import pytest

from tests.cluster import toy
from tests.commands.schemas import check

TOY = """
import os, subprocess, sys
from transformers.models import toy
for _ in range(int(os.environ.get("RANK", 0)) + 1): toy.answer()
if "RANK" not in os.environ:
    for rank in "01":
        subprocess.run([sys.executable, *sys.argv], env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"}, check=True)
print("done")
"""


TRIGGER = """
from hotfix.trigger import Trigger

TRIGGER = Trigger("toy", when="it is asked", wrong="the answer is wrong")
TRIGGER.strikes()(lambda call: True)
"""


@pytest.fixture
def trained(plain, tmp_path):
    """A script that starts two ranks, in an environment with a toy that has a bug, and a trigger for it."""
    script = tmp_path / "train.py"
    script.write_text(TOY)
    (tmp_path / "toy_fixes.py").write_text(toy.FILES["toy_fixes.py"] + TRIGGER)
    command = ("--", plain.python, script)

    def run(*words, **env):
        variables = {"PYTHONPATH": str(tmp_path), **env}
        return plain.run("-m", "hotfix", "audit", *words, *command, env=variables, check=False)

    return run


def test_the_table_is_over_all_processes(trained):
    done = trained()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 3
    assert "1 of 1 known bug in the modules that this run imported was triggered (" in done.stdout
    assert "(transformers 0.0.1, 3 processes, 2 ranks)" in done.stdout
    (row,) = [line.split("  ") for line in done.stdout.splitlines() if line.startswith("triggered")]
    row = [cell.strip() for cell in row if cell.strip()]
    assert row[:3] == ["triggered", "toy-fixes:toy", "4 of 4 calls of answer, rank 0-1"]
    assert "toy-fixes:toy: the answer is wrong. HOTFIX_MODE=repair repairs it." in done.stdout


@pytest.mark.drawn(4, "long")
def test_fail_is_one_where_something_struck_and_else_the_status_of_the_command(trained):
    assert trained("--fail").returncode == 1
    assert trained("--fail", HOTFIX_SKIP="toy-fixes:toy").returncode == 0


def test_json_has_the_counts(trained):
    done = trained("--json")
    audit = json.loads(done.stdout)
    check("audit", audit)
    (bug,) = [bug for bug in audit["bugs"] if bug["state"] == "triggered"]
    (counted,) = bug["observed"]
    assert (counted["calls"], counted["struck"], counted["ranks"], counted["processes"]) == (4, 4, [0, 1], 3)
    assert done.stderr.count("done") == 3
