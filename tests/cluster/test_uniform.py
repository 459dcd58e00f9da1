"""`hotfix.assert_uniform`: one collective, and the same message on every rank."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hotfix.reports.uniform import _message
from tests.cluster.environments import ROOT, clean_environment
from tests.facts import lacking

A, B, NOTHING, NONE = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "e3b0c44298fc", "-" * 12

MESSAGES = {
    (A, A, B, A): "rank 2 has bbbbbbbbbbbb; ranks 0-1, 3 have aaaaaaaaaaaa. ",
    (A, B): "rank 1 has bbbbbbbbbbbb; rank 0 has aaaaaaaaaaaa. ",
    (A, NOTHING, NONE, A): "rank 1 has e3b0c44298fc (nothing is repaired); rank 2 cannot compute a digest; ranks 0, 3 ",
    (NONE, NONE): "no rank can compute the digest",
}


@pytest.mark.parametrize("digests", MESSAGES)
def test_the_message_names_the_ranks_that_differ(digests):
    assert MESSAGES[digests] in _message(list(digests))


RANK = """
import os, sys
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
odd = os.environ.get("ODD") == str(rank)
if not odd:
    import hotfix.auto
import datetime
import torch.distributed as dist
import hotfix
try:
    hotfix.assert_uniform()
except hotfix.HotfixError as error:
    print("before:", error)
wait = datetime.timedelta(seconds=60)
dist.init_process_group("gloo", init_method=sys.argv[1], rank=rank, world_size=size, timeout=wait)
calls = []
gather = dist.all_gather
dist.all_gather = lambda *rest, **options: (calls.append(1), gather(*rest, **options))
group = dist.new_group([0, 1]) if os.environ.get("GROUP") else None
if os.environ.get("FAIL") == str(rank):
    hotfix.api.digest = lambda: 1 / 0
try:
    print("agreed:", hotfix.assert_uniform(group))
except hotfix.HotfixError as error:
    print("after:", error)
print("collectives:", len(calls))
dist.destroy_process_group()
"""


def ranks(tmp_path, size, **env):
    """The output of each rank."""
    pytest.importorskip("torch")
    variables = clean_environment(WORLD_SIZE=str(size), PYTHONPATH=str(ROOT), **env)
    command = [sys.executable, "-c", RANK, f"file://{tmp_path}/rendezvous"]
    processes = [
        subprocess.Popen(command, env={**variables, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        for rank in range(size)
    ]
    return [process.communicate(timeout=120)[0].splitlines() for process in processes]


@pytest.mark.testbed
def test_ranks_that_agree(tmp_path):
    results = ranks(tmp_path, 2)
    assert results[0] == results[1]
    before, agreed, collectives = results[0]
    assert lacking(before, "before: assert_uniform", "process group") == []
    assert len(agreed) == len("agreed: ") + 12
    assert collectives == "collectives: 1"


@pytest.mark.testbed
def test_one_rank_that_was_not_armed_fails_every_rank_with_the_same_words(tmp_path):
    results = ranks(tmp_path, 3, ODD="1")
    assert results[0][1:] == results[1][1:] == results[2][1:]
    _, after, collectives = results[0]
    assert lacking(after, "after: ", "rank 1 has", "e3b0c44298fc") == []
    assert lacking(after, "nothing is repaired", "ranks 0, 2") == []
    assert collectives == "collectives: 1"


@pytest.mark.testbed
@pytest.mark.slow
def test_a_rank_that_cannot_compute_its_digest_keeps_nobody_waiting(tmp_path):
    results = ranks(tmp_path, 2, FAIL="0")
    assert results[0][1:] == results[1][1:]
    assert lacking(results[0][1], "rank 0 cannot", "rank 1 has") == []


@pytest.mark.testbed
@pytest.mark.slow
def test_only_the_group_is_compared(tmp_path):
    results = ranks(tmp_path, 3, ODD="2", GROUP="1")
    assert [lines[1].partition(" ")[0] for lines in results] == ["agreed:"] * 3
    assert [lines[2] for lines in results] == ["collectives: 1", "collectives: 1", "collectives: 0"]


def test_outside_of_a_job_there_is_nothing_to_compare(monkeypatch):
    pytest.importorskip("torch")
    import hotfix

    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert hotfix.assert_uniform() == hotfix.digest()
    assert "RANK" not in os.environ
