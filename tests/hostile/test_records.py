"""Writing records has no side effects, and reading the records of others is safe.

- A record is private, has a new name each time, and is never written through a link in its folder.
- An isolated interpreter (`python -I`) writes none: its environment must not make it write files.
- `hotfix fleet` counts the valid records, whatever else is in the folder: pipes, devices, links, endless or deep files,
  entries of a wrong type, a job of 10^12 ranks. Each of these is one line, and none controls a terminal.
- A record that cannot be read does not count as agreement: its file is named, and the exit status is 1.
- Hundreds of processes write at once, and ten thousand records are read in seconds.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from hotfix.commands.main import main
from hotfix.reports import files, fleet
from tests.engine.conftest import PREAMBLE, ROOT

from .conftest import World
from .limited import hotfix, require

GOOD = {"digest": "0123456789ab", "host": "one", "pid": 1, "rank": 0, "world_size": 1, "patches": [], "outcomes": []}
posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes and devices as POSIX has them")


@posix
def test_a_record_is_private_and_never_written_through_a_link(tmp_path: Path, monkeypatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "records"
    folder.mkdir()
    names = []
    real = os.open

    def watched(path, *arguments, **rest):
        names.append(str(path))
        return real(path, *arguments, **rest)

    monkeypatch.setattr(os, "open", watched)
    for number in range(3):
        files.write_whole(folder / "a.json", str(number), mode=0o600)
        for name in names:  # an attacker who knows the old names has put links there
            if not os.path.lexists(name):
                os.symlink(victim, name)
    assert len(set(names)) == 3
    assert (folder / "a.json").read_text() == "2"
    assert stat.S_IMODE((folder / "a.json").stat().st_mode) == 0o600
    assert victim.read_text() == "precious"


@posix
def test_a_link_under_the_very_name_is_not_followed(tmp_path: Path, monkeypatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(files.uuid, "uuid4", lambda: type("Known", (), {"hex": "known"}))
    (tmp_path / ".a.json.known.partial").symlink_to(victim)
    with pytest.raises(FileExistsError):
        files.write_whole(tmp_path / "a.json", "mine")
    assert victim.read_text() == "precious"
    (tmp_path / "b.json").symlink_to(victim)
    files.write_whole(tmp_path / "b.json", "mine")  # the link itself is replaced
    assert victim.read_text() == "precious"


@posix
def test_the_record_of_a_process_is_private(world: World) -> None:
    world.run("import hotfix.auto, transformers.toy", HOTFIX_RECORD="records")
    (record,) = (world.folder / "records").iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def planted(world: World, *path: str) -> str:
    """The start of a program that finds everything although PYTHONPATH is ignored."""
    folder = world.folder / "evidence"
    preamble = PREAMBLE.format(index=str(folder / "index.json"), folder=str(folder))
    return f"import sys\nsys.path[:0] = {[str(world.folder), str(ROOT), *path]!r}\n{preamble}"


WORKER = """
import hotfix.auto, multiprocessing, transformers.toy as toy
def work():
    {what}
if __name__ == "__main__":
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_the_record_of_a_worker_is_true_at_its_end(world: World) -> None:
    folder = world.folder / "records"
    world.run(WORKER.format(what="toy.scale = lambda x, factor=2: x + factor"), HOTFIX_RECORD=str(folder))
    records = [json.loads(file.read_text()) for file in folder.iterdir()]
    assert all(record["ended"] for record in records)
    assert sorted(record["outcomes"][0]["state"] for record in records) == ["applied", "failed"]
    assert len({record["digest"] for record in records}) == 2
    again = world.folder / "again"
    world.run(WORKER.format(what="toy.scale(5)"), HOTFIX_RECORD=str(again))
    assert len({json.loads(file.read_text())["digest"] for file in again.iterdir()}) == 1


