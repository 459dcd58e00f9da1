"""HOTFIX_RECORD: one complete file for each process, at each change, even if the process is killed or the disk full."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys

import pytest

from hotfix.engine import job
from tests.cluster import environments, toy

HOTFIXED = "import hotfix.auto; "


def read(folder):
    return sorted((json.loads(path.read_text()) for path in folder.glob("*.json")), key=lambda path: path["started"])


def test_a_record_has_host_process_and_outcomes(plain, tmp_path):
    plain.run("-c", HOTFIXED + toy.SAY, env={"HOTFIX_RECORD": str(tmp_path)})
    (record,) = read(tmp_path)
    assert record["host"] == socket.gethostname()
    assert record["python"] == platform.python_version()
    assert record["argv"][-2:] == ["-c", HOTFIXED + toy.SAY] or sys.version_info < (3, 10)
    assert record["packages"] == {"transformers": "0.0.1"}
    assert record["switches"] == {"HOTFIX_RECORD": str(tmp_path)}
    assert record["ended"] is True
    # Names that this transformers never had are recorded as absent.
    (outcome,) = (outcome for outcome in record["outcomes"] if outcome["verdict"] != "absent")
    assert (outcome["fix"], outcome["state"]) == ("toy-fixes:toy", "applied")
    assert len(record["digest"]) == 12
    assert any(patch.startswith("toy-fixes:toy transformers.models.toy:answer ") for patch in record["patches"])
    assert list(tmp_path.iterdir()) == [next(tmp_path.glob("*.json"))]


def test_a_process_that_imports_nothing_watched_writes_nothing(plain, tmp_path):
    plain.run("-c", HOTFIXED, env={"HOTFIX_RECORD": str(tmp_path / "records")})
    assert not (tmp_path / "records").exists()


def test_the_record_changes_when_something_does_and_the_digest_is_known_before(plain, tmp_path):
    code = """
import hotfix.auto, json, pathlib, sys
def show():
    (one,) = [json.loads(path.read_text()) for path in pathlib.Path(sys.argv[1]).glob("*.json")]
    states = [outcome["state"] for outcome in one["outcomes"] if outcome["verdict"] != "absent"]
    print(one["digest"], states, one["ended"])
import transformers; show()
import transformers.models.toy; show()
hotfix.revert(); show()
"""
    lines = plain.run("-c", code, tmp_path, env={"HOTFIX_RECORD": str(tmp_path)}).stdout.splitlines()
    before, after, reverted = (line.split(" ", 1) for line in lines)
    assert before[1] == "[] False"
    assert after == [before[0], "['applied'] False"]
    assert reverted == ["e3b0c44298fc", "[] False"]


def test_a_relative_folder_is_that_of_the_start(plain, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    code = HOTFIXED + "import os, transformers; os.chdir('elsewhere'); " + toy.SAY
    plain.run("-c", code, env={"HOTFIX_RECORD": "records"}, cwd=tmp_path)
    assert len(read(tmp_path / "records")) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_a_process_of_its_own(plain, tmp_path):
    code = HOTFIXED + toy.SAY + "; import os; pid = os.fork(); pid and os.waitpid(pid, 0); os._exit(0)"
    plain.run("-c", code, env={"HOTFIX_RECORD": str(tmp_path), "RANK": "3"})
    parent, child = read(tmp_path)
    assert child["parent"] == parent["pid"] != child["pid"]
    assert (child["digest"], child["outcomes"]) == (parent["digest"], parent["outcomes"])
    assert child["rank"] == parent["rank"] == 3


@pytest.mark.drawn(4, "long")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_another_thread_writes_does_not_hang(plain, tmp_path):
    code = """
import hotfix.auto, os, threading, transformers.models.toy
from hotfix import session
going = True
def write():
    while going:
        session.current().publish()
thread = threading.Thread(target=write)
thread.start()
for _ in range(30):
    pid = os.fork()
    if not pid:
        session.current().publish()
        os._exit(0)
    os.waitpid(pid, 0)
going = False
thread.join()
"""
    plain.run("-W", "ignore", "-c", code, env={"HOTFIX_RECORD": str(tmp_path)}, timeout=60)
    assert len(read(tmp_path)) == 31


JOBS = {
    "torch": {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "SLURM_PROCID": "0"},
    "slurm": {"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NTASKS": "8"},
    "openmpi": {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "8"},
    "pmi": {"PMI_RANK": "5", "MPI_LOCALRANKID": "1", "PMI_SIZE": "8"},
}


@pytest.mark.parametrize("launcher", JOBS)
def test_ranks_are_those_of_the_launcher(launcher):
    assert job.place(JOBS[launcher]) == {"launcher": launcher, "rank": 5, "local_rank": 1, "world_size": 8}


def test_outside_of_a_job_there_is_no_rank():
    assert set(job.place({"RANK": "", "SLURM_PROCID": "x"}).values()) == {None}


@pytest.mark.parametrize("disk", ["a file is in the way", "/proc", "full"])
def test_a_failed_write_never_stops_the_job(disk, plain, tmp_path):
    folder, first = tmp_path / "records", ""
    if disk == "a file is in the way":
        folder.write_text("")
    elif disk == "/proc":
        folder = "/proc/records"
    else:  # every write beyond a few bytes fails, as on a full disk
        folder.mkdir()
        first = "import resource, sys; sys.dont_write_bytecode = True; "
        first += "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); "
    env = {"HOTFIX_RECORD": str(folder), "HOTFIX_STRICT": "1"}
    done = plain.run("-c", first + HOTFIXED + toy.SAY, env=env)
    assert done.stdout == "fixed\n"
    assert done.stderr.count("record of this") == 1
    if disk == "full":
        assert not list(folder.glob("*.json"))


WRITER = """
import hotfix.auto, transformers.models.toy
from hotfix import session
record = session.current()._record
print("up", flush=True)
while True:
    with record._lock:
        record._content["argv"] = ["x" * 2_000_000]  # a write that takes long enough to be hit
        record._write()
"""


def kill_writers(plain, folder, rounds):
    """Repeatedly kill a process that only writes, and read all files after each kill."""
    read_in_all = 0
    env = environments.clean_environment(HOTFIX_RECORD=str(folder), HOTFIX_LOG="quiet")
    # A fork server inside one interpreter would be faster, but would share its files with the killed processes.
    for number in range(rounds):
        process = subprocess.Popen([plain.python, "-c", WRITER], env=env, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        try:
            process.wait(0.001 * (number % 10))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for path in folder.glob("*.json"):
            assert json.loads(path.read_text())["digest"]
            path.unlink()
            read_in_all += 1
    return read_in_all


@pytest.mark.drawn(4, "long")
def test_a_killed_writer_leaves_no_torn_record(plain, tmp_path):
    assert kill_writers(plain, tmp_path, 10) == 10


@pytest.mark.slow
def test_five_hundred_killed_writers_leave_no_torn_record(plain, tmp_path):
    assert kill_writers(plain, tmp_path, 500) == 500
    assert len(list(tmp_path.glob(".*.partial"))) > 10  # the kills did hit writes
