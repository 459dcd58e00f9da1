"""The switches: which fixes they select, and the report on invalid values."""

from __future__ import annotations

import pytest

from hotfix.engine.policy import Policy
from hotfix.errors import PolicyError
from tests.facts import lacking

from .conftest import FIX, World

IMPORT = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n"

UNREADABLE = [
    ("HOTFIX_UNKNOWN", "maybe", "skip, apply, raise"),
    ("HOTFIX_LOG", "loud", "quiet, summary, info, debug"),
    ("HOTFIX_PADDING", "ignore", "raise, warn"),
    ("HOTFIX_STRICT", "yes", "0, 1"),
    ("HOTFIX_KINDS", "crash,typo", "crash, silent, loading, training, removed-api, api, performance"),
    ("HOTFIX", "off", "0, 1"),
]


@pytest.mark.parametrize(("variable", "value", "allowed"), UNREADABLE)
def test_an_unreadable_value_is_named_with_the_allowed_ones(variable: str, value: str, allowed: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_environment({variable: value})
    message = str(caught.value)
    assert variable in message
    assert value.split(",")[-1] in message
    assert allowed in message


def test_an_unreadable_value_changes_nothing_and_is_reported_once(world: World) -> None:
    done = world.run(IMPORT + IMPORT, HOTFIX_UNKNOWN="maybe")
    assert done.stdout == "7\n7\n"
    assert done.stderr.count("\n") == 1
    assert lacking(done.stderr, "HOTFIX_UNKNOWN=maybe: ", "skip, apply, raise") == []


@pytest.mark.parametrize("switch", [{"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-scale"}], ids=str)
def test_a_value_that_cannot_be_read_raises_where_the_user_wants_to_be_stopped(
    world: World, switch: dict[str, str]
) -> None:
    done = world.run(IMPORT, check=False, HOTFIX_UNKNOWN="maybe", **switch)
    assert done.returncode == 1
    assert "PolicyError: HOTFIX_UNKNOWN=maybe" in done.stderr


def test_an_id_that_does_not_exist_is_a_warning_that_names_the_known_ones(world: World) -> None:
    done = world.run(IMPORT, HOTFIX_ONLY="no-such-fix")
    assert done.stdout == "7\n"
    assert lacking(done.stderr, "HOTFIX_ONLY=no-such-fix: ", "known are toy-scale") == []


def test_an_id_that_does_not_exist_is_an_error_in_strict_mode(world: World) -> None:
    done = world.run(IMPORT, check=False, HOTFIX_SKIP="toy-scales", HOTFIX_STRICT="1")
    assert done.returncode == 1
    assert lacking(done.stderr, "HOTFIX_SKIP=toy-scales: ", "mean toy-scale?") == []


@pytest.mark.parametrize(
    ("switch", "printed"),
    [
        ({"HOTFIX_ONLY": "toy-*"}, "10\n"),
        ({"HOTFIX_SKIP": "toy-*"}, "7\n"),
        ({"HOTFIX_KINDS": "crash"}, "7\n"),
        ({"HOTFIX_KINDS": "crash,silent"}, "10\n"),
        ({"HOTFIX": "1"}, "10\n"),
    ],
    ids=str,
)
def test_switches_choose_fixes(world: World, switch: dict[str, str], printed: str) -> None:
    assert world.run(IMPORT, **switch).stdout == printed


def test_an_opt_in_fix_is_off_until_its_id_or_group_is_requested(world: World) -> None:
    world.plant(
        "toy-scale",
        FIX.replace('kind="silent"', 'kind="silent", optin=True, group="toys"'),
        {"transformers.toy:scale": "==1.0"},
        {"transformers.toy:scale": "scale"},
        optin=True,
        group="toys",
    )
    assert world.run(IMPORT).stdout == "7\n"
    assert world.run(IMPORT, HOTFIX_OPTIN="toy-scale").stdout == "10\n"
    assert world.run(IMPORT, HOTFIX_OPTIN="toys").stdout == "10\n"


def test_the_log_is_one_line_at_the_end_and_none_when_quiet(world: World) -> None:
    (line,) = world.run(IMPORT).stderr.splitlines()
    assert lacking(line, "hotfix: 1 repair", "transformers 1.0", "1 of silent") == []
    assert world.run(f"{IMPORT}\nimport hotfix\nhotfix.revert()").stderr.count("\n") == 1
    assert world.run(IMPORT, HOTFIX_LOG="quiet").stderr == ""
    assert world.run(IMPORT, RANK="1").stderr == ""
    assert world.run(IMPORT, RANK="1", HOTFIX_LOG="debug").stderr != ""
    child = "import multiprocessing, os\nif not (child := os.fork()): raise SystemExit\nos.waitpid(child, 0)"
    assert world.run(f"{IMPORT}\n{child}").stderr.count("\n") == 1


def test_details_are_logged_as_they_happen_when_they_are_wanted(world: World) -> None:
    code = f"{IMPORT}\nimport sys\nprint('end', file=sys.stderr)"
    assert world.run(code).stderr.splitlines()[0] == "end"
    detail, end, summary = world.run(code, HOTFIX_LOG="info").stderr.splitlines()
    assert lacking(detail, "toy-scale: applied", "transformers.toy:scale", "results change") == []
    assert end == "end"
    assert "1 repair" in summary


def test_the_lines_go_where_the_program_has_configured_logging(world: World) -> None:
    code = (
        "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level='INFO', format='%(name)s %(levelname)s')\n"
    )
    done = world.run(code + IMPORT)
    assert done.stdout == "10\nhotfix INFO\n"
    assert done.stderr == ""


def test_apply_names_an_argument_that_is_wrong(world: World) -> None:
    code = """
    import hotfix
    for only in (["no-such-fix"], "toy-scale"):
        try:
            hotfix.apply(only=only)
        except hotfix.PolicyError as error:
            print(error)
    """
    lines = world.run(code).stdout.splitlines()
    assert lacking(lines[0], "only=no-such-fix: ", "known are toy-scale") == []
    assert lacking(lines[1], "only='toy-scale': ", "list of fix") == []


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("HOTFIX_USED", "`hotfix config` lists them"),
        ("HOTFIX_DIR", "`hotfix config` lists them"),
        ("HOTFIX_RECORDS", "did you mean HOTFIX_RECORD?"),
        ("HOTFIX_OPT_IN", "did you mean HOTFIX_OPTIN?"),
    ],
)
def test_only_a_near_match_is_suggested_for_an_unknown_variable(variable: str, advice: str) -> None:
    (sentence,) = Policy.from_environment({variable: "1"}).unknown_variables()
    assert lacking(sentence, f"{variable} is not", advice) == []
