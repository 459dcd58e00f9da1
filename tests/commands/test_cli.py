"""The command on the founding stacks, in a pseudo-terminal and in a pipe, with the extra and without it."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hotfix.commands.main import COMMANDS
from hotfix.engine.catalogue import Catalogue
from tests.commands.cli_runs import ESCAPE, ROOT, hotfix, stack
from tests.facts import lacking

pytestmark = pytest.mark.drawn(2)  # a process for each case

ROTARY, PADDING = "flash-rotary-dtype", "fa2-right-padding-check"
FIRST = ("4.49.0", "2.7.4.post1")

# The rows of `status` for the two fixes on each stack: verdict and state.
BROKEN, FIXED, ABSENT = ("broken", "pending"), ("fixed", "skipped"), ("absent", "skipped")
STACKS = {
    "4.49.0": (FIRST, {ROTARY: BROKEN, PADDING: BROKEN}),
    "4.52.4": (("4.52.4",), {ROTARY: ("unaffected", "skipped"), PADDING: BROKEN}),
    "4.57.6": (("4.57.6",), {ROTARY: ABSENT, PADDING: BROKEN}),
    "5.23.0": (("5.23.0",), {ROTARY: ABSENT, PADDING: FIXED}),
    "none": ((), {ROTARY: ABSENT, PADDING: ABSENT}),
    "broken": ((), {ROTARY: ABSENT, PADDING: ABSENT}),
}


@pytest.fixture(params=STACKS)
def folders(request, tmp_path):
    """Name and folders of a stack."""
    name = request.param
    if name == "broken":  # left by an interrupted installation
        (tmp_path / "transformers" / "models").mkdir(parents=True)
        (tmp_path / "transformers-4.49.0.dist-info").mkdir()
        return name, (tmp_path,)
    return name, stack(*STACKS[name][0]) if STACKS[name][0] else ()


OPT_IN = {id: entry.group for id, entry in Catalogue(print).entries.items() if entry.optin}
RESTORING = {
    id
    for id, entry in Catalogue(print).entries.items()
    if not entry.optin and (entry.group or all(target.way.adds_name for target in entry.load().targets))
}


def rows(text):
    """The first words of each line of a plain table."""
    return {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}


@pytest.mark.testbed
def test_status_says_the_same_in_a_pipe_on_a_terminal_and_as_json(folders):
    name, path = folders
    expected = STACKS[name][1]
    words = "status", "--all"
    piped, shown = hotfix(*words, path=path), hotfix(*words, path=path, terminal=True)
    assert (piped.status, piped.stderr, shown.status, shown.stderr) == (0, "", 0, "")
    assert ESCAPE not in piped.stdout
    assert ESCAPE in shown.stdout
    table = rows(piped.stdout)
    outcomes = hotfix("status", "--json", path=path).json["outcomes"]
    for fix, (verdict, state) in expected.items():
        assert table[fix][2:4] == [verdict, state]
        assert f"{fix} crash {verdict} {state}" in shown.text
        mine = [outcome for outcome in outcomes if outcome["fix"] == fix]
        assert any((outcome["verdict"], outcome["state"]) == (verdict, state) for outcome in mine)
    if name == "none":
        assert lacking(piped.stdout, "transformers", "not installed") == []


@pytest.mark.testbed
def test_status_shows_broken_fixes_and_counts_the_rest(folders):
    _, path = folders
    text = " ".join(hotfix("status", path=path).stdout.split())
    brief, whole = (rows(hotfix("status", *more, path=path).stdout) for more in ((), ("--all",)))
    idle = [fix for fix, words in whole.items() if words[2:3] in (["fixed"], ["absent"])]
    assert set(idle).isdisjoint(brief)
    # The names that a group would restore are one line. So is the optional part of a fix whose rest is on by default.
    off = {fix for fix, words in whole.items() if words[3:4] == ["disabled"]} - set(idle)
    offered = {fix for fix in off if OPT_IN.get(fix) or fix in RESTORING}
    assert ("HOTFIX_OPTIN=removed-names" in brief) == bool(offered)
    # So are the fixes for code that would otherwise end.
    restoring = {fix for fix in RESTORING if whole.get(fix, ["", "", "", ""])[3:4] in (["pending"], ["applied"])}
    assert ("a program would" in text) == bool(restoring)
    assert restoring.isdisjoint(brief)
    folded = {fix for fix in whole if fix not in brief} - set(idle) - offered - restoring - {"fix"}
    left_out = set(idle) | offered | restoring | folded
    if folded:  # the worst are included
        assert f"{len(folded)} more" in text
    assert set(whole) - set(brief) == left_out | ({"fix"} if len(left_out) == len(whole) - 2 else set())
    if "transformers is not installed" in text:  # what to do comes in the place of a number
        assert "`hotfix scan`" in text
    else:
        assert brief["There"][:7] == f"There is nothing to do for {len(idle)}".split()
    order = [words[2] for words in whole.values() if words[2:3] in (["broken"], ["fixed"])]
    assert order == sorted(order), "what is broken comes first"


@pytest.mark.testbed
def test_status_by_target_has_a_row_for_each(folders):
    _, path = folders
    done = hotfix("status", "--targets", path=path)
    outcomes = hotfix("status", "--json", path=path).json["outcomes"]
    for outcome in outcomes:
        assert f"{outcome['target']}  " in done.stdout
    assert len(done.stdout.splitlines()) == len(outcomes) + 3


@pytest.mark.testbed
def test_doctor_finds_the_faults_of_a_stack(folders):
    name, path = folders
    done = hotfix("doctor", "--quick", "--json", path=path)
    said = {finding["subject"]: finding for finding in done.json["findings"]}
    release = said["transformers"]
    if name == "broken":
        assert done.status == 1
        assert release["level"] == "problem"
        assert "broken installation" in release["found"]
        assert "reinstall" in release["advice"]
    else:
        assert done.status == 0
        assert release["level"] == ("note" if name == "none" else "ok")
        assert (name in release["found"]) is (name != "none")
    shown = hotfix("doctor", "--quick", path=path, terminal=True)
    assert shown.status == done.status
    assert release["found"].split()[0] in shown.text


@pytest.mark.testbed
def test_explain_reports_the_installed_state(folders):
    name, path = folders
    for fix, (verdict, _) in STACKS[name][1].items():
        done = hotfix("explain", fix, path=path)
        facts = rows(done.stdout)
        assert done.status == 0
        assert {"Kind", "Symptom", "Cause", "Releases", "Upstream", "Repair", "Evidence"} <= facts.keys()
        assert facts["This"][2] == (f"{verdict}." if path else "transformers")  # is not installed
    assert hotfix("explain", ROTARY, path=path, terminal=True).text.startswith(f"{ROTARY}: ")


@pytest.mark.testbed
def test_diff_shows_lines_of_the_installed_file(folders):
    name, path = folders
    for fix, (_, state) in STACKS[name][1].items():
        done = hotfix("diff", fix, path=path)
        assert (done.status, done.stderr) == (0, "")
        if state != "pending":
            assert "Nothing is changed" in done.stdout
            continue
        assert str(path[0]) in done.stdout
        removed = [line[1:] for line in done.stdout.splitlines() if line.startswith("-") and line[1:2] == " "]
        assert removed
        source = {line for file in _files(done.stdout) for line in Path(file).read_text().splitlines()}
        assert set(removed) <= source
        assert any("padding_side='right'" in line or "apply_rotary_emb" in line for line in removed)
    if name == "4.49.0":
        shown = hotfix("diff", ROTARY, path=path, terminal=True)
        assert ESCAPE in shown.stdout
        assert "+ cos32, sin32 =" in shown.text


def _files(diff):
    return {line[4:] for line in diff.splitlines() if line.startswith("--- ")}


@pytest.mark.testbed
def test_the_diff_of_an_edit_is_a_patch_that_applies_and_gives_the_code_that_runs():
    """`diff` shows the effect of the edit: the patched text and the edited tree are the same program."""
    from hotfix.versions import source

    code = (
        "import json, ast; from hotfix.commands.diff.command import diffs; from hotfix import session;"
        "from hotfix.patching import code;"
        "from hotfix.versions import installed, source; out = []\n"
        f"for target in session.current().catalogue.entries[{PADDING!r}].load().targets:\n"
        "    text = installed.source_of(installed.find_spec(target.module)) or ''\n"
        "    found = source.find(text, target.qualname)\n"
        f"    lines = dict(diffs({PADDING!r}, str(target))).get(str(target)) if found else None\n"
        "    if lines:\n"
        "        tree = code.edited_tree(ast.Module([found.node], []), target)\n"
        "        for node in ast.walk(tree):\n"  # the edit leaves a `pass` where the text has nothing
        "            for name, block in ast.iter_fields(node):\n"
        "                if isinstance(block, list) and len(block) > 1:\n"
        "                    setattr(node, name, [one for one in block if not isinstance(one, ast.Pass)])\n"
        "        out.append([str(target), text, lines, source.digest(tree.body[0])])\n"
        "print(json.dumps(out))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(map(str, [*stack("4.49.0"), ROOT]))},
        capture_output=True,
        text=True,
        check=True,
    )
    functions = json.loads(done.stdout)
    assert len(functions) > 10
    for target, text, lines, digest in functions:
        patched = source.find(_patched(text, lines), target.partition(":")[2])
        assert patched is not None
        assert source.digest(patched.node) == digest, target


def _patched(text, lines):
    """Apply a unified diff."""
    old, new, position = text.splitlines(), [], 0
    for line in lines[2:]:
        if hunk := re.match(r"@@ -(\d+)", line):
            new += old[position : int(hunk[1]) - 1]
            position = int(hunk[1]) - 1
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[position] == line[1:]
            position += 1
            new += [line[1:]] if line.startswith(" ") else []
    return "\n".join([*new, *old[position:]]) + "\n"


# -- behaviour in a shell
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_none(variable):
    done = hotfix("status", terminal=True, env=variable)
    assert done.status == 0
    assert ESCAPE not in done.stdout
    assert "\x1b" not in hotfix("--help", terminal=True, env={"NO_COLOR": "1"}).stdout


def test_colour_can_be_forced_into_a_pipe():
    assert ESCAPE in hotfix("list", env={"FORCE_COLOR": "1"}).stdout
    assert ESCAPE not in hotfix("list", "--json", env={"FORCE_COLOR": "1"}).stdout


def test_every_command_has_help_with_examples():
    for word in COMMANDS:
        done = hotfix(word, "--help")
        assert done.status == 0
        assert f"hotfix {word}" in done.stdout.split("Examples:")[1]
    shown = hotfix("--help", terminal=True)
    assert all(word in shown.text for word in COMMANDS)


def test_the_examples_can_be_parsed():
    import shlex

    from hotfix.commands.main import build_parser

    for word, home in COMMANDS.items():
        module = __import__(f"hotfix.commands.{home}", fromlist=["EXAMPLES"])
        assert module.EXAMPLES
        for line in module.EXAMPLES:
            command = re.findall(r"hotfix ([^|&>)]+)", line)[-1]
            words = shlex.split(command)
            assert build_parser().parse_args(words).command == word, line


def test_an_error_is_one_line_and_a_traceback_only_under_debug():
    done = hotfix("explain", "no-such-bug")
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "'no-such-bug'" in done.stderr
    assert "did you mean" in hotfix("explain", "flash-rotary").stderr
    assert "Traceback" in hotfix("explain", "no-such-bug", "--debug").stderr
    assert "Traceback" in hotfix("--debug", "explain", "no-such-bug").stderr
    done = hotfix("status", env={"HOTFIX_LOG": "loud"})
    assert (done.status, done.stderr.count("\n")) == (2, 1)
    assert "HOTFIX_LOG=loud" in done.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly():
    command = f"{sys.executable} -m hotfix list --all --json | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_is_a_script_that_knows_the_commands(shell):
    done = hotfix("completion", shell)
    assert done.status == 0
    assert all(word in done.stdout for word in COMMANDS)
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=done.stdout, text=True).returncode == 0


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from hotfix.commands.main import main; main(['status', '--json']); "
        "heavy = {'torch', 'transformers', 'numpy', 'rich', 'yaml', 'wrapt', 'importlib.metadata', 'flash_attn'}; "
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- without the extra -------------------------------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path):
    """Options for a run that finds packaging and wrapt, and no other installed package."""
    import packaging
    import wrapt

    for module in (packaging, wrapt):
        folder = Path(str(module.__file__)).parent
        (tmp_path / folder.name).symlink_to(folder)
    return {"flags": ["-S"], "path": [tmp_path]}


def test_every_json_works_without_the_extra(bare):
    assert hotfix("status", "--json", **bare).json["outcomes"]
    assert hotfix("doctor", "--quick", "--json", **bare).json["findings"]
    assert hotfix("list", "--json", **bare).json
    assert hotfix("explain", ROTARY, "--json", **bare).json["report"]["Symptom"]
    message = "Input and cos/sin must have the same dtype"
    assert hotfix("explain", "--error", message, "--json", **bare).json["bugs"]
    assert hotfix("diff", ROTARY, "--json", **bare).json == []
    scan = hotfix("scan", "axolotl.txt", "qwen2-vl-finetune/Pipfile.lock", "--json", **bare)
    assert (scan.status, scan.stderr, len(scan.json["scans"])) == (0, "", 2)


def test_without_the_extra_the_command_is_plain_and_says_how_to_get_it(bare):
    for words in (("status", "--all"), ("list",), ("scan", "axolotl.txt")):
        done = hotfix(*words, **bare)
        assert done.status == 0
        assert PADDING in done.stdout
        assert done.stderr.count("\n") == 1
        assert lacking(done.stderr, "rich", "rich-argparse", "shtab", "PyYAML") == []
    for words in (("completion", "bash"), ("scan", "qwen2-vl-finetune/environment.yaml")):
        done = hotfix(*words, **bare)
        assert (done.status, done.stderr.count("\n")) == (2, 1)
        assert lacking(done.stderr, "rich", "rich-argparse", "shtab", "PyYAML") == []
    assert "torch, which is" in hotfix("verify", **bare).stderr


# -- explain, by the message -------------------------------------------------------------------------------------------


def test_explain_says_why_a_bug_is_not_repaired_and_which_release_to_move_to():
    text = hotfix("explain", "packed-position-ids-sdpa").stdout
    assert lacking(text, "4.53.0", "positions") == []
    assert "transformers 4.53.1 does" in text


TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    trainer.train()
  File "modeling_qwen2_5_vl.py", line 170, in apply_rotary_pos_emb_flashatt
    q_embed = apply_rotary_emb(q.float(), cos, sin).type_as(q)
AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16
  0%|          | 0/100 [00:03<?, ?it/s]
"""


