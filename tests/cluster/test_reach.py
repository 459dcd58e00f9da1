"""The kinds of process that need nothing but Python. The others are in test_engines.py."""

from __future__ import annotations

import shutil
import textwrap
import zipapp
from pathlib import Path

import pytest

from tests.cluster import environments, reach, toy
from tests.cluster.environments import ROOT

pytestmark = pytest.mark.drawn(4)  # a process for each case

FIRST = "import hotfix.auto\n"

MULTIPROCESSING = """
    import multiprocessing
    def probe():
        {say}
    if __name__ == "__main__":
        {late}
        context = multiprocessing.get_context("{method}")
        process = context.Process(target=probe)
        process.start()
        process.join()
"""

SUBPROCESS = """
    import subprocess, sys
    subprocess.run([sys.executable, *{flags}, "-c", {say!r}], env={env})
"""


def program(kind: str, way: str) -> str:
    """The source of the main script for a kind of process."""
    late = "pass"
    first = FIRST if way == reach.IMPORT else ""
    if "__main__" in kind:
        first, late = "", first.strip() or "pass"
    if kind.startswith("multiprocessing"):
        text = MULTIPROCESSING.format(say=toy.SAY, method=kind.split(", ")[1], late=late)
    elif kind == "a subprocess":
        text = SUBPROCESS.format(flags=[], say=toy.SAY, env=None)
    elif kind == "a subprocess with an emptied environment":
        text = SUBPROCESS.format(flags=[], say=toy.SAY, env={})
    elif kind == "a subprocess under python -I":
        text = SUBPROCESS.format(flags=["-I"], say=toy.SAY, env=None)
    else:
        text = toy.SAY
    return first + textwrap.dedent(text)


def arguments(kind: str, text: str, folder: Path, environment: environments.Environment) -> list[object]:
    """The arguments of `python`."""
    if kind == "python -c":
        return ["-c", text]
    if kind == "python -m module":
        (folder / "probe.py").write_text(text)
        return ["-m", "probe"]
    if kind == "a zipapp":
        source = folder / "source"
        source.mkdir()
        (source / "__main__.py").write_text(text)
        zipapp.create_archive(source, folder / "probe.pyz")
        return [folder / "probe.pyz"]
    if kind == "python -S":
        text = f"import sys; sys.path.append({str(environment.site_packages)!r})\n" + text
    (folder / "script.py").write_text(text)
    flag = kind.split()[1] if kind.startswith("python -") else ""
    return [*([flag] if flag else []), folder / "script.py"]


@pytest.mark.parametrize("way", reach.WAYS)
@pytest.mark.parametrize("kind", reach.LIGHT)
def test_reach(kind, way, armed, plain, tmp_path, seen):
    environment = armed if way == reach.AUTOLOAD else plain
    prefix = [environment.python, "-m", "hotfix", "run", "--"] if way == reach.RUN else []
    text = program(kind, way)
    python = environment
    if "venv made from" in kind:
        # Not with uv, which would use the Python behind the venv.
        environment.run("-m", "venv", "--without-pip", tmp_path / "inner")
        python = environments.Environment(tmp_path / "inner")
        text = text.replace(FIRST, f"try:\n    {FIRST}except ImportError:\n    pass\n")
        toy.plant(python.site_packages)
    done = python.run(*arguments(kind, text, tmp_path, environment), prefix=prefix, cwd=tmp_path, check=False)
    assert done.stdout in ("broken\n", "fixed\n"), done.stderr
    seen[kind, way] = done.stdout == "fixed\n"
    assert seen[kind, way] is reach.expected(kind, way)


def test_the_page_is_the_table():
    page = (ROOT / "docs" / "reach.md").read_text(encoding="utf-8")
    assert page == reach.render({cell: reach.expected(*cell) for cell in reach.cells()})


def test_copies_of_the_environment_are_reached_by_the_same_start_up_file(armed, tmp_path):
    """As in container images: the folder is copied together with the start-up file."""
    copied = environments.make(tmp_path / "copy")
    shutil.copytree(armed.site_packages, copied.site_packages, dirs_exist_ok=True)
    assert copied.run("-c", toy.SAY).stdout == "fixed\n"
