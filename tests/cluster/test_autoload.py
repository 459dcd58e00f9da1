"""The autoload wheel is silent, idempotent and without side effects, and uninstalls completely."""

from __future__ import annotations

import ast
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.cluster import environments, toy
from tests.cluster.environments import RELEASES, ROOT, call

LOADED = "import sys; print(*sorted(name for name in sys.modules if 'hotfix' in name), "
LOADED += "*['armed' for one in sys.meta_path if hasattr(one, 'is_hotfix')])"
ARMED = "hotfix_autoload armed\n"


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_wheel_owns_three_files_at_the_top_of_site_packages(wheels):
    names = zipfile.ZipFile(wheels["autoload"]).namelist()
    assert {name for name in names if ".dist-info/" not in name} == {
        "hotfix_autoload.pth",
        "hotfix_autoload.py",
        "hotfix_autoload.start",
    }


def test_the_module_imports_nothing_at_its_top():
    tree = ast.parse((ROOT / "autoload" / "hotfix_autoload.py").read_text())
    assert not [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def test_the_start_file_names_the_function_that_the_pth_file_calls():
    pth = (ROOT / "autoload" / "hotfix_autoload.pth").read_text()
    start = (ROOT / "autoload" / "hotfix_autoload.start").read_text()
    assert pth == "import hotfix_autoload; hotfix_autoload.start()\n"
    assert start == "hotfix_autoload:start\n"


@pytest.mark.parametrize("release", RELEASES)
def test_installed_it_repairs_and_uninstalled_it_leaves_nothing(release, wheels, of_release, pip):
    environment = of_release(release)
    environment.run("-c", toy.SAY)  # creates the bytecode of the core and the toy
    environment.run("-c", "import hotfix.auto; " + toy.SAY)
    before = files(environment.folder)
    call(*pip, environment.python, "install", "-q", "--no-deps", "--no-index", wheels["autoload"])
    idle = environment.run("-c", LOADED)
    assert (idle.stdout, idle.stderr) == (ARMED, "")
    assert environment.run("-c", toy.SAY).stdout == "fixed\n"
    call(*pip, environment.python, "uninstall", "-q", "-y", "transformers-hotfix-autoload")
    # An empty __pycache__ may stay: pip leaves this folder, because all modules share it.
    assert files(environment.folder) - before <= {f"lib/python{release}/site-packages/__pycache__"}
    done = environment.run("-c", toy.SAY)
    assert (done.stdout, done.stderr) == ("broken\n", "")


def test_hotfix_0_loads_nothing_but_the_module_itself(armed):
    done = armed.run("-c", LOADED, env={"HOTFIX": "0"})
    assert (done.stdout, done.stderr) == ("hotfix_autoload\n", "")


def test_it_may_run_any_number_of_times(armed):
    code = "import hotfix_autoload, sys; hotfix_autoload.start(); hotfix_autoload.start(); "
    code += "print(sum(hasattr(finder, 'is_hotfix') for finder in sys.meta_path))"
    assert armed.run("-c", code).stdout == "1\n"


def test_nothing_is_loaded_at_start_up_that_a_bare_interpreter_has_not_loaded(armed):
    modules = "import sys; print(*sorted(sys.modules))"
    bare = set(armed.run("-c", modules, env={"HOTFIX": "0"}).stdout.split())
    assert set(armed.run("-c", modules).stdout.split()) - bare == set()


BREAKAGES = {
    "the core is missing": lambda site: shutil.rmtree(site / "hotfix"),
    "the core is an empty shell": lambda site: [path.unlink() for path in (site / "hotfix").glob("*.py")],
    "the watcher is missing": lambda site: (site / "hotfix" / "watch.py").unlink(),
}

FAILURES = {
    "SyntaxError": "def broken(:\n",
    "KeyboardInterrupt": "raise KeyboardInterrupt\n",
    "SystemExit": "raise SystemExit(3)\n",
    "RuntimeError": "raise RuntimeError('no')\n",
    "ModuleNotFoundError": "import nowhere_to_be_found\n",
}


@pytest.fixture
def scratch(armed, tmp_path):
    """A copy of the environment with the start-up file, which a test may break."""
    environment = environments.make(tmp_path / "scratch")
    shutil.copytree(armed.site_packages, environment.site_packages, dirs_exist_ok=True)
    return environment


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_core_that_is_not_there_is_no_news(breakage, scratch):
    BREAKAGES[breakage](scratch.site_packages)
    done = scratch.run("-c", "print('here')")
    assert (done.stdout, done.stderr) == ("here\n", "")


@pytest.mark.parametrize("failure", FAILURES)
def test_the_interpreter_starts_after_any_error_of_the_core(failure, scratch):
    (scratch.site_packages / "hotfix" / "watch.py").write_text(FAILURES[failure])
    done = scratch.run("-c", "print('here')")
    assert done.stdout == "here\n"
    lines = done.stderr.splitlines()
    assert lines
    assert all(line.startswith("hotfix: ") and f"({failure}" in line for line in lines)


def test_it_starts_without_a_stderr(scratch):
    (scratch.site_packages / "hotfix" / "watch.py").write_text("raise RuntimeError('no')\n")
    done = call("sh", "-c", f"{scratch.python} -c 'print(1)' 2>&-")
    assert done.stdout == "1\n"


@pytest.mark.slow
def test_the_scanner_of_start_up_files_rates_it_medium_at_most(wheels, tmp_path):
    environment = environments.make(tmp_path / "venv")
    environment.install(wheels["core"], wheels["autoload"])
    scanner = environments.make(tmp_path / "scanner")
    try:
        scanner.install("autorun-audit")
    except AssertionError as error:
        pytest.skip(f"needs autorun-audit: {error}")
    options = ["env", "--python", environment.python, "--min-severity", "info", "--format", "json"]
    load = json.loads(call(scanner.folder / "bin" / "autorun-audit", *options).stdout)["findings"]
    severities = {Path(finding["path"]).name: finding["severity"] for finding in load}
    assert severities == {"hotfix_autoload.pth": "medium", "hotfix_autoload.start": "low"}
