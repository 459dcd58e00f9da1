"""The table of real repositories: how a cell gets its words, and that the page says what the data say."""

from __future__ import annotations

import json
import re

import pytest
from packaging.version import Version

from hotfix.commands import bugs
from hotfix.patching import tabled
from tests.commands.cli_runs import ROOT
from tests.facts import lacking
from tools.studies import remote_code
from tools.studies.remote_code_child import CASES

DATA = json.loads((ROOT / "docs" / "data" / "remote_code.json").read_text(encoding="utf-8"))
RAN = {"stage": "", "error": ""}
STOPPED = {"stage": "load", "error": "KeyError: 'type'"}
OTHER = {**RAN, "other": "forward"}


@pytest.mark.parametrize(
    ("without", "defaults", "optin", "said"),
    [
        (RAN, RAN, RAN, "runs"),
        (STOPPED, RAN, RAN, "runs with hotfix"),
        (STOPPED, STOPPED, RAN, "runs with removed-names"),
        (STOPPED, STOPPED, STOPPED, "stops at load"),
        (STOPPED, STOPPED, OTHER, "other numbers: forward"),
        (OTHER, RAN, RAN, "runs with hotfix"),
        (RAN, RAN, STOPPED, "**runs, and not with removed-names**"),
        (RAN, OTHER, RAN, "**runs, and not with defaults**"),
    ],
)
def test_a_cell_reports_its_outcome(without, defaults, optin, said):
    assert remote_code.word({"without": without, "defaults": defaults, "removed-names": optin}) == said


def test_the_page_matches_the_data():
    text = (ROOT / "docs" / "remote-code.md").read_text(encoding="utf-8")
    assert text.count(remote_code.BEGIN) == text.count(remote_code.END) == 1
    assert text.partition(remote_code.BEGIN)[2].partition(remote_code.END)[0].strip() == remote_code.generated(DATA)


def test_every_case_is_recorded_with_a_release_on_which_it_was_run():
    assert set(DATA["cases"]) == {case.name for case in CASES}
    for name, releases in DATA["cases"].items():
        assert set(releases) <= set(remote_code.RELEASES), name
        assert any(remote_code.word(modes) != "not run" for modes in releases.values()), name


def test_nothing_that_runs_stops_with_hotfix():
    for name, releases in DATA["cases"].items():
        for release, modes in releases.items():
            assert "not with" not in remote_code.word(modes), f"{name} on {release}"


def test_scan_code_reports_every_removed_name_and_no_other():
    assert DATA["names"]
    # Names that came later, code that needs sentencepiece (not installed), and a name removed before the first release.
    no_news = (
        "gpt_oss",
        "modeling_qwen3",
        "flash_attn_supports_top_left_mask",
        "tokenization_llama",
        "ShardedDDPOption",
    )
    for name, row in DATA["names"].items():
        assert not row["false"], name
        assert not [text for text in row["missed"] if not any(part in text for part in no_news)], name


def test_the_recorded_data_contain_no_machine_paths():
    text = json.dumps(DATA)
    assert not [place for place in ("/tmp/", "/root/", "/home/", "site-packages") if place in text]


THREADS = json.loads((ROOT / "docs" / "data" / "threads.json").read_text(encoding="utf-8"))


def page_of_threads():
    return " ".join((ROOT / "docs" / "threads.md").read_text(encoding="utf-8").split())


def counted(threads):
    """How many threads of how many projects, and in how many of them a change could have helped."""
    projects = {"/".join(thread["thread"].split("/")[3:5]) for thread in threads}
    helped = sum(thread["could_help"] for thread in threads)
    total = f"{len(threads)} threads of {len(projects)} projects."
    return f"{total} In {helped} of them a change in transformers could have helped."


def test_the_page_of_threads_matches_the_data_of_the_first_sample():
    threads, page = THREADS["first"], page_of_threads()
    helped = [thread for thread in threads if thread["could_help"]]
    drawn = [bugs.known()[thread["repaired_by"]] for thread in helped if thread["repaired_by"]]
    since = [bugs.known()[thread["repaired_since"]] for thread in helped if thread["repaired_since"]]
    assert not [thread["thread"] for thread in threads if thread["repaired_by"] and thread["repaired_since"]]
    assert all(bug.repaired for bug in drawn + since)

    def figures(repaired):
        default = sum(not bug.optin for bug in repaired)
        return len(repaired), round(100 * len(repaired) / len(helped)), default, len(repaired) - default

    first, later = figures(drawn), figures(drawn + since)
    shares = [f"{count} of these ({share} %)" for count, share, *_ in (first,)] + [f"{later[0]} ({later[1]} %)"]
    assert lacking(page, counted(threads), *shares) == []
    for _, _, default, optin in (first, later):
        assert f"{default} by default and {optin} with `HOTFIX_OPTIN=removed-names`" in page
    assert f"The {len(helped) - later[0]} that are" in page