@pytest.mark.parametrize(
    ("message", "bug"),
    [
        ("Input and cos/sin must have the same dtype", ROTARY),
        (TRACEBACK, ROTARY),
        (
            "ValueError: You are attempting to perform batched generation with padding_side='right' this may lead to "
            "unexpected behaviour for Flash Attention version of Qwen2_5_VL. Make sure to  call "
            "`tokenizer.padding_side  = 'left'` before tokenizing the input. ",
            PADDING,
        ),
        ("You are attempting to perform batched generation with padding_side='right'", PADDING),
        ("AttributeError: 'Mine' object has no attribute 'all_tied_weights_keys'", "v5-all-tied-weights-keys-missing"),
        ("cannot import name 'HybridCache' from 'transformers' (/x/y.py)", "hybrid-cache-removed"),
    ],
)
def test_an_error_message_leads_to_its_bug(message, bug):
    from hotfix.commands.explain import messages

    assert messages.search(message)[0].bug.id == bug


@pytest.mark.parametrize(
    "message",
    [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "AttributeError: module 'mine' has no attribute 'Other'",
        "KeyError: 'input_ids'",
        "x",
        "{}[]()\x00\x1b[2J",
        pytest.param("Error " * 50_000, id="one word, many times"),
    ],
)
def test_a_message_of_something_else_leads_nowhere(message):
    from hotfix.commands.explain import messages

    assert messages.search(message) == []


