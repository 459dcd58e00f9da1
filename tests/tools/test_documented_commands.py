"""Runs every command of README and the documentation, from a clone and without a package index."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

import pytest

from tools import transcripts

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "autoload" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# These have tests of their own: `test_transcripts.py` and `test_cli_docs.py`.
ELSEWHERE = ("transcripts.md", "writing-a-fix.md")
RELEASE = "5.2.0"

# Exit statuses other than 0, for what a command is to find here.
STATUS = {
    "hotfix scan requirements.txt --fail-on silent": 1,
    'hotfix explain --error "Input and cos/sin must have the same dtype"': 1,  # a bug of other releases
}
# Programs of a cluster or of a developer: `srun` runs its command here, `torchrun` one process of it.
STAND_INS = {
    "srun": 'exec "$@"',
    "torchrun": 'while [ "${1#-}" != "$1" ]; do case $1 in *=*) shift;; *) shift 2;; esac; done; exec python "$@"',
    "accelerate": 'shift; exec python "$@"',
    "nox": f'grep -q "^def $2(" {ROOT}/noxfile.py',
    "pip": (
        'case $1 in install) shift; set -- install --no-index --no-build-isolation "$@";; esac; exec python -m pip "$@"'
    ),
}
FILES = {
    "train.py": "import sys\nimport transformers\n\nprint('trained with', transformers.__version__)\n"
    "print(\"ImportError: cannot import name 'HybridCache' from 'transformers'\", file=sys.stderr)\n",
    "sft.py": (ROOT / "examples" / "sft.py").read_text(encoding="utf-8"),
    "modeling_mine.py": "from transformers import HybridCache, PreTrainedModel\n",
    "requirements.txt": f"transformers=={RELEASE}\n",
    "uv.lock": transcripts._LOCK,
    **{
        f"{folder}/config.json": '{"model_type": "llama", "transformers_version": "4.48.0", "rope_theta": 10000.0}'
        for folder in ("my-finetune", "organization/model", "run")
    },
}


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """The commands in the console blocks of a page, without comments, each with the lines that are shown below it."""
    steps: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((re.sub(r" {2,}# .*", "", line[2:]), []))
            else:
                steps[-1][1].append(line)
    return steps


WITH_COMMANDS = [page for page in PAGES if page.name not in ELSEWHERE and commands(page)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's environment with transformers and without hotfix; its working folder has the clone and the files."""
    here = tmp_path_factory.mktemp("user")
    made = transcripts._environment(
        here, transcripts.Story("", "", (f"transformers=={RELEASE}", "accelerate==1.15.0"), FILES, (), installed=False)
    )
    work = here / "work"
    (work / "examples").symlink_to(work / "hotfix" / "examples")
    home = here / "home"
    (home / ".cache/huggingface/modules/transformers_modules").mkdir(parents=True)
    for name, text in STAND_INS.items():
        program = here / "env" / "bin" / name
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    made.update(HOME=str(home), GITHUB_STEP_SUMMARY=str(here / "summary.md"), CUDA_VISIBLE_DEVICES="", WORK=str(work))
    # What the first command of README installs, for the pages that begin with another.
    _run("pip install './hotfix[cli]'", made)
    return made


def _run(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=environment["WORK"], env=environment, capture_output=True, text=True, timeout=600
    )
    output = done.stdout + done.stderr
    assert done.returncode == STATUS.get(command, 0), f"$ {command}\n{output}"
    return output


def _shape(line: str) -> str:
    """A line without its numbers, which grow with the catalogue, and without alignment."""
    return " ".join(re.sub(r"\d+", "N", line).split())


@pytest.mark.testbed
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=pytest.mark.drawn(1)) for page in WITH_COMMANDS],
)
def test_every_command_of_the_page_works(page: Path, environment: dict[str, str]) -> None:
    for command, shown in commands(page):
        output = _run(command, environment)
        assert "Traceback" not in output, f"$ {command}\n{output}"
        if page.name == "README.md":
            printed = {_shape(line) for line in output.splitlines()}
            assert [line for line in shown if line and _shape(line) not in printed] == [], f"$ {command}\n{output}"
        if "./hotfix/autoload" in command:  # every process would be armed from here on
            _run("pip uninstall -y transformers-hotfix-autoload", environment)


def test_no_command_of_a_page_is_left_out() -> None:
    """A line that begins with a prompt is in a console block, and blocks of a shell have no other language."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^\$ ", text, re.M)) == len(commands(page)), page.name
        for language, body in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
            if language in ("bash", "sh", "shell"):  # scripts of `examples/`, which have a test of their own
                assert all(line.startswith("--8<-- ") for line in body.splitlines()), page.name


def test_a_command_that_does_not_work_is_noticed(environment: dict[str, str]) -> None:
    for broken in ("hotfix scann requirements.txt", "pip install 'transformers-hotfix[cli]==0.9'", "python absent.py"):
        with pytest.raises(AssertionError):
            _run(broken, environment)
