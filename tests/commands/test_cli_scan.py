"""``hotfix scan`` on pins of published projects, in every format, and on files that are not pin files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.commands.cli_runs import ROOT, hotfix
from tests.facts import lacking

PINS = ROOT / "tests" / "commands" / "pins"
ROTARY, PADDING = "flash-rotary-dtype", "fa2-right-padding-check"

# file: the requirement, whether that is one release, bugs that it must have, bugs that it must not have
PROJECTS = {
    "openrlhf.txt": ("transformers==4.57.3", True, {PADDING, "lr-scheduler-kwargs-default"}, {ROTARY}),
    "llama-factory.txt": ("transformers<=4.45.2,>=4.41.2", False, {PADDING, "gemma2-sliding-layer-parity"}, {ROTARY}),
    "axolotl.txt": ("transformers==4.47.1", True, {PADDING, "trainer-ga-multiplied-loss"}, {ROTARY}),
    "internvl-chat.txt": ("transformers==4.37.2", True, {PADDING}, {ROTARY, "search-outputs-missing"}),
    "ms-swift.txt": ("transformers<4.40,>=4.33", False, {PADDING, "grad-ckpt-use-cache-order"}, {ROTARY}),
    "var.txt": ("transformers~=4.38.2", False, {PADDING}, {ROTARY}),
    "verl.txt": ("transformers", False, {PADDING, ROTARY, "qwenvl-vision-fa2-crash"}, set()),
    "vllm-common.txt": ("transformers<5,>=4.56.0", False, {PADDING, "pipeline-torch-dtype-ignored"}, {ROTARY}),
    "nested/requirements.txt": ("transformers==4.38.2,~=4.38.2", True, {PADDING}, {ROTARY}),
    "qwen2-vl-finetune/environment.yaml": ("transformers==4.51.3", True, {PADDING}, {ROTARY}),
    "qwen2-vl-finetune/uv.lock": ("transformers==4.51.3", True, {PADDING, "zero3-from-config-skips-init"}, {ROTARY}),
    "qwen2-vl-finetune/poetry.lock": ("transformers==4.51.3", True, {PADDING}, {ROTARY}),
    "qwen2-vl-finetune/pylock.toml": ("transformers==4.51.3", True, {PADDING}, {ROTARY}),
    "qwen2-vl-finetune/Pipfile.lock": ("transformers==4.51.3", True, {PADDING}, {ROTARY}),
}
NOT_JUDGED = {
    "qwen.txt": "outside of the examined releases",
    "llava/pyproject.toml": "outside of the examined releases",
    "fastchat/pyproject.toml": "without a release",
    "open-sora.txt": "transformers is not named",
}


@pytest.fixture(scope="module")
def scans():
    """All of them in one run, by file."""
    files = [str(PINS / name) for name in (*PROJECTS, *NOT_JUDGED)]
    return {scan["source"]: scan for scan in hotfix("scan", "--json", *files).json["scans"]}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_bugs_of_a_project_are_found(scans, name):
    asked, pinned, carried, not_carried = PROJECTS[name]
    scan = scans[str(PINS / name)]
    assert sorted(scan["requirement"].split("transformers", 1)[1].split(",")) == sorted(
        asked.split("transformers", 1)[1].split(",")
    )
    assert scan["pinned"] is pinned
    assert scan["examined"]
    findings = {finding["id"] for finding in scan["findings"]}
    assert carried <= findings
    assert not not_carried & findings
    assert all(finding["releases"] for finding in scan["findings"])


@pytest.mark.parametrize("name", NOT_JUDGED)
def test_a_source_that_cannot_be_judged_is_not_called_good(scans, name):
    scan = scans[str(PINS / name)]
    assert not scan["examined"]
    assert NOT_JUDGED[name] in " ".join(scan["notes"])
    assert "no known bug" not in hotfix("scan", str(PINS / name)).stdout


@pytest.mark.parametrize("release", ["4.30.0", "9.9"])
def test_a_release_that_was_not_examined_has_no_list_of_bugs(release, tmp_path):
    """Nobody has looked: neither bugs nor repairs are promised."""
    (tmp_path / "requirements.txt").write_text(f"transformers=={release}\n")
    heading, note = hotfix("scan", "requirements.txt", cwd=tmp_path).stdout.splitlines()
    assert heading == f"requirements.txt:1: transformers=={release}: not judged"
    assert note.startswith(f"Note: transformers=={release}: outside of the examined releases (4.36.0 to ")


def test_another_package_makes_a_bug_certain_possible_or_impossible(tmp_path):
    conditions = {}
    for name, lines in {
        "absent": ["transformers==4.49.0"],
        "there": ["transformers==4.49.0", "flash-attn==2.7.4.post1"],
        "open": ["transformers==4.49.0", "flash-attn>=2.7"],
        "newer": ["transformers==4.49.0", "flash-attn==2.8.3"],
    }.items():
        file = tmp_path / f"{name}.txt"
        file.write_text("\n".join(lines))
        findings = {
            finding["id"]: finding for finding in hotfix("scan", "--json", str(file)).json["scans"][0]["findings"]
        }
        conditions[name] = findings[ROTARY]["condition"] if ROTARY in findings else None
    assert conditions == {"absent": "flash-attn<2.8", "there": "", "open": "flash-attn<2.8", "newer": None}


def test_the_list_of_installed_packages_is_complete():
    """A package that `pip freeze` does not print is not installed, so a bug that needs it cannot occur."""
    scan = hotfix("scan", "-", "--json", stdin="transformers==4.49.0\ntorch==2.5.1\n").json["scans"][0]
    assert ROTARY not in {finding["id"] for finding in scan["findings"]}
    scan = hotfix("scan", "-", "--json", stdin="transformers==4.49.0\nflash_attn==2.7.4.post1\n").json["scans"][0]
    assert ROTARY in {finding["id"] for finding in scan["findings"]}
    encoded = "transformers==4.49.0\r\n".encode("utf-16")  # PowerShell
    assert hotfix("scan", "-", "--json", stdin=encoded).json["scans"][0]["pinned"]


def test_a_folder_of_an_environment_is_read(tmp_path):
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("transformers-4.49.0", "flash_attn-2.7.4.post1", "torch-2.5.1+cu124", "odd-not.a.version"):
        (site / f"{name}.dist-info").mkdir(parents=True)
    scan = hotfix("scan", str(tmp_path), "--json").json["scans"][0]
    assert scan["requirement"] == "transformers==4.49.0"
    assert ROTARY in {finding["id"] for finding in scan["findings"]}
    assert "odd" in scan["notes"][0]


def test_a_marker_is_judged_for_the_python_that_is_named(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("transformers==4.49.0; python_version < '3.10'\ntransformers==4.57.6; python_version >= '3.10'\n")
    asked = [hotfix("scan", str(file), "--json", "--python", version).json["scans"][0]["requirement"] for version in
             ("3.9", "3.12")]  # fmt: skip
    assert asked == ["transformers==4.49.0", "transformers==4.57.6"]


def test_the_smallest_upgrade_fixes_the_unrepaired_bugs(tmp_path):
    from packaging.version import Version

    from hotfix.commands import bugs

    file = tmp_path / "requirements.txt"
    file.write_text("transformers==4.54.0\n")
    scan = hotfix("scan", str(file), "--json").json["scans"][0]
    known, upgrade = bugs.known(), Version(scan["upgrade"])
    newest = bugs.examined()[-1]
    rest = [known[finding["id"]] for finding in scan["findings"] if not finding["repaired"]]
    rest = [bug for bug in rest if not bug.is_in(newest)]
    assert rest
    assert not any(bug.is_in(upgrade) for bug in rest)
    between = [release for release in bugs.examined() if Version("4.54.0") < release < upgrade]
    assert between
    assert all(any(bug.is_in(release) for bug in rest) for release in between)


def test_fail_on_counts_the_remaining_bugs(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("transformers==4.53.1\n")
    carried = {finding["kind"]: finding for finding in hotfix("scan", str(file), "--json").json["scans"][0]["findings"]}
    assert "silent" in carried
    assert hotfix("scan", str(file)).status == 0
    assert hotfix("scan", str(file), "--fail-on", "silent").status == 1
    assert hotfix("scan", str(file), "--fail-on", "any", "--json").status == 1
    file.write_text("torch==2.6.0\n")
    assert hotfix("scan", str(file), "--fail-on", "any").status == 0


def test_repaired_bugs_do_not_count_if_hotfix_is_pinned(tmp_path, monkeypatch):
    from hotfix.commands import bugs
    from hotfix.commands.pins import readers
    from hotfix.commands.scan import affected as carried

    file = tmp_path / "requirements.txt"
    left = {}
    for extra in ("", "transformers-hotfix\n"):
        file.write_text(f"transformers==4.49.0\nflash-attn==2.7.4\n{extra}")
        left[extra] = {finding.bug.id for finding in carried.judge(readers.read(str(file)))[0].left()}
    repaired = {id for id, bug in bugs.known().items() if bug.repaired and not bug.optin}
    assert {ROTARY, PADDING} <= left[""]
    assert left["transformers-hotfix\n"] == left[""] - repaired


def test_sarif_points_at_the_line(tmp_path):
    log = hotfix("scan", str(PINS / "axolotl.txt"), "--format", "sarif").json
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("axolotl.txt")
    lines = (PINS / "axolotl.txt").read_text().splitlines()
    assert lines[place["region"]["startLine"] - 1].startswith("transformers==")
    assert {result["level"] for result in run["results"]} <= {"error", "warning", "note"}


def test_markdown_is_a_table_that_cannot_be_broken_out_of():
    text = hotfix("scan", str(PINS / "vllm-common.txt"), "--format", "markdown").stdout
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
    assert "transformers\\<5" in text


# -- files that are not pin files --------------------------------------------------------------------------------------

DEEP = 200_000
BAD = {
    "empty.txt": (b"", "the file is empty"),
    "blank.txt": (b" \n\n", "the file is empty"),
    "binary.txt": (bytes(range(256)) * 50, "not a text file"),
    "null.txt": (b"transformers\0==4.49.0", "not a text file"),
    "prose.txt": (b"please install the usual things\n", "prose.txt:1: not a requirement"),
    "escape.txt": (b"transformers==4.49.0\n\x1b[2J\x1b]0;owned\x07==1\n", "escape.txt:2: not a requirement"),
    "markup.txt": (b"[bold red]x[/]==1\n", "markup.txt:1: not a requirement"),
    "option.txt": (b"--unheard-of yes\n", "not an option of a requirements file"),
    "missing.txt": (b"-r nowhere.txt\n", "missing.txt:1: cannot include 'nowhere.txt'"),
    "device.txt": (b"-r /dev/zero\n", "not a regular file"),
    "version.txt": (b"transformers==four\n", "version.txt:1: not a requirement"),
    "long.txt": (b"a " * 2_500_000, "long.txt:1: not a requirement"),
    "spaces.txt": (b"a" + b" " * 2_000_000 + b"b", "spaces.txt:1: not a requirement"),
    "spaces.yml": (b"dependencies:\n - 'a" + b"= " * 100_000 + b"'\n", "not a dependency"),
    "broken.lock": (b"[[package]\nname = ", "not TOML"),
    "other.toml": (b"[tool.black]\nline-length = 100\n", "neither a lock file nor"),
    "nameless.lock": (b"[[package]]\nversion = '1'\n", "a package has no name"),
    "deep.toml": (b"a = " + b"[" * DEEP, "nested too deeply"),
    "Pipfile.lock": (b"{\"default\": [", "not JSON"),
    "list.json": (b"[1, 2]", "not a Pipfile.lock"),
    "deep.json": (b"[" * DEEP, "nested too deeply"),
    "empty.cdx.json": (b'{"bomFormat": "CycloneDX", "components": 3}', "no package URL"),
    "odd.json": (b'{"default": {"transformers": "4"}}', "the entry of 'transformers'"),
    "broken.yml": (b"dependencies: [a, b\n", "not YAML"),
    "tagged.yml": (b"dependencies: !!python/object/apply:os.system ['touch owned']\n", "not YAML"),
    "empty.yml": (b"name: x\n", "no list named dependencies"),
    "number.yml": (b"dependencies:\n - 1\n", "a dependency is not a string"),
    "picture.png": (b"png", "unknown kind of file"),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """All bad files, each scanned in its own process, two at a time."""
    from concurrent.futures import ThreadPoolExecutor

    folder = tmp_path_factory.mktemp("bad")
    for name, (data, _) in BAD.items():
        (folder / name).write_bytes(data)
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda name: hotfix("scan", name, cwd=folder), BAD)
        return folder, dict(zip(BAD, runs))


@pytest.mark.parametrize("name", BAD)
def test_unreadable_input_is_one_clear_line(bad, name):
    folder, runs = bad
    done = runs[name]
    assert done.status == 2, done
    errors = [line for line in done.stderr.splitlines() if "rich is not installed" not in line]
    assert len(errors) == 1, done.stderr
    assert errors[0].startswith("hotfix: ")
    assert name in errors[0] or "/dev/zero" in errors[0]
    assert BAD[name][1] in errors[0]
    assert len(errors[0]) < 400
    assert "Traceback" not in done.stderr
    assert all(error.isprintable() for error in errors[0])
    assert done.stdout == ""
    assert not (folder / "owned").exists()


def test_a_bill_of_materials_is_read_by_its_package_urls(tmp_path):
    layer = {
        "type": "container",
        "components": [
            {"type": "library", "name": "transformers", "purl": "pkg:pypi/transformers@4.49.0?file_name=a.whl"},
            {"type": "library", "name": "torch", "purl": "pkg:pypi/Torch@2.6.0%2Bcu124#top"},
            {"type": "library", "name": "transformers", "purl": "pkg:npm/transformers@2.0.0"},
        ],
    }
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [layer, {"type": "library", "name": "x"}]}
    file = tmp_path / "bill.cdx.json"
    file.write_text(json.dumps(bill))
    (scan,) = hotfix("scan", "--json", str(file)).json["scans"]
    assert scan["requirement"] == "transformers==4.49.0"
    conditions = {finding["id"]: finding["condition"] for finding in scan["findings"]}
    assert conditions[ROTARY], "flash-attn is not named, and may be there all the same"
    assert any("1 libraries" in note for note in scan["notes"])
    file.write_text(json.dumps({**bill, "compositions": [{"aggregate": "complete"}]}))
    (scan,) = hotfix("scan", "--json", str(file)).json["scans"]
    assert ROTARY not in {finding["id"] for finding in scan["findings"]}
    assert PADDING in {finding["id"] for finding in scan["findings"]}


def test_files_that_are_not_there_or_not_files_are_one_line(tmp_path):
    for name in ("nowhere.txt", "nowhere/", "\udcff"):
        done = hotfix("scan", name, cwd=tmp_path)
        assert (done.status, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done
    assert "no installed packages" in hotfix("scan", ".", cwd=tmp_path).stderr


def test_the_parser_names_the_word_in_one_line():
    for words in (["fleet"], ["scan", "x", "--format", "xml"], ["nonsense"], ["list", "--kind", "odd"]):
        done = hotfix(*words)
        assert done.status == 2
        assert done.stderr.count("\n") == 1, done.stderr
        assert "--help" in done.stderr


def test_ten_thousand_lines_are_read(tmp_path):
    file = tmp_path / "requirements.txt"
    lines = [f"package-{number}=={number}.0 --hash=sha256:{number:064x}" for number in range(10_000)]
    file.write_text("\n".join([*lines, "transformers==4.49.0"]))
    scan = hotfix("scan", str(file), "--json").json["scans"][0]
    assert scan["where"] == f"{file}:10001"
    lock = tmp_path / "uv.lock"
    lock.write_text("".join(f'[[package]]\nname = "p{number}"\nversion = "1"\n' for number in range(10_000)))
    assert hotfix("scan", str(lock)).status == 0


def test_a_link_in_a_constraints_file_is_a_constraint_and_no_requirement(tmp_path):
    file = tmp_path / "requirements.txt"
    wheel = "https://example.org/transformers-4.49.0-py3-none-any.whl"
    (tmp_path / "c.txt").write_text(f"{wheel}\n")
    file.write_text("-c c.txt\ntorch==2.6.0\n")
    (scan,) = hotfix("scan", "--json", str(file)).json["scans"]
    assert scan["requirement"] == "", scan
    file.write_text("-c c.txt\ntransformers\n")
    (scan,) = hotfix("scan", "--json", str(file)).json["scans"]
    assert scan["requirement"] == "transformers==4.49.0"
    file.write_text(f"-e {wheel}\n")
    (scan,) = hotfix("scan", "--json", str(file)).json["scans"]
    assert scan["requirement"] == "transformers==4.49.0"


def test_files_that_include_each_other_come_to_an_end(tmp_path):
    (tmp_path / "a.txt").write_text("-r b.txt\n")
    (tmp_path / "b.txt").write_text("-r a.txt\ntransformers==4.49.0\n")
    assert hotfix("scan", "a.txt", "--json", cwd=tmp_path).json["scans"][0]["pinned"]
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text(f"-r {number + 1}.txt\n")
    done = hotfix("scan", "0.txt", cwd=tmp_path)
    assert done.status == 2
    assert "include each other" in done.stderr


def test_the_catalogue_can_be_read():
    """Only facts: a range for each bug, unique ids, no file larger than the limit at start-up."""
    from hotfix import session
    from hotfix._support import words
    from hotfix.commands import bugs

    text = bugs.UNREPAIRED.read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert not json.loads(text)["bugs"].keys() & session.current().catalogue.entries.keys()
    for id, entry in json.loads(text)["bugs"].items():
        assert entry.keys() <= {"kind", "broken", "fixed_in", "needs", "where", "refs", "errors", "why_not"}
        assert entry["kind"] in words.KINDS
        assert any(bugs.known()[id].is_in(release) for release in bugs.examined()), id
        fixed = bugs.known()[id].fixed_in
        assert not any(bugs.known()[id].is_in(release) for release in fixed), id


def test_the_page_of_unrepaired_bugs_has_a_reason_for_each():
    from hotfix.commands import bugs

    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    ids = set(re.findall(r"^\| `([^`]+)` \|", page, re.M))
    assert {id for id, bug in bugs.known().items() if bug.why_not} <= ids
    assert ids <= set(bugs.known())


# -- a project ---------------------------------------------------------------------------------------------------------

DOCKERFILE = """\
FROM python:3.11
# RUN pip install transformers==4.36.0
RUN apt-get update && \\
    pip install --no-cache-dir -r requirements.txt "transformers==4.47.1" flash-attn==2.7.4.post1