@pytest.mark.parametrize("switch", [{}, {"HOTFIX_LOG": "no such value"}], ids=str)
def test_an_isolated_interpreter_repairs_and_writes_no_record(world: World, switch) -> None:
    code = planted(world, *sys.path)
    code += "import hotfix.auto, transformers.toy as toy\nprint(toy.scale(5))\n"
    for flags, written in (((), True), (("-I",), False)):
        folder = world.folder / f"records{len(flags)}"
        done = world.run(code, flags=flags, planted=False, HOTFIX_RECORD=str(folder), **switch)
        assert done.stdout == ("7\n" if switch else "10\n")
        assert folder.exists() is written


@pytest.mark.parametrize("flags", [("-I",), ("-E",)])
def test_the_start_up_file_arms_an_isolated_interpreter(world: World, flags: tuple[str, ...]) -> None:
    code = planted(world, str(ROOT / "autoload"), *sys.path)
    code += "import hotfix_autoload\nhotfix_autoload.start()\n"
    code += "import transformers.toy as toy\nprint(toy.scale(5))\n"
    done = world.run(code, flags=flags, planted=False, HOTFIX_RECORD="records")
    assert done.stdout == "10\n"
    assert (world.folder / "records").exists() is (flags == ("-E",))


# -- reading -------------------------------------------------------------------------------------------------------

