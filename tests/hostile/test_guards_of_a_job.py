"""Guards fail closed: a job can rely on them before its first step.

- An empty ``HOTFIX_PIN`` (the command that should have printed the digest has failed) is an error.
  ``hotfix lock --digest`` without a digest to print exits with a failure and prints nothing. A lock file whose patches
  do not match its digest was edited, and is refused.
- ``HOTFIX_REQUIRE=ID`` is satisfied if the bug cannot occur because another package is missing; ``ID!`` is not.
- A switch whose value cannot be parsed is an error in every command that uses it, and stops a program that has a guard.
  ``HOTFIX_STRICT=true`` is such a value, and never a run without hotfix.
- An unknown variable ``HOTFIX_...`` is reported with the nearest existing one; so is a misspelled id.
- ``hotfix verify`` is green only if something was proved, and no result is far from that of the fixed release.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hotfix.commands.verify import command as verify
from hotfix.engine.policy import Policy
from hotfix.errors import PolicyError
from hotfix.reports import lock
from hotfix.reports.digest import patch_set_digest
from tests.commands.cli_runs import hotfix
from tests.engine.conftest import FIX, TOY, World
from tests.facts import lacking

from .limited import in_this_process

IMPORT = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n"
APPLY = "import hotfix\nhotfix.apply()\nimport transformers.toy as toy\nprint(toy.scale(5))\n"
LOCK = {"digest": patch_set_digest([]), "patches": [], "packages": {}}


@pytest.mark.parametrize("code", [IMPORT, APPLY], ids=["auto", "apply"])
@pytest.mark.parametrize("value", ["", " "], ids=["empty", "blank"])
def test_an_empty_pin_stops_the_program(world: World, code: str, value: str) -> None:
    done = world.run(code, check=False, HOTFIX_PIN=value)
    assert (done.returncode, done.stdout) == (1, "")
    assert lacking(done.stderr, "PolicyError", "HOTFIX_PIN") == []


def test_an_empty_pin_is_an_error_of_the_command() -> None:
    done = hotfix("status", env={"HOTFIX_PIN": ""})
    assert (done.status, done.stdout) == (2, "")
    assert "HOTFIX_PIN is empty" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{}",
        "[]",
        "null",
        json.dumps({**LOCK, "digest": ""}),
        json.dumps({**LOCK, "digest": "0123456789ab\n"}),
        json.dumps({**LOCK, "digest": "not a digest"}),
        json.dumps({**LOCK, "digest": None}),
        json.dumps(LOCK)[:-20],
    ],
)
def test_without_a_digest_there_is_nothing_to_pin(tmp_path, text) -> None:
    if text is not None:
        (tmp_path / "hotfix.lock").write_text(text)
    done = hotfix("lock", "--digest", cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "hotfix.lock: not" in done.stderr
    (tmp_path / "hotfix.lock").write_text(json.dumps(LOCK))
    assert hotfix("lock", "--digest", cwd=tmp_path).stdout == f"{LOCK['digest']}\n"


def test_a_lock_file_that_was_edited_by_hand_is_no_lock(tmp_path, capsys) -> None:
    """It has the digest of this environment, but other patches: no check may accept it."""
    file = tmp_path / "hotfix.lock"
    digest = lock.write(file)
    written = json.loads(file.read_text())
    assert in_this_process(capsys, "lock", "--check", str(file)).status == 0
    added = [f"{name} transformers.toy:scale abc def" for name in ("a-bug", "another-bug")]
    edits: list[dict[str, Any]] = [
        {"patches": added[:1]},
        {"patches": [*written["patches"], *added]},
        {"digest": "0123456789ab"},
        {"digest": "0123456789ab", "patches": added},
    ]
    for edit in edits:
        file.write_text(json.dumps({**written, **edit}))
        for word in ("--check", "--digest"):
            done = in_this_process(capsys, "lock", word, str(file))
            assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
            assert "hotfix.lock: edited since" in done.stderr
    file.write_text(json.dumps({**written, "packages": {}}))  # they are reported, and are not part of the digest
    assert in_this_process(capsys, "lock", "--digest", str(file)).stdout == f"{digest}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and sockets with names")
def test_a_lock_file_does_not_replace_a_device(tmp_path, capsys) -> None:
    """`hotfix lock /dev/stdout` as root must not replace the device or the link to it."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    (tmp_path / "to-a-pipe").symlink_to("pipe")
    for name in ("pipe", "socket", "to-a-pipe"):
        before = os.lstat(tmp_path / name).st_ino
        done = in_this_process(capsys, "lock", str(tmp_path / name))
        assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "regular file" in done.stderr
        assert os.lstat(tmp_path / name).st_ino == before
    (tmp_path / "hotfix.lock").write_text("")
    (tmp_path / "to-a-file").symlink_to("hotfix.lock")
    assert in_this_process(capsys, "lock", str(tmp_path / "to-a-file")).status == 0
    assert (tmp_path / "to-a-file").is_symlink()
    assert json.loads((tmp_path / "hotfix.lock").read_text())["digest"]