@pytest.mark.testbed
def test_a_traceback_on_stdin_is_explained():
    done = hotfix("explain", "-", stdin=TRACEBACK, path=stack(*FIRST))
    assert done.status == 0
    assert done.stdout.startswith(f"{ROTARY}: ")
    assert "import hotfix.auto" in done.stdout
    done = hotfix("explain", "--error", "nothing like this", "--json")
    assert (done.status, done.json) == (1, {"release": None, "bugs": []})
    assert hotfix("explain", "-", stdin="").status == 2


# -- list, digest ------------------------------------------------------------------------------------------------------


def test_list_is_narrowed_by_kind_and_model():
    everything = hotfix("list", "--all", "--json").json
    assert {ROTARY, PADDING, "gemma2-sliding-layer-parity"} <= {fix["id"] for fix in everything}
    silent = hotfix("list", "--all", "--json", "--kind", "silent", "--model", "GEMMA2").json
    assert {fix["kind"] for fix in silent} == {"silent"}
    assert all(any("gemma2" in where for where in fix["where"]) for fix in silent)
    mine = {fix["id"] for fix in hotfix("list", "--json", "--model", "qwen2_5_vl").json}
    assert {ROTARY, PADDING} <= mine
    for written in ("Qwen2.5-VL", "qwen25vl"):
        assert {fix["id"] for fix in hotfix("list", "--json", "--model", written).json} == mine
    assert all(fix["repaired"] for fix in hotfix("list", "--json").json)
    assert "'No-Such'" in hotfix("list", "--model", "No-Such").stdout


