"""``hotfix explain --error`` on messages as people have them, and on tracebacks as terminals leave them.

``messages.json`` has messages from public issue threads (the message alone, with the release that the thread names or
one of its time), found with queries that name no bug, and the expected answer for each, recorded before `explain` was
run: nothing (``""``), a bug by its id (or one of two with the same cause), ``not ID`` if the release does
not have that bug, ``old V`` if V is the first release with the missing name, ``gone V`` if V was the last one. An
unknown id counts as nothing. ``should`` is an answer that `explain` could give and does not: it may give this one, and
must not give any other.
"""

from __future__ import annotations

import json
import re
import textwrap

import pytest
from packaging.version import Version

from hotfix.commands import bugs
from hotfix.commands.explain import command as explain
from hotfix.commands.explain import messages
from hotfix.commands.main import main
from hotfix.versions import installed
from tests.commands.cli_runs import ROOT, hotfix, stack
from tests.commands.unrelated_messages import UNRELATED

AGES = ("old ", "gone ")
REAL = json.loads((ROOT / "tests" / "commands" / "messages.json").read_text(encoding="utf-8"))


@pytest.fixture
def on(monkeypatch):
    """Makes every query run on a release, whose bugs follow from the ranges of the bugs."""

    def release(text):
        version = Version(text)
        monkeypatch.setattr(installed, "version", lambda name: version if name == "transformers" else None)
        monkeypatch.setattr(explain, "is_in_force", lambda bug: (not bug.broken or bug.is_in(version), ""))

    return release


def said(text):
    """The answer: the bug in the headline, a release, a bug that this release does not have, or nothing."""
    answer = explain.answer_to(text)
    if answer.here:
        return answer.here[0].bug.id
    if answer.age:
        first, last = answer.age.first, answer.age.last
        too_old = first and "too old" in answer.age.sentence(installed.version("transformers"))
        return f"old {first}" if too_old else f"gone {last}"
    return f"not {answer.elsewhere[0].bug.id}" if answer.elsewhere else ""


def expected(one):
    """The recorded answer, as far as the catalogue knows it."""
    told = one["is"].split(" or ")
    return {text for text in told if text.startswith(AGES) or text.removeprefix("not ") in bugs.known()} or {""}


def test_real_messages_are_told_as_what_they_are(on):
    assert len(REAL) >= 150
    named = wrong = 0
    for one in REAL:
        on(one["release"])
        got, wanted = said(one["message"]), expected(one)
        named += bool(got)
        if got not in wanted and (not got or got not in one.get("should", "").split(" or ")):
            wrong += 1
            print(f"{one['release']} {one['message'][:150]!r}: {got!r} is none of {wanted}")
    assert not wrong
    assert named > 50


def documented():
    """The messages that README and the pages print, each with the page."""
    # Double backticks may contain single ones.
    name = r"[A-Z]\w*(?:Error|Warning): "
    quoted = re.compile(rf"``({name}.*?)``|(?<!`)`({name}[^`]+)`(?!`)|^\| `?({name}[^|`]+)", re.M)
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        if page.name in ("parity.md", "remote-code.md", "writing-a-fix.md"):  # measurements; a fix not of ours
            continue
        for match in quoted.finditer(page.read_text(encoding="utf-8")):
            yield page.name, re.sub(r"\\(.)", r"\1", match[1] or match[2] or match[3]).rstrip(" .…")


def test_every_message_that_we_print_is_found():
    found = list(documented())
    assert found
    for page, message in found:
        assert messages.search(message), f"{page}: {message}"


# -- tracebacks --------------------------------------------------------------------------------------------------------

SCREEN = 80
PREFIXES = ("", "[rank3]: ", "(WorkerDict pid=136418, ip=10.1.155.100) ", "[1,3]<stderr>:", "node7: ")


