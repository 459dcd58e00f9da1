"""Unusual installations of hotfix work, or report that they do not.

- In a zip file, and in a frozen program without the data files, hotfix cannot read its evidence: it does nothing and
  reports that once; with a guard the import fails.
- With bytecode only, without its source, it repairs as well.
- In read-only folders, it works.
- Bytecode next to a changed source is not used.
"""

from __future__ import annotations

import compileall
import marshal
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cluster import toy
from tests.engine.conftest import ROOT, _site_packages

RUN = "import hotfix.auto\n" + toy.SAY


def run(code: str, *path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOTFIX", "PYTHON"))}
    search = os.pathsep.join([*map(str, path), *_site_packages()])
    variables = {**kept, "PYTHONPATH": search, **env}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=variables, cwd=path[0].parent, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    toy.plant(tmp_path / "site")
    return tmp_path / "site"


def copy(folder: Path) -> Path:
    shutil.copytree(ROOT / "hotfix", folder / "hotfix", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_in_a_zip_file_it_does_nothing_and_a_guard_stops(site: Path, tmp_path: Path) -> None:
    copy(tmp_path / "unpacked")
    with zipfile.ZipFile(tmp_path / "hotfix.zip", "w") as archive:
        for file in (tmp_path / "unpacked").rglob("*.*"):
            archive.write(file, file.relative_to(tmp_path / "unpacked"))
    done = run(RUN, tmp_path / "hotfix.zip", site)
    assert done.stdout == "broken\n"
    assert len(done.stderr.splitlines()) == 1
    assert "hotfix.zip" in done.stderr
    for guard in ({"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-fixes:toy"}, {"HOTFIX_PIN": "000000000000"}):
        done = run(RUN, tmp_path / "hotfix.zip", site, **guard)
        assert (done.returncode, done.stdout) == (1, "")


FROZEN = """
import marshal, sys
from importlib.machinery import ModuleSpec

BUNDLE = marshal.load(open({bundle!r}, "rb"))


class Frozen:
    def find_spec(self, name, path=None, target=None):
        if name not in BUNDLE:
            return None
        origin = "/nowhere/" + name.replace(".", "/") + ".pyc"
        spec = ModuleSpec(name, self, origin=origin, is_package=BUNDLE[name][0])
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.get_code(module.__name__), vars(module))

    def get_code(self, name):
        return BUNDLE[name][1]

    def is_package(self, name):
        return BUNDLE[name][0]


sys.frozen = True
sys.meta_path.insert(0, Frozen())
"""


def test_in_a_frozen_program_without_the_data_it_does_nothing_and_a_guard_stops(site: Path, tmp_path: Path) -> None:
    bundle = {}
    for file in (ROOT / "hotfix").rglob("*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        code = compile(file.read_text(encoding="utf-8"), "/nowhere/frozen.py", "exec")
        bundle[".".join(parts[:-1] if is_package else parts)] = is_package, code
    with (tmp_path / "bundle").open("wb") as to:
        marshal.dump(bundle, to)
    program = FROZEN.format(bundle=str(tmp_path / "bundle")) + RUN
    done = run(program, site)
    assert done.stdout == "broken\n"
    assert len(done.stderr.splitlines()) == 1
    assert "hotfix: does nothing" in done.stderr
    for guard in ({"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-fixes:toy"}, {"HOTFIX_PIN": "000000000000"}):
        done = run(program, site, **guard)
        assert (done.returncode, done.stdout) == (1, "")
        assert "index.json cannot be" in done.stderr


def test_an_installation_of_bytecode_alone_repairs(site: Path, tmp_path: Path) -> None:
    folder = copy(tmp_path / "installed")
    (site / "toy_fixes.py").write_text(
        (site / "toy_fixes.py").read_text().replace('    return "fixed"', WITH_AN_IMPORT), encoding="utf-8"
    )
    for file in [*(folder / "hotfix").rglob("*.py"), site / "toy_fixes.py"]:
        compileall.compile_file(file, legacy=True, quiet=1)
        file.unlink()
    assert run(RUN, folder, site, HOTFIX_STRICT="1").stdout == "fixed\n"


WITH_AN_IMPORT = """
    from hotfix._support.words import parts
    return parts("fixed")[0]
"""


def test_a_read_only_installation_works(site: Path, tmp_path: Path) -> None:
    folder = copy(tmp_path / "installed")
    every = [tmp_path / "installed", *folder.rglob("*")]
    for path in every:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = run(RUN, folder, site, HOTFIX_STRICT="1", PYTHONDONTWRITEBYTECODE="" if os.getuid() else "1")
    finally:
        for path in every:
            path.chmod(0o755)
    assert done.stdout == "fixed\n", done.stderr


def test_bytecode_of_an_older_installation_does_not_run(site: Path, tmp_path: Path) -> None:
    folder = copy(tmp_path / "installed")
    module = folder / "hotfix" / "_support" / "words.py"
    text = module.read_text()
    module.write_text(text + "\nraise RuntimeError('the old one')\n")
    assert "the old one" in run("import hotfix._support.words", folder, site).stderr  # writes bytecode
    module.write_text(text)
    assert run(RUN, folder, site, HOTFIX_STRICT="1").stdout == "fixed\n"