@pytest.mark.testbed
def test_the_digest_matches_the_evidence():
    from hotfix.versions import verdict

    target = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:apply_rotary_pos_emb_flashatt"
    digest = hotfix("digest", target, path=stack(*FIRST)).stdout.split()[0]
    assert verdict.evidence(verdict.EVIDENCE / f"{ROTARY}.json")[target][digest].value == "broken"
    for wrong in ("transformers", "transformers.nowhere:f", "transformers:no_such_function"):
        done = hotfix("digest", wrong, path=stack(*FIRST))
        assert (done.status, done.stderr.count("\n")) == (2, 1)


# -- the report in a program -------------------------------------------------------------------------------------------


def test_a_report_has_a_rich_and_an_html_form(monkeypatch):
    from rich.console import Console

    from hotfix.engine.ledger import Outcome, State
    from hotfix.reports.report import Report
    from hotfix.versions.judgement import Verdict

    bad = Outcome(ROTARY, "m:<b>", Verdict.UNKNOWN, State.SKIPPED, True, "<script>alert(1)</script>")
    report = Report((bad,), {"transformers": "4.49.0"}, "0123456789ab")
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report)
    shown = console.export_text()
    assert "transformers 4.49.0" in shown
    assert ROTARY in shown
    html = report._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "unknown" in html


