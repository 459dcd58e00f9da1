"""`hotfix fleet`: which ranks differ, in what, and which are missing."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from hotfix.reports import fleet
from tests.cluster import toy
from tests.commands import schemas
from tests.facts import lacking

PATCH = "toy transformers.toy:scale 1234 5678"


def record(rank=None, world_size=None, digest="aaaaaaaaaaaa", **fields):
    content = {
        "format": 1,
        "hotfix": "0.1.0",
        "host": f"node{(rank or 0) // 8}",
        "pid": 100 + (rank or 0),
        "rank": rank,
        "world_size": world_size,
        "python": "3.11.7",
        "packages": {"transformers": "4.49.0", "torch": "2.6.0"},
        "switches": {"HOTFIX_RECORD": "/somewhere"},
        "digest": digest,
        "patches": [PATCH],
        "outcomes": [],
        "ended": True,
    }
    return {**content, **fields}


def write(folder, *records):
    for number, content in enumerate(records):
        (folder / f"{number}.json").write_text(json.dumps(content))
    return fleet.summarise(folder)


def test_a_job_whose_ranks_agree(tmp_path):
    summary = write(tmp_path, *(record(rank, 16) for rank in range(16)), record())
    assert summary.uniform
    assert (summary.processes, summary.world_size, summary.missing) == (17, 16, ())
    assert [group.ranks for group in summary.groups] == [tuple(range(16))]
    assert lacking(str(summary), "17 processes", "2 hosts", "aaaaaaaaaaaa", "ranks 0-15") == []


def test_missing_ranks_are_named(tmp_path):
    summary = write(tmp_path, *(record(rank, 8) for rank in (0, 1, 2, 6)))
    assert not summary.uniform
    assert summary.missing == (3, 4, 5, 7)
    assert "rank 3-5, 7" in str(summary)


DIFFERENCES: dict[str, dict[str, Any]] = {
    "transformers 4.50.0 instead of transformers 4.49.0": {
        "packages": {"transformers": "4.50.0", "torch": "2.6.0"},
        "patches": [],
    },
    "no torch instead of torch 2.6.0": {"packages": {"transformers": "4.49.0"}},
    "hotfix 0.2.0 instead of hotfix 0.1.0": {"hotfix": "0.2.0"},
    "python 3.12.1 instead of python 3.11.7": {"python": "3.12.1"},
    "HOTFIX_SKIP=toy instead of without HOTFIX_SKIP": {
        "switches": {"HOTFIX_SKIP": "toy", "HOTFIX_RECORD": "/else"},
        "patches": [],
    },
    "without toy on transformers.toy:scale": {"patches": []},
    "other on transformers.toy:scale in addition": {"patches": [PATCH, "other transformers.toy:scale 1 2"]},
    "toy on transformers.toy:scale repairs other source (9999 instead of 1234)": {
        "patches": ["toy transformers.toy:scale 9999 5678"]
    },
    "toy is another version of that fix": {"patches": ["toy transformers.toy:scale 1234 0000"]},
    "transformers.toy:scale is foreign, skipped: Liger was here.": {
        "patches": [],
        "outcomes": [
            {
                "fix": "toy",
                "target": "transformers.toy:scale",
                "verdict": "foreign",
                "state": "skipped",
                "reason": "Liger was here.",
            }
        ],
    },
}


@pytest.mark.parametrize("sentence", DIFFERENCES)
def test_differences_are_explained(sentence, tmp_path):
    odd = record(2, 3, digest="bbbbbbbbbbbb", **DIFFERENCES[sentence])
    summary = write(tmp_path, record(0, 3), record(1, 3), odd)
    assert not summary.uniform
    usual, other = summary.groups
    assert (usual.ranks, usual.differences) == ((0, 1), ())
    assert other.ranks == (2,)
    assert sentence in other.differences
    assert "HOTFIX_RECORD" not in str(other.differences)
    assert sentence in str(summary)


def test_failures_are_reported_even_if_all_agree(tmp_path):
    failed = [{"fix": "toy", "target": "m:f", "verdict": "broken", "state": "failed", "reason": "No."}]
    summary = write(tmp_path, record(0, 2, outcomes=failed), record(1, 2, outcomes=failed))
    assert summary.uniform
    assert [lacking(line, "toy", "m:f", "No.", "2 processes") for line in summary.failures] == [[]]


def test_files_that_are_no_records_are_named_and_partial_ones_are_not_looked_at(tmp_path):
    (tmp_path / "torn.json").write_text('{"digest": "aaa')
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / ".node-1-ab.partial").write_text("{")
    (tmp_path / "notes.txt").write_text("hello")
    summary = write(tmp_path, record(0, 1))
    assert not summary.uniform
    assert [text.partition(" ")[0] for text in summary.unreadable] == ["other.json", "torn.json"]


def test_an_empty_folder_proves_nothing(tmp_path):
    assert not write(tmp_path).uniform
    assert str(write(tmp_path)) == "No records."


def test_json_has_everything(tmp_path):
    summary = write(tmp_path, record(0, 2), record(1, 2, digest="bbbbbbbbbbbb"))
    results = json.loads(summary.to_json())
    assert results["uniform"] is False
    assert [group["digest"] for group in results["groups"]] == ["aaaaaaaaaaaa", "bbbbbbbbbbbb"]


def test_one_rank_left_unpatched_is_caught(plain, tmp_path):
    """Real processes: rank 1 of 3 runs with the fix switched off, rank 2 never loads hotfix."""
    for rank, (code, env) in enumerate([("", {}), ("", {"HOTFIX_SKIP": "*"}), ("#", {})]):
        program = "import hotfix.auto\n" * (code == "") + toy.SAY
        env = {"HOTFIX_RECORD": str(tmp_path), "RANK": str(rank), "WORLD_SIZE": "3", **env}
        plain.run("-c", program, env=env)
    done = plain.run("-m", "hotfix", "fleet", tmp_path, check=False)
    assert done.returncode == 1
    assert lacking(done.stdout, "HOTFIX_SKIP=*", "without HOTFIX_SKIP") == []
    assert "nothing is repaired" in done.stdout
    assert len(done.stdout.splitlines()) < 10
    assert lacking(done.stdout, "rank 2", "out of 3") == []
    results = plain.run("-m", "hotfix", "fleet", tmp_path, "--json", check=False)
    assert results.returncode == 1
    assert json.loads(results.stdout)["missing"] == [2]
    schemas.check("fleet", json.loads(results.stdout))


def test_the_exit_status_of_an_agreeing_job_is_0_and_of_a_missing_folder_2(plain, tmp_path):
    write(tmp_path, record(0, 1))
    assert plain.run("-m", "hotfix", "fleet", tmp_path).stdout.endswith("All processes agree.\n")
    assert plain.run("-m", "hotfix", "fleet", tmp_path / "nowhere", check=False).returncode == 2


@pytest.mark.slow
def test_ten_thousand_records(tmp_path):
    patches = [f"{PATCH}{number}" for number in range(20)]
    outcomes = [
        {
            "fix": "toy",
            "target": f"m:f{number}",
            "verdict": "broken",
            "state": "applied",
            "reason": "x" * 90,
        }
        for number in range(20)
    ]
    records = [record(rank, 10_000, patches=patches, outcomes=outcomes) for rank in range(10_000)]
    begin = time.perf_counter()
    write(tmp_path, *records)
    written = time.perf_counter()
    assert fleet.summarise(tmp_path).uniform
    print(f"written in {written - begin:.1f} s, summed up in {time.perf_counter() - written:.1f} s")
