"""Order and unknown source on a real release: the package replaces itself by a lazy module while it loads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.facts import lacking
from tools.testbed import overlay
from tools.testbed.run import ROOT, run_script

pytestmark = pytest.mark.testbed

MODELING = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
SAYS = """
import hotfix
print([
    (one.verdict.value, one.state.value, one.late) for one in hotfix.report() if one.target.startswith("{module}:apply")
])
"""


@pytest.mark.parametrize(
    "program",
    [
        "import hotfix.auto, transformers; from transformers import Qwen2_5_VLModel",
        "import transformers, hotfix.auto; from transformers import Qwen2_5_VLModel",
        "import hotfix.auto, importlib.util; importlib.util.find_spec('{module}'); import {module}",
    ],
    ids=["hotfix first", "transformers first", "after find_spec"],
)
def test_the_target_is_repaired_in_any_order(program: str) -> None:
    result = run_script("-c", [(program + "\n" + SAYS).replace("{module}", MODELING)])
    assert result.require().stdout == "[('broken', 'applied', False)]\n"


RECORDED_AND_READ = """
from hotfix import session
from hotfix.versions import verdict
catalogue = session.current().catalogue
compared = 0
for entry in catalogue.entries.values():
    fix = entry.load()
    for target in fix.targets:
        if catalogue.is_known_good(target.module, target.releases):
            recorded, read = verdict.judge_from_sweep(fix, target), verdict.judge_installed(fix, target)
            assert recorded, target
            assert (recorded.verdict, recorded.source) == (read.verdict, read.source), target
            compared += 1
assert compared > 50
"""


@pytest.mark.parametrize("release", ["4.36.0", "4.53.0", "5.23.0"])
def test_the_record_of_an_examined_release_equals_a_fresh_reading(release: str) -> None:
    run_script("-c", [RECORDED_AND_READ], transformers=release).require()


def test_one_changed_token_in_a_release_makes_its_source_unknown(tmp_path: Path) -> None:
    released = overlay.overlay("4.49.0") / "transformers"
    shutil.copytree(released, tmp_path / "transformers", ignore=shutil.ignore_patterns("__pycache__"))
    modeling = tmp_path / (MODELING.replace(".", "/") + ".py")
    text = modeling.read_text()
    modeling.write_text(text.replace("apply_rotary_emb(q.float(), cos, sin)", "apply_rotary_emb(q.float(), cos, +sin)"))
    assert modeling.read_text() != text
    [row] = [row for row in status(tmp_path) if row["target"] == f"{MODELING}:apply_rotary_pos_emb_flashatt"]
    assert (row["verdict"], row["state"]) == ("unknown", "skipped")
    assert lacking(row["reason"], "apply_rotary_pos_emb_flashatt", "transformers 4.49.0") == []
    assert lacking(row["reason"], "looks broken", "never examined") == []


def status(folder: Path) -> list[dict[str, str]]:
    search = os.pathsep.join(map(str, [folder, overlay.flash_attn("2.7.4.post1"), ROOT]))
    done = subprocess.run(
        [sys.executable, "-m", "hotfix", "status", "--json"],
        env={**os.environ, "PYTHONPATH": search},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    rows: list[dict[str, str]] = json.loads(done.stdout)["outcomes"]
    return rows