RUN uv pip install 'transformers[torch]>=4.50,<4.52' $EXTRA
"""
PIP_LIST = (
    "Package      Version Editable project location\n------------ ------- ---\ntorch 2.0\ntransformers 4.56.0.dev0\n"
)
PROJECT = {
    "requirements-dev.txt": ("pytest\ntransformers==4.49.0\n", [("transformers==4.49.0", 2)]),
    "Dockerfile": (DOCKERFILE, [("transformers==4.47.1", 3), ("transformers<4.52,>=4.50", 5)]),
    "setup.cfg": ("[options]\ninstall_requires =\n    transformers>=4.53,<4.54\n", [("transformers<4.54,>=4.53", 3)]),
    "Pipfile": ('[packages]\ntransformers = "==4.54.0"\ntorch = "*"\n', [("transformers==4.54.0", 2)]),
    "conda-lock.yml": (
        "version: 1\npackage:\n- name: peft\n  version: 0.9\n  dependencies: {transformers: '*'}\n"
        "- name: transformers\n  version: 4.55.0\n  manager: pip\n",
        [("transformers==4.55.0", 6)],
    ),
    "pdm.lock": ('[[package]]\nname = "transformers"\nversion = "4.44.2"\n', [("transformers==4.44.2", 2)]),
    "pyproject.toml": ('[project]\nname = "x"\ndependencies = ["torch"]\n', []),
}


def test_the_files_of_a_project_are_found(tmp_path):
    for name, (text, _) in PROJECT.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "environment.yml").write_text("dependencies: 3\n")
    for words in ((), (".",), (str(tmp_path),)):
        scans = hotfix("scan", *words, "--json", cwd=tmp_path).json["scans"]
        requirements = {
            (Path(scan["source"]).name, scan["requirement"], int(scan["where"].rpartition(":")[2])) for scan in scans
        }
        assert requirements == {(name, *requirement) for name, (_, wanted) in PROJECT.items() for requirement in wanted}
    notes = " ".join(scans[-1]["notes"])
    assert lacking(notes, "pyproject.toml") == []
    assert "environment.yml: not" in notes, "one file that cannot be read is a note"
    alone = hotfix("scan", str(tmp_path / "environment.yml"))
    assert alone.status == 2
    (tmp_path / "empty").mkdir()
    assert "no file" in hotfix("scan", str(tmp_path / "empty")).stderr


def test_the_output_of_pip_list_is_read_and_a_development_version_counts_as_its_release():
    [scan] = hotfix("scan", "-", "--json", stdin=PIP_LIST).json["scans"]
    assert scan["requirement"] == "transformers==4.56.0.dev0"
    assert {finding["id"] for finding in scan["findings"]} >= {"gpt2-fa2-padding-loses-causality"}
    assert any(lacking(note, "4.56.0.dev0", "as 4.56.0") == [] for note in scan["notes"])


def test_the_upgrade_comes_in_steps(tmp_path):
    from packaging.version import Version

    from hotfix.commands import bugs

    file = tmp_path / "requirements.txt"
    file.write_text("transformers==4.54.0\n")
    scan = hotfix("scan", str(file), "--json").json["scans"][0]
    steps, known = scan["upgrades"], bugs.known()
    assert [stage["ends"] for stage in steps][-1] == "all"
    releases = [Version(stage["release"]) for stage in steps]
    assert releases == sorted(set(releases))
    assert steps[-1]["release"] == scan["upgrade"]
    mine = {finding["id"] for finding in scan["findings"]}
    newest = bugs.examined()[-1]
    rest = [known[id] for id in mine if not known[id].repaired and not known[id].is_in(newest)]
    kinds = {"crashes": ("security", "crash"), "silent bugs": ("security", "crash", "silent")}
    for step, release in zip(steps, releases):
        ended = [bug for bug in rest if step["ends"] == "all" or bug.kind in kinds[step["ends"]]]
        assert not any(bug.is_in(release) for bug in ended)
        assert step["ended"] == sum(not bug.is_in(release) for bug in rest)
        assert step["new"] == sum(bug.is_in(release) and bug.id not in mine for bug in known.values())
    assert f"transformers=={steps[0]['release']} fixes" in hotfix("scan", str(file)).text


def test_sarif_has_all_fields_that_a_code_host_needs(tmp_path):
    (tmp_path / "pdm.lock").write_text(PROJECT["pdm.lock"][0])
    run = hotfix("scan", "pdm.lock", "--format", "sarif", cwd=tmp_path).json["runs"][0]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert len(rules) == len(run["tool"]["driver"]["rules"])
    assert all(re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+", rule["helpUri"])
               for rule in rules.values() if "helpUri" in rule)  # fmt: skip
    assert sum("helpUri" in rule for rule in rules.values()) > len(rules) // 2
    prints = [result["partialFingerprints"]["bugInPins/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints) > 5
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert result["ruleId"] in rules
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("pdm.lock", 2)
    (tmp_path / "pdm.lock").write_text("\n\n" + PROJECT["pdm.lock"][0])
    moved = hotfix("scan", "pdm.lock", "--format", "sarif", cwd=tmp_path).json["runs"][0]["results"]
    assert [result["partialFingerprints"]["bugInPins/v1"] for result in moved] == prints, "a line more is no new alert"
