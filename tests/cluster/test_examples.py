"""The examples for clusters, as far as one machine can run them: two torchruns act as two nodes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from hotfix.commands.pins import project_files
from hotfix.engine import settings
from hotfix.engine.policy import VARIABLES, Policy
from tests.commands.cli_runs import ROOT, hotfix
from tests.facts import lacking
from tools.testbed import overlay

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
    assert read.log == "info"


def test_the_kubernetes_job_is_one_and_its_command_exists():
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    service, job = yaml.safe_load_all((EXAMPLES / "job.yaml").read_text())
    assert (service["kind"], job["kind"], job["spec"]["completionMode"]) == ("Service", "Job", "Indexed")
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["hotfix", "run", "--"]
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in job["spec"]["template"]["spec"]["volumes"]}


def test_the_pins_of_the_image_can_be_scanned():
    text = (EXAMPLES / "Dockerfile").read_text()
    assert "transformers==4.49.0" in [requirement for _, requirement in project_files.of_dockerfile(text)]
    scan = hotfix("scan", str(EXAMPLES / "Dockerfile"), "--json").json["scans"][0]
    assert scan["names_hotfix"] is True


def test_the_kubernetes_job_matches_its_schema():
    """Validated strictly: a key unknown to Kubernetes is refused, and so is a job without it."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing; `nox -s formats`")
    service, job = yaml.safe_load_all((EXAMPLES / "job.yaml").read_text())
    newest = kubernetes.latest_version()
    for resource in (service, job):
        kubernetes.validate(resource, newest, strict=True)
    job["spec"]["template"]["spec"]["restartpolicy"] = job["spec"]["template"]["spec"].pop("restartPolicy")
    with pytest.raises(kubernetes.ValidationError, match="restartpolicy"):
        kubernetes.validate(job, newest, strict=True)


def test_shellcheck_has_nothing_to_say_of_the_scripts():
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is missing")
    scripts = [str(path) for path in (*EXAMPLES.glob("*.sh"), *EXAMPLES.glob("*.sbatch"))]
    done = subprocess.run(["shellcheck", "--shell=bash", *scripts], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# -- run, on a simulated cluster ---------------------------------------------------------------------------------------

PROGRAMS = {
    "hotfix": "hotfix",
    "torchrun": "torch.distributed.run",
    "accelerate": "accelerate.commands.accelerate_cli",
}
# Slurm's part of the job: the names of two nodes, and a task on each of them; the worst status counts for all.
SCONTROL = "#!/bin/sh\nprintf 'localhost\\nlocalhost\\n'\n"
SRUN = """#!/bin/bash
"$@" & one=$!
"$@" & two=$!
wait $one; first=$?
wait $two; second=$?
exit $((first > second ? first : second))
"""


@pytest.fixture
def cluster(tmp_path):
    """A folder with the job's script, and the variables of a node there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    programs = {name: f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n' for name, module in PROGRAMS.items()}
    for name, text in {**programs, "scontrol": SCONTROL, "srun": SRUN}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    shutil.copy(EXAMPLES / "train.py", tmp_path)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    folders = [overlay.overlay("4.49.0", ["accelerate==1.4.0"]), overlay.flash_attn("2.7.4.post1"), ROOT]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOTFIX", "SLURM"))}
    return {
        **kept,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def agreed(ended, records):
    """Two ranks have reported the same patch set, and the fleet report says that they agree."""
    said = sorted(line for out in ended for line in out.splitlines() if line.startswith("rank "))
    assert [line.split(":")[0] for line in said] == ["rank 0 of 2", "rank 1 of 2"], ended
    assert len({line.split()[-1] for line in said}) == 1
    fleet = hotfix("fleet", str(records))
    assert fleet.status == 0, fleet.stdout
    assert "All processes agree." in fleet.stdout


@pytest.mark.slow
@pytest.mark.testbed
def test_two_nodes_agree_and_the_fleet_says_so(cluster, tmp_path):
    """The script of each node, in two sessions on this machine."""
    nodes = [
        subprocess.Popen(
            [str(EXAMPLES / "two_nodes.sh")],
            cwd=tmp_path,
            env={**cluster, "NODE_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    ended = [node.communicate(timeout=300) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], ended
    agreed([out for out, _ in ended], tmp_path / "records")


@pytest.mark.slow
@pytest.mark.testbed
def test_accelerate_agrees(cluster, tmp_path):
    command = [str(EXAMPLES / "accelerate.sh")]
    env = {**cluster, "PER_NODE": "2"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    agreed([done.stdout], tmp_path / "records")


@pytest.mark.slow
@pytest.mark.testbed
def test_the_slurm_job_runs_and_stops_where_the_patch_set_is_another(cluster, tmp_path):
    """The whole script, from the digest of the lock file to the fleet; srun and scontrol are substitutes."""
    slurm = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "GPUS_PER_NODE": "1"}

    def job(**variables):
        command = ["bash", str(EXAMPLES / "job.sbatch")]
        env = {**cluster, **slurm, **variables}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)

    without = job()
    assert without.returncode != 0
    assert "hotfix.lock" in without.stderr
    subprocess.run(["hotfix", "lock", "hotfix.lock"], cwd=tmp_path, env=cluster, check=True, capture_output=True)
    done = job()
    assert done.returncode == 0, done.stderr
    assert "All processes agree." in done.stdout
    agreed([done.stdout], tmp_path / "records-7")
    other = job(HOTFIX_SKIP="flash-rotary-dtype")
    assert other.returncode != 0
    assert "HOTFIX_PIN" in other.stderr


@pytest.mark.slow
@pytest.mark.testbed
def test_commands_that_run_while_the_image_is_built(cluster, tmp_path):
    """The lines that need no network; the program that the image starts reads the settings."""
    text = (EXAMPLES / "Dockerfile").read_text()
    [checks] = re.findall(r"^RUN (hotfix .*)$", text, re.M)
    command = checks.replace("/etc/", f"{tmp_path}/")
    assert command != checks
    subprocess.run(["bash", "-c", command], cwd=tmp_path, env=cluster, check=True, capture_output=True)
    assert (tmp_path / "hotfix.lock").is_file()
    assert re.search(r"^COPY hotfix.toml /etc/hotfix.toml$", text, re.M)
    [start] = re.findall(r"^CMD (.*)$", text, re.M)
    env = {**cluster, "HOTFIX_CONFIG": str(EXAMPLES / "hotfix.toml"), "HOTFIX_LOG_FORMAT": "json"}
    words = [
        "hotfix",
        "run",
        "--",
        *json.loads(start),
    ]  # in the image the start-up files replace `hotfix run`
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert lacking(done.stdout, "rank 0", "patch set") == []
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("{")]
    assert lines
    assert all("rank" in json.loads(line) for line in lines)
