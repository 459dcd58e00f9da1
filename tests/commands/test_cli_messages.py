"""``hotfix explain --error`` on messages as people have them, and on tracebacks as terminals leave them.

``messages.json`` has messages from public issue threads (the message alone, with the release that the thread names or
one of its time), found with queries that name no bug, and the expected answer for each, recorded before `explain` was
run: nothing (``""``), a bug by its id (or one of two with the same cause), ``not ID`` if the release does
not have that bug, ``old V`` if V is the first release with the missing name, ``gone V`` if V was the last one. An
unknown id counts as nothing. ``should`` is an answer that `explain` could give and does not: it may give this one, and
must not give any other.

``data/messages_2.json`` has 151 more messages that were collected later by one rule. Queries for an issue search name
an error type together with a component or a project, and no bug ("TypeError: Trainer.__init__() got an unexpected
keyword argument", "Florence2 AttributeError transformers 5"). Of each result from 2024 or later that is about
transformers, the first error line counts, unless ``messages.json`` has it. The release is the one that
the thread names, or one of its time that can raise the message. ``nothing`` is the answer for messages that no known
bug has.
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
from tests.facts import lacking

AGES = ("old ", "gone ")
REAL = json.loads((ROOT / "tests" / "commands" / "messages.json").read_text(encoding="utf-8"))
NEW = json.loads((ROOT / "tests" / "commands" / "data" / "messages_2.json").read_text(encoding="utf-8"))


@pytest.fixture
def on(monkeypatch):
    """Makes every query run on a release, whose bugs follow from the ranges of the bugs."""

    def release(text):
        version = Version(text)
        monkeypatch.setattr(installed, "version", lambda name: version if name == "transformers" else None)
        monkeypatch.setattr(explain, "is_in_force", lambda bug: (not bug.broken or bug.is_in(version), ""))

    return release


def named(text):
    """The answer: the bug in the headline, a release, a bug that this release does not have, or nothing."""
    answer = explain.answer_to(text)
    if answer.here:
        return answer.here[0].bug.id
    if answer.restored:
        return answer.restored.fix
    if answer.age:
        first, last = answer.age.first, answer.age.last
        too_old = first and "too old" in answer.age.sentence(installed.version("transformers"))
        return f"old {first}" if too_old else f"gone {last}"
    return f"not {answer.elsewhere[0].bug.id}" if answer.elsewhere else ""


def expected(message):
    """The recorded answers, as far as the catalogue knows them."""
    answers = message["is"].split(" or ")
    return {id for id in answers if id.startswith(AGES) or id.removeprefix("not ") in bugs.known()} or {""}


def test_real_messages_have_the_recorded_answer(on):
    assert len(REAL) >= 150
    answered = wrong = 0
    for message in REAL:
        on(message["release"])
        answer, wanted = named(message["message"]), expected(message)
        answered += bool(answer)
        if answer not in wanted and (not answer or answer not in message.get("should", "").split(" or ")):
            wrong += 1
            print(f"{message['release']} {message['message'][:150]!r}: {answer!r} is none of {wanted}")
    assert not wrong
    assert answered > 50


def test_new_messages_are_answered_right(on):
    assert len({message["message"] for message in NEW}) == len(NEW) >= 150
    assert not {message["message"] for message in NEW} & {message["message"] for message in REAL}
    right, unanswered, unrelated = 0, [], []
    for message in NEW:
        on(message["release"])
        answer, wanted = named(message["message"]) or "nothing", message["is"].split(" or ")
        right += answer in wanted
        if answer not in wanted:
            print(f"{message['release']} {message['message'][:150]!r}: {answer!r} is none of {wanted}")
            if answer == "nothing":
                unanswered.append(message)
            elif wanted == ["nothing"]:
                unrelated.append(message)
    assert right >= 0.97 * len(NEW)
    assert len(unanswered) <= 5
    assert not unrelated


def test_every_recorded_id_is_a_known_bug():
    answers = {id.removeprefix("not ") for message in NEW for id in message["is"].split(" or ")} - {"nothing"}
    assert not {id for id in answers if not id.startswith(AGES)} - bugs.known().keys()


def documented():
    """The messages that README and the pages print, each with the page."""
    # Double backticks may contain single ones.
    name = r"[A-Z]\w*(?:Error|Warning): "
    quoted = re.compile(rf"``({name}.*?)``|(?<!`)`({name}[^`]+)`(?!`)|^\| `?({name}[^|`]+)", re.M)
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        if page.name in (
            "imports.md",
            "parity.md",
            "remote-code.md",
            "writing-a-fix.md",
        ):  # measurements; a fix not of ours
            continue
        for match in quoted.finditer(page.read_text(encoding="utf-8")):
            yield page.name, re.sub(r"\\(.)", r"\1", match[1] or match[2] or match[3]).rstrip(" .…")


def test_every_message_that_we_print_is_found():
    examples = list(documented())
    assert examples
    for page, message in examples:
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
        having = [version for version in releases if bug.is_in(version)]
        lacking = [version for version in releases if not bug.is_in(version)]
        prefix = PREFIXES[number % len(PREFIXES)]
        wrapped = ("", "by the screen", "then prefixed")[number % 3]
        text = traceback_of(bug, message, prefix, wrapped)
        on(str(having[0]))
        answer = explain.answer_to(text)
        # Some messages have two causes in one release.
        assert bug.id in [match.bug.id for match in answer.here], f"{bug.id} on {having[0]}\n{text}"
        seen += 1
        for release in lacking[-1:]:
            on(str(release))
            answer = explain.answer_to(text)
            assert bug.id not in [match.bug.id for match in answer.here], f"{bug.id} on {release}\n{text}"
            known = answer.age or answer.restored or bug.id in [match.bug.id for match in answer.elsewhere]
            assert known, f"{bug.id} on {release}\n{text}"
    assert seen >= 60, seen


@pytest.mark.testbed
def test_a_message_is_answered_for_the_release_that_is_installed():
    old = hotfix("explain", "--error", "cannot import name 'Qwen3Model' from 'transformers'", path=stack("4.49.0"))
    assert old.status == 0
    assert lacking(old.text, "4.49.0", "too old") == []
    assert lacking(old.text, "4.51.0", "first release") == []
    rotary = "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16"
    with_flash = hotfix("explain", "--error", rotary, path=stack("4.49.0", "2.7.4.post1"))
    assert (with_flash.status, with_flash.stdout.partition(":")[0]) == (0, "flash-rotary-dtype")
    assert "flash-attn>=2.8" in with_flash.text
    assert "``" not in with_flash.stdout
    newer = hotfix("explain", "--error", rotary, path=stack("5.23.0"))
    assert newer.status == 1
    assert "flash-rotary-dtype: " in newer.text
    assert "flash-attn>=2.8" not in newer.text, "no advice for a bug that is not here"
    nowhere = hotfix("explain", "--error", "IndexError: index 3 is out of bounds", path=stack("4.42.4"))
    assert nowhere.status == 1
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
    assert lacking(" ".join(alone.split()), neighbour, "diffusers", "0.39 or later") == []
    there["diffusers"] = Version("0.39.0")
    assert explain.answer_to(THROUGH_DIFFUSERS).here[0].bug.id == fix
    assert [match.bug.id for match in explain.answer_to(THROUGH_DIFFUSERS).elsewhere] == [neighbour]


def test_every_known_bug_has_a_title_in_plain_words():
    for bug in bugs.known().values():
        assert 15 < len(bug.title) < 125, bug.id
        assert bug.title != bug.id.replace("-", " "), f"{bug.id} has no title in titles.json"
        assert not bug.title.endswith("."), bug.id


# -- declared messages -------------------------------------------------------------------------------------------------


def test_no_bug_is_named_for_a_message_of_somebody_else():
    named = {text: [match.bug.id for match in messages.search(text) if match.certain] for text in UNRELATED}
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
                if bug.id not in [match.bug.id for match in messages.search(seen)]
            ]
    assert not lost


@pytest.mark.drawn(4, "long")
def test_a_declared_message_is_certain_of_its_bug_where_the_traceback_goes_through_it():
    lost = []
    for bug, text in declared():
        if bug.where:
            for wrapped in ("", "by the screen", "then prefixed"):
                seen = traceback_of(bug, text, "[rank0]: ", wrapped)
                if bug.id not in [match.bug.id for match in messages.search(seen) if match.certain]:
                    lost.append(f"{bug.id}:\n{seen}")
    assert not lost


def test_no_prose_is_read_for_a_message(monkeypatch):
    monkeypatch.setattr(bugs, "report_of", lambda entry: pytest.fail("the report of a bug is for people"))
    assert [match.bug.id for match in messages.search(filled("KeyError: 'default'"))]


# -- titles, replaced classes, opt-ins, descriptions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "message", "bug"),
    [
        (
            "4.44.0",
            "Exception: data did not match any variant of untagged enum ModelWrapper",
            "tokenizers-modelwrapper",
        ),
        (
            "4.53.0",
            "Qwen2_5_VLProcessor.__init__() got multiple values for argument 'image_processor'",
            "processor-args",
        ),
        ("5.0.0", "RuntimeError: Tensor.item() cannot be called on meta tensors", "custom-model-on-meta-device"),
        ("4.40.0", "AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'", "training-args-eval"),
    ],
)
def test_the_messages_of_these_bugs_are_certain(on, release, message, bug):
    on(release)
    assert named(message).startswith(bug)


def test_a_title_is_certain_of_its_bug():
    lost = [
        bug.id
        for bug in bugs.known().values()
        for text in (bug.title, f"[rank0]: {bug.title}.")
        if bug.id not in [match.bug.id for match in messages.search(text) if match.certain]
    ]
    assert not lost


@pytest.mark.parametrize(
    "message",
    [
        "TypeError: PatchedQwen2Attention.forward() got an unexpected keyword argument 'cache_position'",
        "TypeError: UnslothSFTTrainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
        "TypeError: UnslothDPOTrainer.get_batch_samples() takes 3 positional arguments but 4 were given",
        "TypeError: _unsloth_get_batch_samples() takes 3 positional arguments but 4 were given",
        "TypeError: MyDecoderLayer.forward() got an unexpected keyword argument 'cache_position'",
    ],
)
def test_a_class_that_no_fix_repairs_is_not_taken_for_one_that_a_fix_repairs(on, message):
    for release in ("4.50.0", "5.3.0"):
        on(release)
        answer = explain.answer_to(message)
        assert (answer.here, answer.elsewhere) == ((), ())


def test_the_same_message_of_a_class_of_the_users_own_is_answered(on):
    on("5.3.0")
    assert named("TypeError: MyModel.forward() got an unexpected keyword argument 'cache_position'")


@pytest.mark.parametrize("name", ["max_length", "rope_theta", "pad_token_id"])
@pytest.mark.parametrize("kind", ["ChatGLMConfig", "LlamaConfig", "WhisperConfig"])
def test_an_attribute_that_every_configuration_had_is_answered_for_any_class(on, kind, name):
    on("5.3.0")
    for message in (
        f"AttributeError: '{kind}' object has no attribute '{name}'",
        f"'{kind}' object has no attribute '{name}'",
    ):
        assert named(message).startswith("v5-config-generation")


def test_no_bug_of_the_catalogue_has_the_message_of_a_fix_for_the_same_releases():
    """Its report would say that hotfix does not repair it. Only bugs of other packages are left, and say so."""
    doubled = {
        bug.id: match.bug.id
        for bug in bugs.known().values()
        if not bug.repaired and not (bug.needs and bug.why_not)
        for text in bug.errors
        for match in messages.search(filled(text))
        if match.bug.repaired and match.certain
        if any(bug.is_in(release) and match.bug.is_in(release) for release in bugs.examined())
    }
    assert not doubled


def test_an_answer_says_that_a_repair_is_off_and_how_to_switch_it_on(on, capsys):
    on("5.23.0")
    assert main(["explain", "--error", "AttributeError: 'CLIPTextModel' object has no attribute 'text_model'"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "HOTFIX_OPTIN=clip-tower-attributes-removed hotfix run -- python train.py" in lines
    assert 'import os; os.environ["HOTFIX_OPTIN"] = "clip-tower-attributes-removed"' in lines


@pytest.mark.parametrize(
    ("release", "message", "fix"),
    [
        (
            "5.23.0",
            "ImportError: cannot import name 'default_logdir' from 'transformers.training_args' (/x.py)",
            "elsewhere",
        ),
        (
            "5.23.0",
            "AttributeError: module 'transformers.training_args' has no attribute 'default_logdir'",
            "elsewhere",
        ),
        ("5.23.0", "ModuleNotFoundError: No module named 'transformers.generation_utils'", "names-elsewhere"),
        (
            "4.57.6",
            "cannot import name '_CONFIG_FOR_DOC' from 'transformers.models.gemma2.modeling_gemma2'",
            "constants-removed",
        ),
        ("4.36.0", "ImportError: cannot import name 'default_logdir' from 'transformers.training_args'", ""),
        ("5.23.0", "ImportError: cannot import name 'never_there' from 'transformers.training_args'", ""),
    ],
)
def test_a_name_of_the_table_is_answered_by_its_row(on, capsys, release, message, fix):
    on(release)
    restored = explain.answer_to(message).restored
    assert bool(restored) == bool(fix)
    assert restored is None or restored.fix.endswith(fix)
    assert main(["explain", "--error", message]) == int(not fix)
    assert ("import hotfix.auto" in capsys.readouterr().out) == bool(fix)


@pytest.mark.parametrize(
    ("description", "bug"),
    [
        ("qwen2.5-vl flash attention crash 4.49", "flash-rotary-dtype"),
        ("Qwen2.5 VL crashes with flash-attn, transformers v4.49.0", "flash-rotary-dtype"),
        ("gradient accumulation loss too large 4.46.1", "trainer-ga-multiplied-loss"),
    ],
)
def test_a_description_gets_the_bugs_of_its_model_and_release_as_a_guess(on, capsys, description, bug):
    on("5.23.0")
    answer = explain.answer_to(description)
    assert answer.guess is not None
    assert bug in [known.id for known in answer.guess.bugs]
    assert (answer.here, answer.near) == ((), ())
    assert main(["explain", "--error", description, "--json"]) == 1, "a guess is not a match"
    assert {known["fits"] for known in json.loads(capsys.readouterr().out)["bugs"]} == {"guess"}
    assert main(["explain", "--error", description]) == 1
    assert bug in capsys.readouterr().out


@pytest.mark.parametrize("description", ["my dog is ill", "nothing like this", "git bit led", "4.49.0"])
def test_a_description_of_something_else_gets_no_guess(on, description):
    on("4.49.0")
    assert explain.answer_to(description).guess is None