def traceback_of(bug, message, prefix, wrapped):
    """The end of a log: frames through the broken code, and the message, wrapped as by a terminal or a launcher."""
    module, _, qualname = bug.where[0].partition(":")
    file = f"/opt/conda/lib/python3.11/site-packages/{module.replace('.', '/')}.py"
    function = re.split(r"\W", qualname.rpartition(".")[2])[0] or "from_pretrained"
    lines = ["Traceback (most recent call last):", '  File "train.py", line 30, in <module>', "    main()"]
    lines += [f'  File "{file}", line 812, in {function}', f"    return {function}(hidden_states)", message]
    if wrapped == "then prefixed":
        lines = [part for line in lines for part in textwrap.wrap(line, SCREEN, subsequent_indent="") or [""]]
    lines = [prefix + line for line in lines]
    if wrapped == "by the screen":
        lines = [line[at : at + SCREEN] for line in lines for at in range(0, max(len(line), 1), SCREEN)]
    return "\n".join([*lines, prefix + "  0%|          | 0/100 [00:03<?, ?it/s]"])


def crashes():
    """Every bug that raises, and its first message."""
    for bug in bugs.known().values():
        if bug.error and bug.where and bug.broken and bug.kind != "silent":
            yield bug, filled(bug.error)


def test_tracebacks_are_right_or_not_your_bug_here(on):
    releases = bugs.examined()
    seen = 0
    for number, (bug, message) in enumerate(crashes()):
        having = [one for one in releases if bug.is_in(one)]
        lacking = [one for one in releases if not bug.is_in(one)]
        prefix = PREFIXES[number % len(PREFIXES)]
        wrapped = ("", "by the screen", "then prefixed")[number % 3]
        text = traceback_of(bug, message, prefix, wrapped)
        on(str(having[0]))
        answer = explain.answer_to(text)
        # Some messages have two causes in one release.
        assert bug.id in [one.bug.id for one in answer.here], f"{bug.id} on {having[0]}\n{text}"
        seen += 1
        for release in lacking[-1:]:
            on(str(release))
            answer = explain.answer_to(text)
            assert bug.id not in [one.bug.id for one in answer.here], f"{bug.id} on {release}\n{text}"
            assert answer.age or bug.id in [one.bug.id for one in answer.elsewhere], f"{bug.id} on {release}\n{text}"
    assert seen >= 60, seen


@pytest.mark.testbed
def test_a_message_is_answered_for_the_release_that_is_installed():
    old = hotfix("explain", "--error", "cannot import name 'Qwen3Model' from 'transformers'", path=stack("4.49.0"))
    assert old.status == 0
    assert "4.49.0 is too old" in old.text
    assert "4.51.0 is the first release that has it" in old.text
    rotary = "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16"
    with_flash = hotfix("explain", "--error", rotary, path=stack("4.49.0", "2.7.4.post1"))
    assert (with_flash.status, with_flash.stdout.partition(":")[0]) == (0, "flash-rotary-dtype")
    assert "flash-attn>=2.8, with which it does not show" in with_flash.text
    assert "``" not in with_flash.stdout
    newer = hotfix("explain", "--error", rotary, path=stack("5.23.0"))
    assert newer.status == 1
    assert newer.text.startswith("Not your bug here")
    nowhere = hotfix("explain", "--error", "IndexError: index 3 is out of bounds", path=stack("4.42.4"))
    assert nowhere.status == 1
    assert nowhere.text.startswith("No known bug has this message.")
    anywhere = hotfix("explain", "--error", rotary)
    assert anywhere.status == 0, "where nothing is installed, somebody asks for another machine"


THROUGH_DIFFUSERS = """Traceback (most recent call last):
  File "/opt/venv/site-packages/diffusers/loaders/single_file.py", line 166, in load_single_file_sub_model
    loaded_sub_model = create_diffusers_clip_model_from_ldm(
  File "/opt/venv/site-packages/diffusers/loaders/single_file_utils.py", line 1705, in create_diffusers_clip_model
    position_embedding_dim = model.text_model.embeddings.position_embedding.weight.shape[-1]
AttributeError: 'CLIPTextModel' object has no attribute 'text_model'
"""


