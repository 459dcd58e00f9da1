"""``hotfix scan`` is safe on pins from anybody, malicious files included, for instance from a pull request.

- It ends soon: time and memory grow with the size of a file and no faster.
- Sizes, depths and numbers have limits; a file beyond them is one line that names it, and exit status 2.
- A line that is not a requirement is reported by file and line and never quoted: a requirements file may include any
  file that the user can read, or be a link to one.
- A password in a URL is not printed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.cli_runs import ROOT, hotfix

pytestmark = pytest.mark.drawn(4)  # a process for each case

SECRET = "s3cr3t:$6$abcdef:19000:0:99999:7:::"
SECONDS = 60  # of processor time, a limit far above normal use: the attacks took minutes, or did not end
MEMORY = 1024 * 1024 * 1024

ATTACKS = {
    "dotted.toml": lambda: "a." * 50_000 + "a = 1\n",
    "header.toml": lambda: "[" + "a." * 50_000 + "a]\n",
    "quoted.toml": lambda: '"a"."b".' * 20_000 + "a = 1\n",
    "inline.toml": lambda: "x = {" + "a." * 50_000 + "a = 1}\n",
    "nested.toml": lambda: "x = " + "[" * 100_000 + "\n",
    "bomb.yml": lambda: (
        "".join(["a0: &a0 [lol]\n", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))])
        + "dependencies: [*a11]\n"
    ),
    "merged.yml": lambda: "".join(
        ["a0: &a0 {k: 1}\n", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 9))]
    ),
    "large.yml": lambda: "dependencies:\n" + "  - transformers=4.49.0\n" * 100_000,
    "nested.yml": lambda: "dependencies: " + "[" * 100_000,
    "many.txt": lambda: "pip\n" * 2_000_000,
    "narrowed.txt": lambda: "".join(f"transformers!=4.49.0.dev{number}\n" for number in range(15_000)),
    "conditions.txt": lambda: "transformers" + ",".join(f"!=4.49.0.dev{number}" for number in range(400)) + "\n",
    "continued.txt": lambda: "transformers \\\n" * 150_000 + "==4.49.0\n",
    "brackets.txt": lambda: "transformers==4.49.0 ; " + "(" * 9_000 + "\n",
    "digits.txt": lambda: "transformers==" + "9" * 9_000 + "\n",
    "versions.lock": lambda: "".join(
        f'[[package]]\nname = "transformers"\nversion = "4.{n}"\n' for n in range(100_000)
    ),
    "nested.json": lambda: '{"default": ' + "[" * 200_000,
}


def within_limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("name", ATTACKS)
def test_a_file_that_means_harm_is_one_line_soon(name, tmp_path):
    (tmp_path / name).write_text(ATTACKS[name]())
    done = subprocess.run(
        [sys.executable, "-m", "hotfix", "scan", "--json", name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        preexec_fn=within_limits,  # the child imports nothing between fork and exec
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done
    [line] = done.stderr.splitlines()
    assert line.startswith(f"hotfix: {name}")
    assert len(line) < 300
    assert "Error" not in line
    assert not done.stdout


def test_the_largest_honest_files_are_read(tmp_path):
    hashes = " \\\n    ".join(f"--hash=sha256:{number:064x}" for number in range(400))
    lines = [f"package{number}==1.{number} {hashes}" for number in range(300)]
    (tmp_path / "requirements.txt").write_text("\n".join([*lines, "transformers==4.49.0"]))
    packages = [f'[[package]]\nname = "p{n}"\nversion = "1.{n}"\n' for n in range(3000)]
    (tmp_path / "uv.lock").write_text("".join([*packages, '[[package]]\nname = "transformers"\nversion = "4.49.0"\n']))
    done = hotfix("scan", "--json", "requirements.txt", "uv.lock", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert [scan["requirement"] for scan in done.json["scans"]] == ["transformers==4.49.0"] * 2


PLACES = {
    "an included file": lambda folder: (folder / "requirements.txt").write_text("-r secret\n"),
    "a constraint": lambda folder: (folder / "requirements.txt").write_text("-c secret\n"),
    "a link": lambda folder: (folder / "requirements.txt").symlink_to("secret"),
    "the pip section of conda": lambda folder: (folder / "requirements.yml").write_text(
        "dependencies:\n  - pip:\n    - -r secret\n"
    ),
}
SECRETS = {"a shadow file": f"{SECRET}\n", "an option": f"--{SECRET}\n", "a key": f"-----BEGIN KEY-----\n{SECRET}\n"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_file_that_is_no_requirements_file_is_never_quoted(place, secret, tmp_path):
    (tmp_path / "secret").write_text(SECRETS[secret])
    PLACES[place](tmp_path)
    [file] = tmp_path.glob("requirements.*")
    for form in ("table", "json", "sarif", "markdown"):
        done = hotfix("scan", "--format", form, file.name, cwd=tmp_path)
        assert done.status == 2
        assert "s3cr3t" not in done.stdout + done.stderr
        assert "not a" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", f'[project]\ndependencies = ["{SECRET}"]\n'),
        ("uv.lock", f'[[package]]\nversion = "{SECRET}"\n'),
        ("environment.yml", f'dependencies: ["{SECRET}"]\n'),
        ("environment.yml", f'dependencies: [["{SECRET}"]]\n'),
    ],
)
def test_nor_is_code_in_other_files(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    done = hotfix("scan", name, cwd=tmp_path)
    assert (done.status, done.stderr.count("\n")) == (2, 1)
    assert "s3cr3t" not in done.stderr


def test_a_password_in_a_link_is_not_printed(tmp_path):
    lines = [
        "git+https://somebody:s3cr3t@example.org/group/transformers.git",
        "-r https://s3cr3t@example.org/more.txt",
        "https://s3cr3t@example.org/",
    ]
    (tmp_path / "requirements.txt").write_text("\n".join(lines))
    for form in ("table", "json", "sarif", "markdown"):
        done = hotfix("scan", "--format", form, "requirements.txt", cwd=tmp_path)
        assert done.status == 0, done.stderr
        assert "s3cr3t" not in done.stdout + done.stderr
    assert "example.org/group/transformers" in hotfix("scan", "requirements.txt", cwd=tmp_path).stdout


@pytest.mark.parametrize("included", ["/dev/zero", "pipe", "."])
def test_only_regular_files_are_read(included, tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    Path(tmp_path / "requirements.txt").write_text(f"-r {included}\n")
    done = hotfix("scan", "requirements.txt", cwd=tmp_path)
    assert (done.status, done.stderr.count("\n")) == (2, 1)