KINDS = {
    "Issues of other projects": lambda owner, kind: owner != "huggingface/transformers" and kind == "issues",
    "Pull requests of other projects": lambda owner, kind: owner != "huggingface/transformers" and kind == "pull",
    "Threads of transformers itself": lambda owner, kind: owner == "huggingface/transformers",
}


def repaired(threads, since=("", "the table of names", "the sample")):
    """How many are repaired by default and in all, as a row of the table says it.

    Args:
        threads: the threads.
        since: the repairs that count: an empty string for those that existed when the sample was drawn.
    """
    helped = [thread for thread in threads if thread["could_help"]]
    counted = [thread for thread in helped if thread["how"] and thread["since"] in since]
    default = sum(thread["how"] == "default" for thread in counted)
    return [f"{count} ({round(100 * count / len(helped))} %)" for count in (default, len(counted))]


def row_of(threads):
    """A row of the table: when drawn, then today."""
    helped = sum(thread["could_help"] for thread in threads)
    return f"| {len(threads)} | {helped} | {' | '.join(repaired(threads, ['']) + repaired(threads))} |"


def test_the_page_of_threads_matches_the_data_of_the_second_sample():
    threads, page = THREADS["second"], page_of_threads()
    assert counted(threads) in page
    for words, is_one in KINDS.items():
        rows = [
            thread
            for thread in threads
            if is_one("/".join(thread["thread"].split("/")[3:5]), thread["thread"].split("/")[5])
        ]
        assert f"| {words} {row_of(rows)}" in page, words
    assert f"| All {row_of(threads)}" in page
    default, in_all = repaired(threads, ["", "the table of names"])
    assert f"led to: {default} by default, {in_all} in all." in page
    helped = [thread for thread in threads if thread["could_help"]]
    assert f"The {sum(not thread['how'] for thread in helped)} that are" in page


def explained(threads):
    """How often `explain` was right, as the page says it, for the threads that have a message."""
    asked = [thread for thread in threads if thread["message"]]
    named = sum(bool(thread["expected"]) and thread["explain"] == "right" for thread in asked)
    silent = sum(thread["explain"] == "silent" for thread in asked)
    wrong = sum(thread["explain"] == "wrong" for thread in asked)
    nothing = len(asked) - named - silent - wrong
    return [
        f"{len(asked)} threads",
        f"for {named} of",
        f"for {nothing} where",
        f"about {wrong},",
        f"about {silent} that",
    ]


@pytest.mark.parametrize("sample", [name for name in THREADS if name not in ("first", "second")])
def test_the_page_of_threads_matches_the_data_of_a_later_sample(sample):
    threads = THREADS[sample]
    start, end = f"<!-- threads of the {sample} sample -->", f"<!-- end of threads of the {sample} sample -->"
    section = page_of_threads().split(start)[1].split(end)[0]
    says_explain = [] if sample == "third" else explained(threads)
    assert lacking(section, counted(threads), f"| All {row_of(threads)}", *says_explain) == []


def is_by_table(thread):
    """Whether the table of removed names has the name of a thread, for its release."""
    what = thread["what"]
    match = re.search(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'", what) or re.search(
        r"from (?P<module>transformers[\w.]*) import (?P<name>\w+)", what
    )
    if match is None:
        return False
    kind = tabled.kinds(match["module"], match["name"], [thread["release"]]).get(thread["release"], "")
    return tabled.FIXES.get(kind) == thread["repaired_by"]


@pytest.mark.parametrize("sample", [name for name in THREADS if name not in ("first", "third")])
def test_repairs_of_a_sample_are_on_as_recorded(sample):
    for thread in THREADS[sample]:
        assert bool(thread["repaired_by"]) == bool(thread["how"]) == bool(thread["shown_by"]), thread["thread"]
        assert bool(thread["how"]) or not thread["since"], thread["thread"]
        if thread["repaired_by"]:
            bug = bugs.known()[thread["repaired_by"]]
            assert thread["could_help"]
            assert bug.repaired
            assert bug.is_in(Version(thread["release"])) or is_by_table(thread), thread["thread"]
            assert not (bug.optin and thread["how"] == "default"), thread["thread"]


def test_no_thread_is_counted_twice():
    addresses = [thread["thread"] for sample in THREADS.values() for thread in sample]
    assert len(set(addresses)) == len(addresses)


def test_the_page_of_threads_says_how_often_explain_was_right():
    assert lacking(page_of_threads(), *explained(THREADS["second"])) == []
