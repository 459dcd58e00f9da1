"""The page of the matrix: fixes and their targets down, releases across.

    python -m tools.page            writes docs/matrix.html from the evidence and docs/data/matrix

One static file that loads nothing else. A cell shows a letter; its details are in the page as JSON.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
from packaging.version import Version

from hotfix.fix import Fix, Target

from . import evidence, results

DOCS = Path(__file__).resolve().parent.parent / "docs"
LEGEND = {
    "R": "broken, repaired by hotfix",
    "B": "broken, repair not run here",
    "X": "broken, repair failed",
    "F": "fixed upstream, left alone",
    "N": "right: the bug did not exist yet",
    "A": "no such code in this release",
}
SHOWN = {"A": "·", "N": "–"}  # noqa: RUF001  # a dash as wide as a letter
REPOSITORIES = {
    "transformers": "huggingface/transformers",
    "accelerate": "huggingface/accelerate",
    "peft": "huggingface/peft",
    "trl": "huggingface/trl",
    "flash-attention": "Dao-AILab/flash-attention",
    "xformers": "facebookresearch/xformers",
}


def render(modules: Mapping[str, Fix], results: Mapping[str, Any], folder: Path = evidence.FOLDER) -> str:
    """The text of the page.

    Args:
        modules: the fixes, by the module that defines them.
        results: the results of the matrix, or an empty mapping.
        folder: of the evidence.
    """
    examined = evidence.examined_releases(evidence.read(folder / "index.json"))
    fixes = [
        _fix(module, fix, evidence.read(folder / f"{fix.id}.json"), results.get("fixes", {}).get(fix.id, {}), examined)
        for module, fix in sorted(modules.items(), key=lambda item: item[1].id)
    ]
    releases = [str(release) for release in examined]
    public = ("id", "title", "kind", "optin", "fixed_in", "symptom", "upstream")
    data = {
        "releases": releases,
        "legend": LEGEND,
        "fixes": [
            {
                **{name: fix[name] for name in public},
                "targets": [{name: target[name] for name in ("key", "letters", "cells")} for target in fix["targets"]],
            }
            for fix in fixes
        ],
    }
    loader = jinja2.FileSystemLoader(Path(__file__).resolve().parent.parent / "docs")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    text: str = environment.get_template("matrix.html.jinja").render(
        fixes=fixes,
        releases=releases,
        target_count=sum(len(fix["targets"]) for fix in fixes),
        versions=results.get("versions", {}),
        legend=LEGEND,
        data=data,
        shown=lambda letter: SHOWN.get(letter, letter),
        minor=lambda release: Version(release).micro == 0,
    )
    return text


def made(folder: Path = results.FOLDER) -> tuple[str, list[str]]:
    """The page of this checkout, and the problems of its fixes.

    Args:
        folder: of the results.
    """
    problems: list[str] = []
    text = render(evidence.discover(problems.append), results.read(folder))
    return text, problems


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.page", description="Write the page of the matrix.")
    parser.add_argument("--output", type=Path, default=DOCS / "matrix.html", help="the page")
    parser.add_argument("--results", type=Path, default=results.FOLDER, help="results of the matrix")
    options = parser.parse_args(arguments)
    text, problems = made(options.results)
    for problem in problems:
        print(problem)
    options.output.write_text(text, encoding="utf-8")
    print(f"written: {options.output.name}, {len(text.encode()) // 1024} KB")
    return 1 if problems else 0


def link(reference: str) -> str:
    """The address of an issue, a pull request or a commit; empty if it is no such reference."""
    match = re.fullmatch(r"(?:([\w.-]+/)?([\w.-]+))?(?:#(\d+)|@([0-9a-f]{7,40}))", reference)
    if match is None:
        return ""
    owner, name, number, commit = match.groups()
    repository = f"{owner}{name}" if owner else REPOSITORIES.get(name or "transformers", "")
    if not repository:
        return ""
    return f"https://github.com/{repository}/" + (f"issues/{number}" if number else f"commit/{commit}")


# ----------------------------------------------------------------------------------------------------------------------


def _fix(
    module: str, fix: Fix, data: Mapping[str, Any], results: Mapping[str, Any], examined: Sequence[Version]
) -> dict[str, Any]:
    keys = dict.fromkeys(target.key for target in fix.targets)
    first = {target.key: target for target in reversed(fix.targets)}
    targets = [
        _target(first[key], data.get("targets", {}).get(key, {}), results.get(key, {}), examined) for key in keys
    ]
    with_releases = [target["letters"] for target in targets if target["letters"]]
    return {
        "id": fix.id,
        "title": fix.title,
        "kind": fix.kind,
        "optin": bool(fix.optin),
        "fixed_in": fix.fixed_in,
        "symptom": symptom(import_module(module).__doc__ or "") or fix.title,
        "upstream": [[reference, link(reference)] for reference in fix.upstream],
        "targets": targets,
        "letters": "".join(min(column, key="XBRFNA".index) for column in zip(*with_releases, strict=True)),
        "words": "" if with_releases else "for repositories without releases: the source decides",
    }


def _target(
    target: Target, entry: Mapping[str, Any], results: Mapping[str, Any], examined: Sequence[Version]
) -> dict[str, Any]:
    name = target.module.rpartition(".")[2].removeprefix("modeling_")
    row: dict[str, Any] = {"key": target.key, "short": f"{name}: {target.qualname}", "letters": "", "words": ""}
    row["cells"] = {
        release: {
            name: cell[name]
            for name in ("result", "before", "oracle", "difference", "of", "reason")
            if cell.get(name) not in (None, "")
        }
        for release, cell in results.items()
    }
    if not evidence.has_releases(target):
        parts = []
        for verdict in evidence.VERDICTS:
            revisions = [text for where in entry.get(verdict, {}).values() for text in where]
            if revisions:
                parts.append(f"{verdict} in {', '.join(revisions)}")
        row["words"] = "; ".join(parts)
        return row
    states = evidence.by_release(entry, examined)
    letters = "".join(
        _letter(states.get(release, ("absent", "")), results.get(str(release), {})) for release in examined
    )
    before = len(re.match(r"[FA]*", letters)[0])  # type: ignore[index]  # it matches nothing at least
    row["letters"] = letters[:before].replace("F", "N") + letters[before:]
    return row


def _letter(state: tuple[str, str], cell: Mapping[str, Any]) -> str:
    verdict, digest = state
    if verdict != "broken":
        return "F" if verdict == "fixed" else "A"
    if not cell or cell.get("source") != digest:
        return "B"
    return "R" if cell["result"] == "repaired" else "X"


def symptom(docstring: str) -> str:
    """The text after the word Symptom in a fix's report, as one line."""
    match = re.search(r"^Symptom\s+(.+?)(?=^\S|\Z)", docstring, re.M | re.S)
    return re.sub(r"\s+", " ", match[1]).strip().replace("``", "") if match else ""


if __name__ == "__main__":
    sys.exit(main())