@pytest.mark.testbed
def test_a_disabled_fix_is_broken_and_listed_in_the_table():
    done = hotfix("status", path=stack(*FIRST), env={"HOTFIX_SKIP": ROTARY})
    row = rows(done.stdout)[ROTARY]
    assert row[2:4] == ["broken", "disabled"]
    assert "HOTFIX_SKIP" in row
    assert "Input and cos/sin" in " ".join(row), "the title of the bug"


@pytest.mark.testbed
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_status_fits_on_one_screen(columns):
    for release in (FIRST, ("4.54.0",), ("5.3.0",)):
        done = hotfix("status", path=stack(*release), terminal=True, columns=columns)
        lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", done.stdout).splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= columns
        assert "pending" in done.text


@pytest.mark.testbed
def test_a_report_fits_on_one_screen():
    code = (
        "import hotfix.auto, hotfix, os; import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl\n"
        "for os.environ['COLUMNS'] in '60', '80', '120': print(hotfix.report(), end='\\f')"
    )
    env = {"PYTHONPATH": ":".join(map(str, [*stack(*FIRST), ROOT]))}
    ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    *reports, _ = ended.stdout.split("\f")
    assert [len(report.splitlines()) <= 40 for report in reports] == [True] * 3
    said = [line for line in ended.stderr.splitlines() if line.startswith("hotfix: ")]
    assert len(said) == 1, "one line a process"
    assert re.match(r"hotfix: \d+ repairs\b", said[0])
    assert re.search(r"\b4\.49\.0\b", said[0])