BAD = {
    "no json": "{",
    "no record": "[]",
    "deep": "[" * 100_000,
    "deep entry": json.dumps(GOOD)[:-1] + ', "x": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "nothing": "",
    "no text": "\udcff\udcfe",
    **{
        f"{name} = {value!r}": json.dumps({**GOOD, name: value})
        for name, value in [
            ("digest", 3),
            ("digest", None),
            ("rank", "0"),
            ("rank", -1),
            ("rank", True),
            ("rank", 10**12),
            ("rank", 0.5),
            ("world_size", 10**12),
            ("world_size", [4]),
            ("host", {"a": 1}),
            ("patches", [1]),
            ("patches", "abc"),
            ("patches", ["abc"]),
            ("outcomes", [None]),
            ("outcomes", [{"fix": 1}]),
            ("packages", []),
            ("switches", "x"),
        ]
    },
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_one_line_and_the_others_are_counted(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.json").write_text(BAD[name], encoding="utf-8", errors="surrogateescape")
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    summary = fleet.summarise(tmp_path)
    assert summary.processes == 1
    assert [line.partition(" ")[0] for line in summary.unreadable] == ["bad.json"]
    assert sum("bad.json" in line for line in str(summary).splitlines()) == 1
    json.loads(summary.to_json())
    assert_is_not_agreement(summary, tmp_path)


def assert_is_not_agreement(summary: fleet.Summary, folder: Path) -> None:
    assert not summary.uniform
    assert "All processes agree" not in str(summary)
    assert "hotfix_uniform 0" in summary.to_prometheus()
    for words in ((), ("--json",), ("--prometheus",)):
        assert main(["fleet", str(folder), *words]) == 1


@posix
@pytest.mark.parametrize("kind", ["pipe", "endless", "folder", "dangling", "to itself", "large"])
def test_special_files_neither_hang_nor_fill_the_memory(tmp_path: Path, kind: str) -> None:
    bad = tmp_path / "bad.json"
    if kind == "pipe":
        os.mkfifo(bad)
    elif kind == "folder":
        bad.mkdir()
    elif kind == "large":
        with bad.open("wb") as file:
            file.truncate(40 * 1024 * 1024 * 1024)
    else:
        bad.symlink_to({"endless": "/dev/zero", "dangling": "nowhere", "to itself": "bad.json"}[kind])
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    summary = fleet.summarise(tmp_path)
    assert (summary.processes, len(summary.unreadable)) == (1, 1)
    assert_is_not_agreement(summary, tmp_path)


@posix
def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    (tmp_path / "elsewhere.json").write_text(json.dumps({**GOOD, "host": "s3cr3t"}))
    (folder / "good.json").write_text(json.dumps(GOOD))
    (folder / "link.json").symlink_to("good.json")
    assert fleet.summarise(folder).uniform
    (folder / "link.json").unlink()
    (folder / "link.json").symlink_to("../elsewhere.json")
    summary = fleet.summarise(folder)
    assert [line.partition(" ")[0] for line in summary.unreadable] == ["link.json"]
    assert "s3cr3t" not in summary.to_json()
    assert_is_not_agreement(summary, folder)


@posix
def test_a_file_is_read_up_to_its_limit_and_only_if_it_is_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    os.mkfifo(tmp_path / "pipe")
    assert files.read_regular(tmp_path / "file", 10) == b"0123456789"
    for name, limit, why in (("file", 9, "larger than 9"), ("pipe", 10, "not a regular file")):
        with pytest.raises(OSError, match=why):
            files.read_regular(tmp_path / name, limit)


def test_nothing_in_a_record_or_its_name_steers_a_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;pwned\x07\x1b[2J\r\n\u202e\x9b31m"
    text = json.dumps(
        {
            **GOOD,
            "host": evil,
            "digest": evil,
            "packages": {evil: evil},
            "switches": {evil: evil},
            "patches": [f"{evil} {evil} a b"],
            "outcomes": [dict.fromkeys(("fix", "target", "reason"), evil) | {"verdict": "broken", "state": "failed"}]
            if sys.version_info >= (3, 9)
            else [],
        }
    )
    (tmp_path / "evil.json").write_text(text)
    for number in range(2):
        (tmp_path / f"good{number}.json").write_text(json.dumps(GOOD))
    (tmp_path / f"{evil.replace('/', '')}.json").write_text("{")
    shown = str(fleet.summarise(tmp_path))
    assert {character for character in shown if not character.isprintable()} == {"\n"}


def test_thousands_of_bad_records_are_counted_in_a_few_lines(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number}.json").write_text("{")
    assert len(str(fleet.summarise(tmp_path)).splitlines()) < 20


MANY = """
import os, sys, threading
import hotfix.auto
import transformers.toy as toy
children = []
for number in range({number}):
    child = os.fork()
    if not child:
        os.environ["RANK"] = str(number)
        import hotfix
        threads = [threading.Thread(target=hotfix.report) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        toy.scale(5)
        sys.exit(0)
    children.append(child)
print(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


@posix
@pytest.mark.parametrize("number", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_hundreds_of_processes_write_at_once_and_one_command_reads_them(world: World, number: int) -> None:
    done = world.run(MANY.format(number=number), HOTFIX_RECORD="records", WORLD_SIZE=str(number))
    assert done.stdout == "0\n", done.stderr
    folder = world.folder / "records"
    assert {path.suffix for path in folder.iterdir()} == {".json"}  # nothing half written is left
    records = [json.loads(path.read_text()) for path in folder.iterdir()]
    assert sorted(record["rank"] for record in records if record["rank"] is not None) == list(range(number))
    summary = fleet.summarise(folder)
    assert (summary.processes, summary.unreadable) == (number + 1, ())
    assert len({record["digest"] for record in records}) == 1


@pytest.mark.slow
def test_ten_thousand_records_are_read_by_the_command_within_its_limits(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    for rank in range(10_000):
        text = json.dumps({**GOOD, "rank": rank, "world_size": 10_000, "host": f"host{rank // 8}", "pid": rank})
        (records / f"{rank}.json").write_text(text)
    done = require(hotfix("fleet", "records", cwd=tmp_path), 0)
    assert "All processes agree" in done.stdout
    assert len(done.stdout.splitlines()) < 50
    (records / "7777.json").write_text("{")
    done = require(hotfix("fleet", "records", cwd=tmp_path), 1)
    assert "7777.json" in done.stdout
    assert "All processes agree" not in done.stdout
