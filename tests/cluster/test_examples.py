"""The examples for clusters, as far as one machine can run them: two torchruns stand for two nodes."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from hotfix.commands import projects
from hotfix.engine import settings
from hotfix.engine.policy import VARIABLES, Policy
from tests.commands.cli_runs import ROOT, hotfix, stack

EXAMPLES = ROOT / "examples" / "cluster"


def test_every_shell_script_can_be_read_by_the_shell():
    scripts = [*EXAMPLES.glob("*.sh"), *EXAMPLES.glob("*.sbatch")]
    assert len(scripts) >= 3
    for script in scripts:
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_every_switch_in_the_examples_exists():
    for file in EXAMPLES.iterdir():
        if file.is_file():
            named = set(re.findall(r"\bHOTFIX_[A-Z_]+", file.read_text()))
            assert named <= set(VARIABLES), file.name


def test_the_settings_of_the_image_are_settings():
    read = Policy.from_environment({settings.VARIABLE: str(EXAMPLES / "hotfix.toml")})
    assert read.log.value == "info"


def test_the_kubernetes_job_is_one_and_its_command_exists():
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    service, job = yaml.safe_load_all((EXAMPLES / "job.yaml").read_text())
    assert (service["kind"], job["kind"], job["spec"]["completionMode"]) == ("Service", "Job", "Indexed")
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["hotfix", "run", "--"]
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in job["spec"]["template"]["spec"]["volumes"]}


def test_the_pins_of_the_image_can_be_scanned():
    text = (EXAMPLES / "Dockerfile").read_text()
    assert "transformers==4.49.0" in [one for _, one in projects.of_dockerfile(text)]
    scan = hotfix("scan", str(EXAMPLES / "Dockerfile"), "--json").json["scans"][0]
    assert scan["names_hotfix"] is True


@pytest.mark.slow
@pytest.mark.testbed
def test_two_nodes_agree_and_the_fleet_says_so(tmp_path):
    """The script of each node, in two sessions of this machine."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, module in {"hotfix": "hotfix", "torchrun": "torch.distributed.run"}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (tools / name).chmod(0o755)
    shutil.copy(EXAMPLES / "train.py", tmp_path)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join(map(str, [*stack("4.49.0"), ROOT]))
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": path, "MASTER_PORT": str(port)}
    env |= {"HOTFIX_RECORD": str(tmp_path / "records"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    nodes = [
        subprocess.Popen(
            [str(EXAMPLES / "two_nodes.sh")],
            cwd=tmp_path,
            env={**env, "NODE_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    ended = [node.communicate(timeout=300) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], ended
    said = sorted(line for out, _ in ended for line in out.splitlines() if line.startswith("rank "))
    assert [line.split(":")[0] for line in said] == ["rank 0 of 2", "rank 1 of 2"]
    assert len({line.split()[-1] for line in said}) == 1
    fleet = hotfix("fleet", str(tmp_path / "records"))
    assert fleet.status == 0, fleet.stdout
    assert "All processes agree." in fleet.stdout