def test_a_neighbour_is_named_where_the_traceback_goes_through_it(monkeypatch, capsys):
    there = {"transformers": Version("5.9.0"), "diffusers": Version("0.38.0")}
    monkeypatch.setattr(installed, "version", there.get)
    fix, neighbour = "clip-tower-attributes-removed", "clip-single-file-before-diffusers-0-39"

    def answered(text):
        assert main(["explain", "--error", text]) == 0
        return capsys.readouterr().out

    through = answered(THROUGH_DIFFUSERS)
    assert through.startswith(f"{neighbour}: ")
    assert "diffusers>=0.39" in through
    alone = answered(THROUGH_DIFFUSERS.splitlines()[-1])
    assert alone.startswith(f"{fix}: ")
    assert f"{neighbour}: Only another version of diffusers helps, 0.39 or later" in " ".join(alone.split())
    there["diffusers"] = Version("0.39.0")
    assert explain.answer_to(THROUGH_DIFFUSERS).here[0].bug.id == fix
    assert [one.bug.id for one in explain.answer_to(THROUGH_DIFFUSERS).elsewhere] == [neighbour]


def test_every_known_bug_says_in_plain_words_what_it_does():
    for bug in bugs.known().values():
        assert 15 < len(bug.title) < 125, bug.id
        assert bug.title != bug.id.replace("-", " "), f"{bug.id} has no title in titles.json"
        assert not bug.title.endswith("."), bug.id


# -- declared messages -------------------------------------------------------------------------------------------------


def test_no_bug_is_named_for_a_message_of_somebody_else():
    named = {text: [one.bug.id for one in messages.search(text) if one.certain] for text in UNRELATED}
    assert len(UNRELATED) >= 60
    assert not {text: ids for text, ids in named.items() if ids}


def filled(text):
    """A declared message as it is raised: with text in place of the placeholders."""
    return re.sub(r"(?<=\w)…", ".…", re.sub(r"…(?=\w)", "….", text)).replace("…", "x7")


def declared():
    """Every bug that raises, and the messages that it declares or that follow from its names."""
    for bug in bugs.known().values():
        for text in (*bug.errors, *bug.names):
            yield bug, filled(text)


def test_every_declared_message_has_the_type_of_its_error_in_front():
    for bug, text in declared():
        name, colon, _ = text.partition(":")
        assert colon, f"{bug.id}: {text}"
        assert all(part.isidentifier() for part in name.split(".")), f"{bug.id}: {text}"


def test_every_declared_message_finds_its_own_bug_however_a_terminal_has_left_it():
    lost = []
    for bug, text in declared():
        folded = "\n".join(textwrap.wrap(text, SCREEN, break_on_hyphens=False))
        cut = "\n".join(text[at : at + SCREEN] for at in range(0, len(text), SCREEN))
        for shown in dict.fromkeys((text, folded, cut)):
            prefixed = "\n".join(f"[rank0]: {line}" for line in shown.splitlines())
            lost += [
                f"{bug.id}: {seen}"
                for seen in (shown, prefixed)
                if bug.id not in [one.bug.id for one in messages.search(seen)]
            ]
    assert not lost


def test_a_declared_message_is_certain_of_its_bug_where_the_traceback_goes_through_it():
    lost = []
    for bug, text in declared():
        if bug.where:
            for wrapped in ("", "by the screen", "then prefixed"):
                seen = traceback_of(bug, text, "[rank0]: ", wrapped)
                if bug.id not in [one.bug.id for one in messages.search(seen) if one.certain]:
                    lost.append(f"{bug.id}:\n{seen}")
    assert not lost


def test_no_prose_is_read_for_a_message(monkeypatch):
    monkeypatch.setattr(bugs, "report_of", lambda entry: pytest.fail("the report of a bug is for people"))
    assert [one.bug.id for one in messages.search(filled("KeyError: 'default'"))]
