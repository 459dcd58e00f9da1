"""The real launchers with the real target: torchrun, accelerate, Ray, DataLoader workers, the Trainer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hotfix.commands import launch
from tests.cluster import environments, reach
from tests.cluster.environments import ROOT
from tests.facts import lacking
from tools.testbed import overlay
from tools.testbed.run import run_script

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.testbed, pytest.mark.slow]

RAY = "ray==2.49.2"
FIRST = "import hotfix.auto\n"

PROBE = """
def probe():
    import importlib
    importlib.import_module("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl")
    import hotfix
    ours = [one for one in hotfix.report() if one.fix == "flash-rotary-dtype" and "qwen2_5_vl" in one.target]
    states = [one.state.value for one in ours]
    return "fixed" if states == ["applied"] else "broken"
"""

RANK = (
    PROBE
    + """
import os, sys
sys.stdout.write(f"rank {os.environ['RANK']} {probe()}\\n")
"""
)

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
ACCELERATE += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]

LAUNCHER = """
import subprocess, sys
from torch.distributed.run import main
main(["--standalone", "--nproc-per-node", "2", sys.argv[1]])
"""

LOADER = (
    PROBE
    + """
class Data:
    def __len__(self):
        return 1
    def __getitem__(self, index):
        return probe()
if __name__ == "__main__":
    from torch.utils.data import DataLoader
    (batch,) = DataLoader(Data(), num_workers=1, multiprocessing_context="spawn")
    print(*batch)
"""
)

RAY_DRIVER = (
    PROBE
    + """
import json, os, sys, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=json.loads(sys.argv[1]))
class Actor:
    def probe(self):
        return probe()
print(ray.get(ray.remote(probe).remote()), ray.get(ray.remote(Actor).remote().probe.remote()))
"""
)


@pytest.fixture(scope="module")
def engines(tmp_path_factory, wheels):
    """An environment with the start-up file and one without; torch, Ray and the release come from other folders."""
    made = {}
    for way, installed in ((reach.AUTOLOAD, [wheels["core"], wheels["autoload"]]), ("", [wheels["core"]])):
        environment = environments.make(tmp_path_factory.mktemp("engine") / "venv")
        environment.install(*installed)
        torch_home = Path(torch.__file__).parents[1]
        (environment.site_packages / "torch_home.pth").write_text(f"{torch_home}\n")
        made[way] = environment
    return made


def start(engines, way, *arguments, folder, extra=()):
    """Run a program in the environment that belongs to a way of injection."""
    environment = engines[way if way == reach.AUTOLOAD else ""]
    prefix = [environment.python, "-m", "hotfix", "run", "--"] if way == reach.RUN else []
    folders = [overlay.overlay("4.49.0", ["accelerate==1.4.0"]), overlay.flash_attn("2.7.4.post1"), *extra]
    env = {
        "PYTHONPATH": ":".join(map(str, folders)),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "HOTFIX_LOG": "quiet",
    }
    return environment.run(*arguments, prefix=prefix, env=env, cwd=folder, timeout=280)


def ranks(done):
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


JOBS = {
    "a rank of torchrun": TORCHRUN,
    "a rank of accelerate launch": ACCELERATE,
    "a rank that imports hotfix only in the launching script": [],
}


@pytest.mark.parametrize("way", reach.WAYS)
@pytest.mark.parametrize("kind", JOBS)
def test_ranks(kind, way, engines, tmp_path, seen):
    script = tmp_path / "rank.py"
    first = FIRST if way == reach.IMPORT else ""
    if JOBS[kind]:
        script.write_text(first + RANK)
        arguments = [*JOBS[kind], script]
    else:
        script.write_text(RANK)
        (tmp_path / "launcher.py").write_text(first + LAUNCHER)
        arguments = [tmp_path / "launcher.py", script]
    done = start(engines, way, *arguments, folder=tmp_path)
    results = ranks(done)
    assert len(results) == 2, done.stdout + done.stderr
    seen[kind, way] = results == ["rank 0 fixed", "rank 1 fixed"]
    assert seen[kind, way] or results == ["rank 0 broken", "rank 1 broken"]
    assert seen[kind, way] is reach.expected(kind, way)


@pytest.mark.parametrize("way", reach.WAYS)
def test_data_loader_workers(way, engines, tmp_path, seen):
    kind = "a DataLoader worker, spawn"
    (tmp_path / "load.py").write_text((FIRST if way == reach.IMPORT else "") + LOADER)
    done = start(engines, way, tmp_path / "load.py", folder=tmp_path)
    seen[kind, way] = done.stdout == "fixed\n"
    assert seen[kind, way] or done.stdout == "broken\n", done.stdout
    assert seen[kind, way] is reach.expected(kind, way)


@pytest.fixture(scope="module")
def ray_home(tmp_path_factory):
    """A folder with Ray."""
    folder = tmp_path_factory.mktemp("ray") / "ray"
    try:
        environments.Environment(Path(sys.prefix)).install(RAY, options=["--target", folder])
    except AssertionError as error:
        pytest.skip(f"needs {RAY}: {error}")
    return folder


@pytest.mark.parametrize("way", reach.RAY_WAYS)
def test_ray(way, engines, ray_home, tmp_path, seen):
    folders = [launch.FOLDER, overlay.overlay("4.49.0", ["accelerate==1.4.0"])]
    folders += [overlay.flash_attn("2.7.4.post1"), ray_home]
    runtime_env = {
        reach.RAY_ENV: {"env_vars": {"PYTHONPATH": ":".join(map(str, folders))}},
        reach.RAY_HOOK: {"worker_process_setup_hook": "hotfix.apply"},
    }
    (tmp_path / "driver.py").write_text((FIRST if way == reach.IMPORT else "") + RAY_DRIVER)
    order = json.dumps(runtime_env.get(way, {}))
    done = start(engines, way, tmp_path / "driver.py", order, folder=tmp_path, extra=[ray_home])
    results = done.stdout.split()
    assert len(results) == 2, done.stdout + done.stderr
    for kind, word in zip(reach.RAY, results):
        seen[kind, way] = word == "fixed"
        assert seen[kind, way] is reach.expected(kind, way), kind


def test_the_example_for_ray(engines, ray_home, tmp_path):
    """As in `examples/cluster`: only the hook loads hotfix in the workers."""
    example = ROOT / "examples" / "cluster" / "on_ray.py"
    done = start(engines, reach.IMPORT, example, folder=tmp_path, extra=[ray_home])
    assert "patch set " in done.stdout, done.stdout + done.stderr


# -- the whole case in two ranks, on the testbed -----------------------------------------------------------------------

WHOLE = """
import os, sys
rank = int(os.environ["RANK"])
if os.environ.get("ODD") == str(rank):
    os.environ["HOTFIX"] = "0"
