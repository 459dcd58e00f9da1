"""``hotfix scan-code`` and ``hotfix scan`` are safe on trees from anybody, for instance from a pull request.

- They read regular files inside the folder, each up to a size. They follow no link out of it, and open no pipe or
  device. Each file that they do not read is named with the reason, and the rest is still read.
- The time for a file is proportional to its size, whatever its structure, or the file is named as not read.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from hotfix.reports.trees import Tree
from tests.facts import lacking

from .limited import hotfix, in_this_process, require

pytestmark = pytest.mark.drawn(4)  # a process for each case

SECRET = "from transformers import AdamW, s3cr3t\n"
WANTED = "from transformers import AdamW\n"


@pytest.fixture
def tree(tmp_path):
    """A folder with one file that uses a name, next to a file with a secret."""
    (tmp_path / "secret.py").write_text(SECRET)
    (tmp_path / "secret.txt").write_text("transformers==4.49.0\ns3cr3t==1\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.py").write_text(WANTED)
    (folder / "requirements.txt").write_text("transformers==4.49.0\n")
    return folder


PLANTED = {
    "a link to a device": lambda file: file.symlink_to("/dev/zero"),
    "a pipe": lambda file: os.mkfifo(file),
    "a link out of the tree": lambda file: file.symlink_to(f"../secret{file.suffix}"),
    "an absolute link out of the tree": lambda file: file.symlink_to(file.parents[1] / f"secret{file.suffix}"),
    "a link that leads nowhere": lambda file: file.symlink_to("nowhere"),
    "a link to itself": lambda file: file.symlink_to(file.name),
    "a large file": lambda file: file.write_bytes(WANTED.encode() + b"#" * 40 * 2**20),
    "an endless file": lambda file: _sparse(file, 2**40),
}


def _sparse(file, size):
    with file.open("wb") as opened:
        opened.truncate(size)


@pytest.mark.parametrize("kind", PLANTED)
def test_forbidden_files_are_named_and_the_rest_is_read(kind, tree):
    PLANTED[kind](tree / "z.py")
    PLANTED[kind](tree / "requirements-z.txt")
    (tree / "inner").mkdir()
    (tree / "inner" / "other.py").symlink_to("../good.py")
    code = require(hotfix("scan-code", ".", "--release", "5.3.0", cwd=tree), 0)
    assert ("good.py" in code.stdout, "z.py: not read" in code.stdout, "other.py" in code.stdout) == (True, True, True)
    pins = require(hotfix("scan", ".", cwd=tree), 0)
    assert ("requirements.txt" in pins.stdout, "not judged: requirements-z.txt: " in pins.stdout) == (True, True)
    assert "s3cr3t" not in code.stdout + code.stderr + pins.stdout + pins.stderr


@pytest.mark.parametrize("kind", [kind for kind in PLANTED if "out of" not in kind])
def test_neither_is_it_where_it_is_the_file_that_is_named(kind, tree):
    for file, word in (("z.py", "scan-code"), ("requirements-z.txt", "scan")):
        PLANTED[kind](tree / file)
        run = require(hotfix(word, file, cwd=tree), 2)
        assert file in run.stderr


@pytest.mark.parametrize("folder", ["requirements", "lib", "code"])
def test_a_folder_that_leads_out_of_the_tree_is_not_looked_into(folder, tree, capsys, monkeypatch):
    elsewhere = tree.parent / "elsewhere"
    (elsewhere / "python3.12" / "site-packages" / "transformers-4.40.0.dist-info").mkdir(parents=True)
    (elsewhere / "base.txt").write_text("transformers==4.40.0\n")
    (elsewhere / "code.py").write_text(SECRET)
    (tree / folder).symlink_to(elsewhere)
    monkeypatch.chdir(tree)
    pins = in_this_process(capsys, "scan", ".")
    assert (pins.status, "4.49.0" in pins.stdout, "4.40.0" in pins.stdout) == (0, True, False)
    code = in_this_process(capsys, "scan-code", ".")
    assert (code.status, "s3cr3t" in code.stdout) == (0, False)


def test_a_folder_may_be_a_link_itself(tree, capsys):
    (tree.parent / "link").symlink_to(tree)
    run = in_this_process(capsys, "scan-code", str(tree.parent / "link"))
    assert lacking(run.stdout, "in 1 of 1 file;") == []


def test_settings_are_not_read_through_a_link_that_leads_out(tree, capsys, monkeypatch):
    (tree.parent / "other.toml").write_text("[tool.hotfix.scan]\nfail-on = 's3cr3t'\n")
    (tree / "pyproject.toml").symlink_to("../other.toml")
    monkeypatch.chdir(tree)
    run = in_this_process(capsys, "scan", "requirements.txt")
    assert (run.status, run.stdout, "s3cr3t" in run.stderr) == (2, "", False)
    assert "leads out" in run.stderr


@pytest.fixture
def deep():
    """A folder with 1500 nested folders, which Python before 3.13 cannot remove."""
    folder = tempfile.mkdtemp()
    here = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        Path("deep.py").write_text(WANTED)
    finally:
        os.chdir(here)
    yield Path(folder)
    subprocess.run(["/bin/rm", "-rf", folder], check=True)


def test_a_deep_tree_is_read_as_far_as_the_system_goes(deep):
    run = require(hotfix("scan-code", ".", cwd=deep), 0)
    assert "in 1 of 1 file;" in run.stdout


def test_many_files_that_are_not_read_are_counted(tree, capsys):
    for number in range(300):
        (tree / f"{number}.py").symlink_to("/dev/zero")
    run = in_this_process(capsys, "scan-code", str(tree))
    assert (run.status, "280 more files" in run.stdout) == (0, True)


HEAD = "from transformers import PreTrainedModel\n"
SOURCES = {
    "diamonds of classes": lambda: (
        HEAD
        + "class a0(PreTrainedModel): pass\nclass b0(PreTrainedModel): pass\n"
        + "".join(f"class a{n}(a{n - 1}, b{n - 1}): pass\nclass b{n}(a{n - 1}, b{n - 1}): pass\n" for n in range(1, 60))
    ),
    "a chain of classes": lambda: (
        HEAD
        + "class a0(PreTrainedModel): pass\n"
        + "".join(f"class a{n}(a{n - 1}):\n  def f(self): return self.x{n}\n" for n in range(1, 11_000))
    ),
    "nested matches": lambda: (
        HEAD + "".join(f"{'  ' * n}match x:\n{'  ' * n} case 1:\n" for n in range(45)) + "  " * 45 + "pass\n"
    ),
    "nested classes with methods": lambda: (
        HEAD
        + "".join(f"{' ' * 2 * n}class A{n}(PreTrainedModel):\n{' ' * 2 * n} def f(self):\n" for n in range(45))
        + " " * 90
        + "self.a;" * 85_000
        + "\n"
    ),
    "conditions in conditions": lambda: (
        HEAD
        + "class A(PreTrainedModel):\n def f(self):\n"
        + "".join("  x = " + "self.a if b else " * 900 + "c\n" for _ in range(30))
    ),
    "choices of thousands": lambda: (
        f"try:\n from transformers import {','.join(f'a{n}' for n in range(40_000))}\n"
        f"except ImportError:\n from transformers import {','.join(f'b{n}' for n in range(40_000))}\n"
    ),
    "a long tuple": lambda: HEAD + "x = " + "a," * 300_000 + "\n",
    "a long list": lambda: HEAD + "x = [" + "[]," * 200_000 + "]\n",
    "a long sum": lambda: HEAD + "x = " + "1+" * 300_000 + "1\n",
    "a long chain of attributes": lambda: HEAD + "x = a" + ".b" * 300_000 + "\n",
    "deep brackets": lambda: HEAD + "x = " + "(" * 100_000 + "\n",
    "deep calls": lambda: HEAD + "x = " + "f(" * 150 + ")" * 150 + "\n",
    "minus signs": lambda: HEAD + "x = " + "-" * 600_000 + "1\n",
    "an f-string in f-strings": lambda: HEAD + "x = " + "f'{" * 1000 + "1\n",
    "a long number": lambda: HEAD + "x = " + "9" * 600_000 + "\n",
    "an encoding that does not exist": lambda: "# coding: nonsense\n" + HEAD,
    "a null byte": lambda: HEAD + "\0\n",
    "a byte order mark": lambda: "\ufeff" + HEAD,
    "form feeds": lambda: HEAD + "\f\n" * 300_000,
    "indents": lambda: HEAD + "".join(" " * n + "if 1:\n" for n in range(200)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_read_soon_or_not_at_all(name, tmp_path):
    (tmp_path / "z.py").write_text(SOURCES[name](), encoding="utf-8")
    (tmp_path / "good.py").write_text(WANTED)
    run = require(hotfix("scan-code", ".", "--json", cwd=tmp_path), 0)
    assert '"files": 2' in run.stdout
    print(f"{name}: {run.seconds:.1f} s, {run.megabytes:.0f} MB")


def test_a_tree_knows_its_contents(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "file").write_text("x" * 10)
    tree = Tree(inside)
    assert tree.read(inside / "file", 10) == b"x" * 10
    for path, limit in ((inside / "file", 9), (inside / ".." / "inside" / ".." / "other", 10), (inside, 10)):
        with pytest.raises(OSError, match=r"larger than 9 bytes|leads|No such file|not a regular file"):
            tree.read(path, limit)
