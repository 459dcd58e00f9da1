"""Runs every command on the page about writing a fix, in order, and checks that the pages name only existing things."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from hotfix.fix import CaseSpec, Fix
from tests.commands.cli_runs import ROOT, hotfix, stack

DOCS = ROOT / "docs"


def commands(page):
    """The commands of a page and the output that it shows: (command, [line, ...])."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                blocks.append((line[2:], []))
            else:
                blocks[-1][1].append(line)
    return blocks


def script(file, text):
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.mark.drawn(4, "long")
@pytest.mark.testbed
def test_the_page_about_writing_a_fix_is_true(tmp_path):
    """A plugin from bug to proof: run on the release with the bug, compared with the release without it."""
    work, site, bin = tmp_path / "work", tmp_path / "site", tmp_path / "bin"
    shutil.copytree(DOCS / "example", work, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    bin.mkdir()
    script(bin / "python", f'exec {sys.executable} "$@"\n')
    script(bin / "hotfix", f'exec {sys.executable} -m hotfix "$@"\n')
    # Nothing is installed into the environment of the tests: the page's packages go to a separate folder.
    script(
        bin / "pip",
        f'case "$*" in *--target*) ;; *) set -- "$@" --no-deps --no-build-isolation --target {site} ;; esac\n'
        f'exec {sys.executable} -m pip "$@"\n',
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
    path = os.pathsep.join(map(str, [site, *stack("4.41.1"), ROOT]))
    env = {**kept, "PATH": f"{bin}:{os.environ['PATH']}", "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    steps = commands("writing-a-fix.md")
    assert len(steps) >= 8
    for command, wanted in steps:
        done = subprocess.run(["sh", "-c", command], cwd=work, env=env, capture_output=True, text=True, timeout=300)
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"$ {command}\n{output}"
        printed = [" ".join(line.split()) for line in output.splitlines()]
        for line in wanted:
            line = " ".join(line.split())
            beginning = line[: -len("...")].strip() if line.endswith("...") else None
            assert line == "..." or any(
                text == line or (beginning and text.startswith(beginning)) for text in printed
            ), f"$ {command}\ndid not print\n{line}\nbut\n{output}"


def test_the_page_about_writing_a_fix_names_all_that_a_fix_can_declare():
    text = (DOCS / "writing-a-fix.md").read_text(encoding="utf-8")
    methods = [
        method
        for name, method in vars(Fix).items()
        if inspect.isfunction(method) and not name.startswith("_") and name not in ANSWERS
    ]
    assert Fix.adds_made in methods
    assert [method.__name__ for method in methods if f"FIX.{method.__name__}" not in text] == []
    words = {parameter for method in methods for parameter in inspect.signature(method).parameters} - POSITIONAL
    words |= {field.name for field in dataclasses.fields(Fix)} - {"targets", "companions", "_given", "title", "kind"}
    assert {"of_instances", "exempt"} <= words
    assert sorted(word for word in words if not re.search(rf"`{word}(=|`)|, {word}=|\({word}=", text)) == []
    assert [word for word in CaseSpec._fields if f"`{word}`" not in text] == []


# The methods of a fix that answer instead of declaring, and parameters that the examples show by their place.
ANSWERS = {"is_broken", "prefilters", "may_be_broken"}
POSITIONAL = {"self", "targets", "old", "new", "count", "name", "at", "condition", "function", "how", "matcher", "leaf"}


def test_the_page_about_switches_names_all_of_them():
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "hotfix").rglob("*.py"))
    read = set(re.findall(r'"(HOTFIX_[A-Z]+)"', code))
    assert {"HOTFIX_ONLY", "HOTFIX_PADDING"} <= read
    described = set(re.findall(r"^\| `(HOTFIX_[A-Z]+)=", (DOCS / "switches.md").read_text(encoding="utf-8"), re.M))
    assert described == read


def test_the_pages_name_only_commands_and_options_that_exist():
    from hotfix.commands.main import COMMANDS

    table = (DOCS / "command.md").read_text(encoding="utf-8")
    assert all(f"| `hotfix {word}" in table for word in COMMANDS)
    help_of = {word: hotfix(word, "--help").stdout for word in COMMANDS}
    pages = [page for page in DOCS.glob("*.md") if page.name not in ("reach.md", "parity.md")]
    for page in pages:
        for line in re.findall(r"hotfix ([a-z]+ [^`|\n]*)", page.read_text(encoding="utf-8")):
            word, _, rest = line.partition(" ")
            for option in re.findall(r"--[a-z-]{2,}", rest.partition("-- ")[0]) if word in COMMANDS else ():
                assert option in help_of[word], f"{page.name}: hotfix {line}"
