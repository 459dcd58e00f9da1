"""The table of real repositories: how a cell gets its words, and that the page says what the data say."""

from __future__ import annotations

import json

import pytest

from hotfix.commands import bugs
from tests.commands.cli_runs import ROOT
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
def test_a_cell_says_what_happened(without, defaults, optin, said):
    assert remote_code.word({"without": without, "defaults": defaults, "removed-names": optin}) == said


def test_the_page_says_what_the_data_say():
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


def test_scan_code_told_every_name_that_is_gone_and_no_other():
    assert DATA["names"]
    # What came later, what needs sentencepiece, which is not here, and a name that went before the first release.
    no_news = (
        "gpt_oss",
        "modeling_qwen3",
        "flash_attn_supports_top_left_mask",
        "tokenization_llama",
        "ShardedDDPOption",
    )
    for name, one in DATA["names"].items():
        assert not one["false"], name
        assert not [text for text in one["missed"] if not any(part in text for part in no_news)], name


def test_what_is_recorded_names_no_place_of_a_machine():
    text = json.dumps(DATA)
    assert not [place for place in ("/tmp/", "/root/", "/home/", "site-packages") if place in text]


def test_the_page_of_threads_says_what_the_data_say():
    threads = json.loads((ROOT / "docs" / "data" / "threads.json").read_text(encoding="utf-8"))
    page = " ".join((ROOT / "docs" / "threads.md").read_text(encoding="utf-8").split())
    helped = [one for one in threads if one["could_help"]]
    drawn = [bugs.known()[one["repaired_by"]] for one in helped if one["repaired_by"]]
    since = [bugs.known()[one["repaired_since"]] for one in helped if one["repaired_since"]]
    assert not [one["thread"] for one in threads if one["repaired_by"] and one["repaired_since"]]
    assert all(bug.repaired for bug in drawn + since)
    projects = {"/".join(one["thread"].split("/")[3:5]) for one in threads}

    def told(repaired):
        default = sum(not bug.optin for bug in repaired)
        return len(repaired), round(100 * len(repaired) / len(helped)), default, len(repaired) - default

    first, later = told(drawn), told(drawn + since)
    assert (
        f"{len(threads)} threads of {len(projects)} projects. In {len(helped)} of them a change in transformers could "
        f"have helped. When drawn: {first[0]} of these ({first[1]} %) were repaired, {first[2]} by default and "
        f"{first[3]} with `HOTFIX_OPTIN=removed-names`. After the fixes that the sample itself led to: {later[0]} "
        f"({later[1]} %), {later[2]} by default and {later[3]} with `HOTFIX_OPTIN=removed-names`."
    ) in page
    assert f"The {len(helped) - later[0]} that are not repaired:" in page
