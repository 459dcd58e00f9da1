"""The table repository x release: what the model code of real repositories does, without hotfix and with it.

    python -m tools.studies.remote_code FOLDER...          run what is not recorded yet, write docs/remote-code.md
    python -m tools.studies.remote_code --case moondream   only this one (may be repeated), recorded or not
    python -m tools.studies.remote_code --release 5.3.0    only this release (may be repeated)
    python -m tools.studies.remote_code --names FOLDER...  every name that the code takes, asked for on every release
    python -m tools.studies.remote_code --page             write the page from docs/data/remote_code.json

Each FOLDER is a clone of a repository and is called owner+name. The calls of the code are in
`tools.studies.remote_code_child`; the code itself is no part of this project and is not kept.

A release is a process of its own, three times: without hotfix, with its defaults, with ``HOTFIX_OPTIN=removed-names``.
Logits and tokens are compared with those of the first release on which the code runs unaided.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hotfix.commands.scan_code import missing
from tools.studies.remote_code_child import CASES, Case
from tools.testbed import overlay
from tools.testbed.run import ROOT, environment

RELEASES = ("4.37.2", "4.41.2", "4.46.3", "4.49.0", "4.53.3", "4.57.6", "5.3.0", "5.23.0")
MODES = {"without": None, "defaults": {}, "removed-names": {"HOTFIX_OPTIN": "removed-names"}}
ASKED = ("4.49.0", "4.57.6", "5.23.0")  # for every name that the code takes
BESIDE = ("pillow==11.3.0", "timm==1.0.15", "torchvision==0.28.0")  # what the code needs, without what these need
DATA = ROOT / "docs" / "data" / "remote_code.json"
PAGE = ROOT / "docs" / "remote-code.md"
BEGIN, END = "<!-- table: python -m tools.studies.remote_code --page -->", "<!-- end of the table -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.studies.remote_code", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="clone of a repository: owner+name")
    parser.add_argument("--case", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--release", action="append", help="only this release; may be repeated")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this mode; may be repeated")
    parser.add_argument("--keep", type=Path, help="where checkpoints and logs stay; else they are thrown away")
    parser.add_argument("--names", action="store_true", help="ask for the names, and compare with scan-code")
    parser.add_argument("--page", action="store_true", help="only write the page from what is recorded")
    options = parser.parse_args(arguments)
    if options.names:
        data = recorded()
        data["names"] = dict(held_against(options.folders))
        data["scans"] = dict(scanned(data, options.folders))
        DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    elif not options.page:
        with tempfile.TemporaryDirectory() as thrown_away:
            run_all(options, options.keep or Path(thrown_away))
    write_page()
    return 0


def run_all(options: argparse.Namespace, at: Path) -> None:
    """Run the chosen cases, release by release, and write each result as it comes."""
    folders = {folder.resolve().name.replace("+", "/"): folder.resolve() for folder in options.folders}
    cases = [case for case in CASES if case.repository in folders and case.name in (options.case or [case.name])]
    data = recorded()
    for name, folder in folders.items():
        if any(case.repository == name for case in cases):
            data["repositories"][name] = commit(folder)
    for release in options.release or RELEASES:
        for mode in options.mode or MODES:
            results = run(cases, folders, release, mode, at)
            for name, result in results.items():
                files = data.setdefault("files", {}).setdefault(name, [])
                files += sorted(set(result.pop("files", [])) - set(files))
                data["cases"].setdefault(name, {}).setdefault(release, {})[mode] = result
            DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
            print(
                release,
                mode,
                {name: result["stage"] or result.get("other", "runs") for name, result in results.items()},
            )


def recorded() -> dict[str, Any]:
    """The contents of the file, or an empty table."""
    return json.loads(DATA.read_text()) if DATA.is_file() else {"repositories": {}, "cases": {}}


def commit(folder: Path) -> dict[str, str]:
    """The commit of a clone and its date."""
    done = subprocess.run(
        ["git", "-C", str(folder), "log", "-1", "--format=%H %cs"], capture_output=True, text=True, check=True
    )
    digest, date = done.stdout.split()
    return {"commit": digest, "date": date}


def run(cases: Sequence[Case], folders: dict[str, Path], release: str, mode: str, at: Path) -> dict[str, Any]:
    """The results of the cases on one release, in one mode."""
    out = at / f"{release}-{mode}"
    for folder in (out, at / "checkpoints"):
        folder.mkdir(parents=True, exist_ok=True)
    order = {
        "hotfix": mode != "without",
        "folders": {name: str(folder) for name, folder in folders.items()},
        "cases": [case.name for case in cases],
        "checkpoints": str(at / "checkpoints"),
        "out": str(out),
    }
    (out / "order.json").write_text(json.dumps(order))
    beside = [overlay.overlay(release), *map(overlay.alone, BESIDE)]
    env = environment(
        beside, {"HF_MODULES_CACHE": str(out / "modules"), "PYTHONWARNINGS": "ignore", **(MODES[mode] or {})}
    )
    command = [sys.executable, "-m", "tools.studies.remote_code_child", str(out / "order.json")]
    with (out / "log").open("w") as log:
        subprocess.run(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, check=True)
    results = json.loads((out / "results.json").read_text())["cases"]
    for number, case in enumerate(CASES):
        if case.name in results:
            result = results[case.name]
            print("    ", case.name, result["stage"], result["error"].split("\n")[0][:150])
            result.pop("trace", None)
            result["error"] = shortened(result["error"], [*folders.values(), at, *beside])
            if not result["stage"]:
                other = compared(case, out / f"{number}.pt", at / "checkpoints")
                result.update({"other": other} if other else {})
    return dict(results)


def shortened(error: str, folders: Sequence[Path]) -> str:
    """The first line of an error, without the places of this machine."""
    line = error.split("\n")[0]
    for folder in folders:
        line = line.replace(f"{folder}/", "")
    return line[:200]


def compared(case: Case, results: Path, at: Path) -> str:
    """The stage that differs from the first complete run, or nothing. That first one is kept."""
    import torch

    first = at / f"{''.join(letter if letter.isalnum() else '_' for letter in case.name)}.pt"
    tensors = torch.load(results)
    if not first.exists():
        torch.save(tensors, first)
        return ""
    wanted = torch.load(first)
    for stage, value in wanted.items():
        if stage == "generate":  # from embeddings, older releases return a token more in front
            tokens = min(value.shape[-1], tensors[stage].shape[-1])
            value, tensors[stage] = value[..., -tokens:], tensors[stage][..., -tokens:]
        same = tensors[stage].shape == value.shape
        same = same and torch.allclose(tensors[stage].double(), value.double(), rtol=1e-3, atol=1e-4, equal_nan=True)
        if not same:
            return str(stage)
    return ""


# -- what scan-code says of it ----------------------------------------------------------------------------------------


def held_against(folders: Sequence[Path]) -> Iterator[tuple[str, Any]]:
    """By repository what `scan-code` says, and what it said wrong: names that are there, or are not, on a release."""
    taken = {folder: sorted(set(plain_names(folder))) for folder in folders}
    everything = sorted({name for names in taken.values() for name in names})
    foreseen = {release: dict(zip(everything, asked(everything, release))) for release in ASKED}
    for folder, names in taken.items():
        scan = missing.judge(str(folder))
        number = {release: missing.releases().index(release) for release in ASKED}
        gone = {finding.name: finding.releases for finding in scan.findings}
        missed, false, right = set(), set(), 0
        for release in ASKED:
            for name in names:
                is_foreseen = any(number[release] not in gone[key] for key in (name[0], ":".join(name)) if key in gone)
                lacks = not foreseen[release][name]
                right += is_foreseen and lacks
                if lacks and not is_foreseen:
                    missed.add(f"{':'.join(name)} on {release}")
                if is_foreseen and not lacks:
                    false.add(f"{':'.join(name)} on {release}")
        yield (
            folder.name.replace("+", "/"),
            {
                "files": scan.files,
                "names": len(names),
                "imports": missing.text_of(scan.imports_on),
                "unaided": missing.text_of(scan.runs_on),
                "repaired": missing.text_of(scan.repaired_on),
                "gone": right,
                "missed": sorted(missed),
                "false": sorted(false),
            },
        )


def scanned(data: dict[str, Any], folders: Sequence[Path]) -> Iterator[tuple[str, Any]]:
    """By case on which releases its files can be imported, for all that `scan-code` says: unaided, and with hotfix."""
    at = {folder.name.replace("+", "/"): folder for folder in folders}
    for case in CASES:
        if case.repository in at and data.get("files", {}).get(case.name):
            files = [at[case.repository] / case.folder / file for file in data["files"][case.name]]
            scans = [missing.judge(str(file)) for file in files]
            alone = frozenset.intersection(*(scan.imports_on for scan in scans))
            repaired = frozenset.intersection(*(scan.repaired_on | scan.imports_on for scan in scans))
            numbers = {release: missing.releases().index(release) for release in RELEASES}
            yield (
                case.name,
                {
                    "unaided": [release for release, number in numbers.items() if number in alone],
                    "repaired": [release for release, number in numbers.items() if number in repaired],
                },
            )


def plain_names(folder: Path) -> Iterator[tuple[str, str]]:
    """The names that the files of a repository take, without members of classes and keyword arguments."""
    for file, data in missing.sources_of(str(folder), [], []):
        for reference in missing.taken_by(file, data, []):
            last = reference.module.rpartition(".")[2]
            of_an_object = last != last.lower() or (
                last == "logging" and reference.module != "transformers.utils.logging"
            )
            if not (set(reference.name) & set(".([") or reference.guarded or of_an_object):
                yield reference.module, reference.name


def asked(names: Sequence[tuple[str, str]], release: str) -> list[bool]:
    """Whether a release has each of the names."""
    with tempfile.TemporaryDirectory() as folder:
        order = Path(folder) / "order.json"
        order.write_text(json.dumps({"names": names, "out": str(order.with_suffix(".out"))}))
        env = environment([overlay.overlay(release), *map(overlay.alone, BESIDE)], {"PYTHONWARNINGS": "ignore"})
        command = [sys.executable, "-m", "tools.studies.remote_code_child", str(order)]
        subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True)
        return list(json.loads(order.with_suffix(".out").read_text()))


# -- the page ----------------------------------------------------------------------------------------------------------


def word(modes: dict[str, Any]) -> str:
    """The text of a cell of the table."""
    said = {mode: spoken(result) for mode, result in modes.items()}
    if {"without", "removed-names"} - set(said):
        return "not run"
    if said["without"] == "runs":
        worse = [mode for mode, words in said.items() if words != "runs"]
        return f"**runs, and not with {worse[0]}**" if worse else "runs"
    if said.get("defaults") == "runs":
        return "runs with hotfix"
    if said["removed-names"] == "runs":
        return "runs with removed-names"
    return said["removed-names"]


def spoken(result: dict[str, Any]) -> str:
    """How far one run came."""
    if result["stage"]:
        return f"stops at {result['stage']}"
    return f"other numbers: {result['other']}" if result.get("other") else "runs"


def table(data: dict[str, Any]) -> str:
    """Repository x release."""
    lines = ["| | " + " | ".join(RELEASES) + " |", "| --- |" + " --- |" * len(RELEASES)]
    for case in CASES:
        if case.name in data["cases"]:
            cells = [word(data["cases"][case.name].get(release, {})) for release in RELEASES]
            lines.append(f"| {case.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reasons(data: dict[str, Any]) -> str:
    """Why what does not run does not, with all that hotfix has, one line for each case and reason."""
    lines = ["| | without hotfix it stops with | on |", "| --- | --- | --- |"]
    for case in CASES:
        by_reason: dict[str, list[str]] = {}
        for release in RELEASES:
            result = data["cases"].get(case.name, {}).get(release, {}).get("without")
            if result and result["stage"]:
                by_reason.setdefault(f"{result['stage']}: `{cleaned(result['error'])}`", []).append(release)
        lines += [f"| {case.name} | {why} | {', '.join(on)} |" for why, on in by_reason.items()]
    return "\n".join(lines)


def left(data: dict[str, Any]) -> str:
    """The cases that stop even with everything that hotfix has."""
    lines = ["| | still stops with | on |", "| --- | --- | --- |"]
    for case in CASES:
        by_reason: dict[str, list[str]] = {}
        for release in RELEASES:
            modes = data["cases"].get(case.name, {}).get(release)
            if modes and not word(modes).startswith(("runs", "not run")):
                result = modes["removed-names"]
                why = f"{result['stage']}: `{cleaned(result['error'])}`" if result["stage"] else spoken(result)
                by_reason.setdefault(why, []).append(release)
        lines += [f"| {case.name} | {why} | {', '.join(on)} |" for why, on in by_reason.items()]
    return "\n".join(lines)


def cleaned(error: str) -> str:
    """An error, short enough for a cell."""
    return error.replace("|", "\\|").replace("`", "'")[:140]


def tried(data: dict[str, Any]) -> str:
    """The repositories, with the tested parts of each."""
    lines = ["| | repository | commit | of |", "| --- | --- | --- | --- |"]
    for case in CASES:
        if case.name in data["cases"]:
            entry = data["repositories"][case.repository]
            link = f"[{case.repository}](https://github.com/{case.repository})"
            note = f" ({case.note})" if case.note else ""
            lines.append(f"| {case.name}{note} | {link} | `{entry['commit'][:12]}` | {entry['date']} |")
    return "\n".join(lines)


def scan_table(data: dict[str, Any]) -> str:
    """The results of `scan-code` for the repositories, and its errors."""
    lines = ["| repository | names | gone somewhere | missed | false alarms |", "| --- | --- | --- | --- | --- |"]
    for name, entry in sorted(data.get("names", {}).items(), key=lambda item: item[0].lower()):
        lines.append(
            f"| {name} | {entry['names']} | {entry['gone']} | {len(entry['missed'])} | {len(entry['false'])} |"
        )
    return "\n".join(lines)


def imports(data: dict[str, Any]) -> tuple[int, list[str]]:
    """How often it was foretold right whether a case can be imported unaided, and where it was not."""
    right, wrong = 0, []
    for name, scan in data.get("scans", {}).items():
        for release, modes in data["cases"][name].items():
            foretold, happened = release in scan["unaided"], modes["without"]["stage"] != "import"
            right += foretold == happened
            if foretold != happened:
                wrong.append(f"{name} on {release}: {cleaned(modes['without']['error']) or 'can be imported'}")
    return right, wrong


def scans(data: dict[str, Any]) -> str:
    """The comparison in words."""
    names = list(data.get("names", {}).values())
    right, wrong = imports(data)
    gone, missed, false = (sum(counts) for counts in zip(*map(_told, names))) if names else (0, 0, 0)
    cells = right + len(wrong)
    text = (
        f"{len(names)} repositories take {sum(entry['names'] for entry in names)} names; one that two of them take is "
        f"counted twice. Each was looked up on {', '.join(ASKED)}: {gone} times it was gone and `scan-code` had "
        f"said so, {missed} times it was gone and it had not, {false} times it was there and it had said gone. Whether "
        f"the files of a case can be imported unaided was foretold right in {right} of {cells} cells of the table."
    )
    names_wrong = sorted({text for entry in names for text in [*entry["missed"], *entry["false"]]})
    listed = [f"- `{name}`" for name in names_wrong] + [f"- {text}" for text in wrong]
    return "\n\n".join([text, *(["Wrong were:\n\n" + "\n".join(listed)] if listed else []), scan_table(data)])


def _told(entry: dict[str, Any]) -> tuple[int, int, int]:
    return entry["gone"], len(entry["missed"]), len(entry["false"])


def counts(data: dict[str, Any]) -> str:
    """The cells, counted."""
    words = [word(modes) for releases in data["cases"].values() for modes in releases.values()]
    words = [word for word in words if word != "not run"]
    alone = sum(word == "runs" for word in words)
    default, optin = words.count("runs with hotfix"), words.count("runs with removed-names")
    return (
        f"Of {len(words)} cells, {alone} run without hotfix, {default} more with its defaults, {optin} more with "
        f"`HOTFIX_OPTIN=removed-names`; {len(words) - alone - default - optin} do not run."
    )


def generated(data: dict[str, Any]) -> str:
    """The generated part of the page."""
    parts = (
        counts(data),
        table(data),
        "## Reasons why they stop",
        reasons(data),
        "## Open cases",
        left(data),
        "## Results of scan-code",
        scans(data),
        "## The repositories",
        tried(data),
    )
    return "\n\n".join(parts)


def pieces(text: str) -> Iterator[str]:
    """The page before its generated part, and after it."""
    before, _, rest = text.partition(BEGIN)
    yield before
    yield rest.partition(END)[2]


def write_page() -> None:
    """Put the tables into the page."""
    before, after = pieces(PAGE.read_text())
    PAGE.write_text(f"{before}{BEGIN}\n\n{generated(recorded())}\n\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