else:
    import hotfix.auto
import torch, torch.distributed as dist
import hotfix
from types import SimpleNamespace
from hotfix.proofs.testbed import Testbed, collect
from hotfix.proofs.models.flash_rotary_dtype import FIX, case
dist.init_process_group("gloo")
torch.manual_seed(0)
try:
    with Testbed() as testbed:
        target = FIX.targets[0]
        loss = collect(case(testbed, SimpleNamespace(module=target.module, qualname=target.qualname)))["loss"]
    sys.stdout.write(f"rank {rank} ran\\n")
except AssertionError as error:
    sys.stdout.write(f"rank {rank} {error}\\n")
try:
    hotfix.assert_uniform()
    sys.stdout.write(f"rank {rank} uniform\\n")
except hotfix.HotfixError as error:
    sys.stdout.write(f"rank {rank} {error}\\n")
dist.destroy_process_group()
"""


def whole(tmp_path, **env):
    script = tmp_path / "whole.py"
    script.write_text(WHOLE)
    records = {"HOTFIX_RECORD": str(tmp_path / "records"), "HOTFIX_LOG": "quiet", "OMP_NUM_THREADS": "1"}
    return run_script(TORCHRUN[0], [*TORCHRUN[1:], str(script)], env={**records, **env})


def test_the_case_is_repaired_in_two_ranks_and_the_ranks_agree(tmp_path):
    done = whole(tmp_path).require()
    assert ranks(done) == ["rank 0 ran", "rank 0 uniform", "rank 1 ran", "rank 1 uniform"]
    results = environments.call(sys.executable, "-m", "hotfix", "fleet", tmp_path / "records", cwd=ROOT)
    assert "ranks 0-1" in results.stdout
    assert results.stdout.endswith("All processes agree.\n")


def test_one_rank_without_hotfix_is_caught_twice(tmp_path):
    done = whole(tmp_path, ODD="1").require()
    crash: list[str] = []
    verdicts: list[str] = []
    for line in ranks(done):
        (crash if line[7:].startswith(("ran", "Input")) else verdicts).append(line)
    ran, crashed = crash
    assert ran == "rank 0 ran"
    assert lacking(crashed, "rank 1 ", "the same dtype", "torch.float32 and torch.bfloat16") == []
    assert len(verdicts) == 2
    assert all(lacking(line, "rank 1", "e3b0c44298fc", "rank 0") == [] for line in verdicts)
    assert verdicts[0][7:] == verdicts[1][7:]
    fleet = environments.call(sys.executable, "-m", "hotfix", "fleet", tmp_path / "records", cwd=ROOT, check=False)
    assert fleet.returncode == 1
    assert lacking(fleet.stdout, "rank 1", "out of 2") == []


# -- the Trainer's callback ----------------------------------------------------------------------------------------

TRAINER = """
import hotfix.auto
import sys, torch, types
from transformers import Trainer, TrainingArguments
from hotfix.callback import HotfixCallback
import hotfix

class Config(dict):
    def update(self, values, allow_val_change=False):
        super().update(values)
sys.modules["wandb"] = types.SimpleNamespace(run=types.SimpleNamespace(config=Config()))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def forward(self, x, labels=None):
        return {"loss": self.layer(x).mean()}

data = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 4
arguments = TrainingArguments(sys.argv[1], max_steps=2, save_steps=2, report_to=[], use_cpu=True)
callback = HotfixCallback()
Trainer(Model(), arguments, train_dataset=data, callbacks=[callback]).train()
print(callback.digest == hotfix.digest(), sys.modules["wandb"].run.config == {"hotfix_digest": callback.digest})
"""


def test_the_callback_writes_the_digest_down(tmp_path):
    (tmp_path / "train.py").write_text(TRAINER)
    done = run_script(tmp_path / "train.py", [str(tmp_path / "out")], extras=["accelerate==1.4.0"]).require()
    assert done.stdout.splitlines()[-1] == "True True"
    assert "patch set " in done.stderr
    lock = json.loads((tmp_path / "out" / "checkpoint-2" / "hotfix.lock").read_text())
    assert lock["digest"] in done.stderr