@pytest.fixture
def elsewhere(world: World) -> World:
    """The bug needs another package, which is not installed."""
    text = FIX.replace('kind="silent"', 'kind="silent", needs={"no-such-package": ">=1"}')
    world.plant("toy-scale", text, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    return world


def test_a_bug_that_cannot_happen_here_satisfies_a_requirement(elsewhere: World) -> None:
    done = elsewhere.run(IMPORT, HOTFIX_REQUIRE="toy-scale", HOTFIX_STRICT="1")
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_but_not_one_that_insists(elsewhere: World) -> None:
    done = elsewhere.run(IMPORT, check=False, HOTFIX_REQUIRE="toy-scale!")
    assert (done.returncode, done.stdout) == (1, "")
    assert lacking(done.stderr, "HOTFIX_REQUIRE=toy-scale: not", "transformers.toy") == []
    assert "no-such-package is not" in done.stderr


def test_one_that_insists_is_content_with_a_repair_and_with_good_source(world: World) -> None:
    assert world.run(IMPORT, HOTFIX_REQUIRE="toy-scale!").stdout == "10\n"
    from hotfix.versions import source

    good = TOY.replace("x + factor", "x * factor")
    world.write("transformers/toy.py", good)
    definition = source.find(good, "scale")
    assert definition is not None
    evidence = {"targets": {"transformers.toy:scale": {"fixed": {source.digest(definition.node): ["1.0"]}}}}
    (world.folder / "evidence" / "toy-scale.json").write_text(json.dumps(evidence))
    assert world.run(IMPORT, HOTFIX_REQUIRE="toy-scale!", HOTFIX_STRICT="1").stdout == "10\n"


def test_requiring_a_disabled_or_unknown_fix_stops_the_job(world: World) -> None:
    for switches in ({"HOTFIX_REQUIRE": "toy-scale!", "HOTFIX_SKIP": "toy-scale"}, {"HOTFIX_REQUIRE": "toy-scal!"}):
        done = world.run(IMPORT, check=False, **switches)
        assert (done.returncode, done.stdout) == (1, "")
        assert "HotfixError: HOTFIX_REQUIRE=toy-scal" in done.stderr


UNREADABLE = ["true", "yes", "on", "false", "2", "1 1"]


@pytest.mark.parametrize("value", UNREADABLE)
def test_strict_that_cannot_be_read_is_never_a_run_without_hotfix(world: World, value: str) -> None:
    done = world.run(IMPORT, check=False, HOTFIX_STRICT=value)
    assert (done.returncode, done.stdout) == (1, "")
    assert lacking(done.stderr, f"PolicyError: HOTFIX_STRICT={value}: ", "are 0, 1") == []


@pytest.mark.parametrize("value", ["\x1b[31m", "a\nb", "x" * 100_000], ids=["escape", "lines", "long"])
def test_a_value_that_cannot_be_read_steers_no_terminal_and_fills_no_screen(value: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Policy.from_environment({"HOTFIX_STRICT": value})
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 300


def test_nor_is_it_where_the_import_is_tried_again(world: World) -> None:
    code = """
    import hotfix.auto
    for _ in range(2):
        try:
            import transformers.toy as toy
        except Exception as error:
            print(type(error).__name__)
        else:
            print(toy.scale(5))
    """
    assert world.run(code, HOTFIX_STRICT="true").stdout == "PolicyError\nPolicyError\n"


@pytest.mark.parametrize("call", ["apply()", "report()", "digest()", "apply(only=['toy-scale'])"])
def test_and_everything_that_a_program_calls_says_so(world: World, call: str) -> None:
    code = f"import hotfix\ntry:\n    hotfix.{call}\nexcept hotfix.PolicyError as error:\n    print(error)\n"
    assert "HOTFIX_STRICT=true: " in world.run(code, HOTFIX_STRICT="true").stdout


@pytest.mark.parametrize("words", [["status"], ["lock"], ["lock", "--check"], ["doctor", "--quick"]], ids=" ".join)
def test_and_so_does_every_command_that_goes_by_the_switches(tmp_path, words) -> None:
    (tmp_path / "hotfix.lock").write_text(json.dumps(LOCK))
    for variable in ("HOTFIX_STRICT", "HOTFIX"):
        done = hotfix(*words, cwd=tmp_path, env={variable: "true"})
        assert done.status in ((1, 2) if words[0] == "doctor" else (2,))
        assert f"{variable}=true: " in done.stdout + done.stderr


VARIABLES = {
    "HOTFIX_STRCT": "HOTFIX_STRICT",
    "HOTFIX_REQIURE": "HOTFIX_REQUIRE",
    "HOTFIX_REQUIRES": "HOTFIX_REQUIRE",
    "HOTFIX_RECORDS": "HOTFIX_RECORD",
    "HOTFIX_ONYL": "HOTFIX_ONLY",
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_that_does_not_exist_is_named_with_the_nearest_one(name: str) -> None:
    [sentence] = Policy.from_environment({name: "1"}).unknown_variables()
    assert lacking(sentence, f"{name} is not", f"mean {VARIABLES[name]}?") == []


def test_it_is_named_once_in_a_process_and_stops_a_strict_one(world: World) -> None:
    said = "HOTFIX_REQIURE is not a hotfix setting; did you mean HOTFIX_REQUIRE?"
    done = world.run(IMPORT, HOTFIX_REQIURE="toy-scale")
    assert done.stdout == "10\n"
    assert done.stderr.count(said) == 1
    assert world.run(IMPORT, HOTFIX_REQIURE="toy-scale", HOTFIX_LOG="quiet").stderr == f"hotfix: {said}\n"
    assert world.run(IMPORT, HOTFIX_REQIURE="toy-scale", RANK="3").stderr == ""  # all ranks have the same settings
    done = world.run(IMPORT, check=False, HOTFIX_REQIURE="toy-scale", HOTFIX_STRICT="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_commands_name_it_as_well() -> None:
    said = "HOTFIX_STRCT is not a hotfix setting; did you mean HOTFIX_STRICT?"
    assert said in hotfix("status", "--json", env={"HOTFIX_STRCT": "1"}).stderr
    assert hotfix("status", "--json", env={"HOTFIX_STRCT": "1", "HOTFIX_STRICT": "1"}).status == 2
    assert said in hotfix("doctor", "--quick", env={"HOTFIX_STRCT": "1"}).stdout


def test_variables_of_others_are_not_ours() -> None:
    assert Policy.from_environment({"HOTFIXES_DIR": "/x", "HOTFIX": "1", "MY_HOTFIX_X": "1"}).unknown_variables() == []


@pytest.mark.parametrize("variable", ["HOTFIX_ONLY", "HOTFIX_SKIP", "HOTFIX_OPTIN", "HOTFIX_REQUIRE"])
def test_a_misspelt_id_is_named_by_the_command(variable: str) -> None:
    for words in (["status"], ["status", "--json"], ["lock", "/dev/null/hotfix.lock"]):
        done = hotfix(*words, env={variable: "flash-rotary-dtpye"})
        assert lacking(done.stderr, f"{variable}=flash-rotary-dtpye: ", "mean flash-rotary-dtype?") == []
        assert hotfix(*words, env={variable: "flash-rotary-dtpye", "HOTFIX_STRICT": "1"}).status == 2


# -- verify ------------------------------------------------------------------------------------------------------------


def proof(result: str) -> verify.Proof:
    return verify.Proof("a-fix", "module:function", result, "because", "ran", "ran")


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([], 0),  # nothing is broken here
        (["verified"], 0),
        (["verified", "not here"], 0),
        (["not here"], 1),
        (["not here", "not here"], 1),
        (["verified", "failed"], 1),
        (["failed"], 1),
    ],
)
def test_a_gate_that_has_proved_nothing_is_not_green(results, status, monkeypatch, capsys) -> None:
    monkeypatch.setattr(verify, "_work", lambda ids: [("a-fix", [])] if results else [])
    monkeypatch.setattr(verify, "_prove", lambda *arguments: map(proof, results))
    for as_json in (False, True):
        chosen = argparse.Namespace(id=[], against=None, timeout=1.0, json=as_json)
        assert verify.run(chosen) == status
    shown = capsys.readouterr().out
    assert ("Nothing was proved" in shown) is bool(results and set(results) == {"not here"})


@pytest.mark.parametrize(
    ("oracle", "result"),
    [
        (None, "verified"),
        ({"logits": 2.0}, "verified"),
        ({"logits": 2.1}, "failed"),
        ({"logits": math.nan}, "failed"),
        ({"other": 2.0}, "failed"),
        ({}, "failed"),
        ("raises", "failed"),
    ],
)
def test_a_result_far_from_the_fixed_release_is_no_proof(oracle, result, tmp_path) -> None:
    torch = pytest.importorskip("torch")

    def run(name, tensors):
        if tensors == "raises":
            return {"error": ["ValueError", "no"], "applied": [], "tensors": None}
        file = str(tmp_path / f"{name}.pt")
        torch.save({key: torch.tensor([value]) for key, value in tensors.items()}, file)
        return {"error": None, "applied": ["module:function"], "tensors": file}

    fix: Any = SimpleNamespace(id="a-fix", case_spec=SimpleNamespace(packages={}, raises="", tolerance={}))
    before, after = run("before", {"logits": 1.0}), run("after", {"logits": 2.0})
    proved = verify._proved(
        fix, "module:function", before, after, None if oracle is None else run("oracle", oracle), {"device_kind": "cpu"}
    )
    assert proved.result == result