@pytest.mark.testbed
def test_a_report_of_releases_as_they_came_parses_none_of_their_files():
    """It must not grow with the number of fixes; the result still depends on the source."""
    code = (
        "import hotfix.auto, hotfix; from hotfix.versions import verdict\n"
        "def judge(fix, target): raise AssertionError(f'{target} is parsed')\n"
        "verdict.judge_installed = judge\n"
        "report = hotfix.report(); assert len(report.patches) > 10, report.patches\n"
        "assert not [one for one in report if one.state is hotfix.State.FAILED]"
    )
    path = ":".join(map(str, [*stack(*FIRST), ROOT]))
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- shell completion --------------------------------------------------------------------------------------------------


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(tmp_path):
    done = hotfix("run", "--", "no-such-command-at-all")
    assert (done.status, done.stdout, done.stderr.count("\n")) == (127, "", 1)
    (tmp_path / "text").write_text("no program")
    assert hotfix("run", "--", str(tmp_path / "text")).status == 126
    assert hotfix("run", "--", sys.executable, "-c", "raise SystemExit(3)").status == 3


def test_the_man_page_has_every_command_and_option():
    done = hotfix("completion", "man")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith(".TH HOTFIX 1")
    for word in COMMANDS:
        assert f".B hotfix {word}\n" in done.stdout
    assert r"\-\-fail\-on silent|crash|any" in done.stdout
    if shutil.which("groff"):
        ended = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=done.stdout, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_folder_of_records_that_are_none_names_them(tmp_path):
    (tmp_path / "a.json").write_text("{")
    done = hotfix("fleet", str(tmp_path))
    assert done.status == 1
    assert lacking(done.stdout, "No records", "a.json") == []
    metrics = hotfix("fleet", str(tmp_path), "--prometheus").stdout
    samples = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    assert samples["hotfix_uniform"] == "0"
    assert samples["hotfix_ranks_missing"] == "0"


@pytest.mark.testbed
def test_the_log_can_be_json_lines_on_stdout():
    code = "import hotfix.auto, transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
    env = {"PYTHONPATH": ":".join(map(str, [*stack(*FIRST), ROOT])), "HOTFIX_LOG_FORMAT": "json"}
    env |= {"HOTFIX_LOG": "info", "RANK": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(line["message"].startswith(f"{ROTARY}: applied to") for line in lines)
    assert {(line["level"], line["logger"], line["rank"]) for line in lines} == {("info", "hotfix", 0)}
    assert "hotfix" not in done.stderr
