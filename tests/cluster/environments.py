"""Virtual environments for tests: made with uv, with the wheels of this checkout installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("3.9", "3.10", "3.11", "3.12", "3.13")


def clean_environment(**variables: str) -> dict[str, str]:
    """This process's environment without the variables that would affect a child."""
    dropped = ("HOTFIX", "PYTHON", "VIRTUAL_ENV", "UV_PYTHON", "RANK", "LOCAL_RANK", "WORLD_SIZE", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, **variables}


def call(*command: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output; fail with its stderr if it fails."""
    options.setdefault("env", clean_environment())
    options.setdefault("timeout", 300)
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if check and done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def uv() -> str:
    """The path of uv; without it the test is skipped."""
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.exists() else shutil.which("uv")
    if not program:
        pytest.skip("needs uv")
    return program


def interpreter(release: str) -> str:
    """The path of a Python of this release line; without it the test is skipped."""
    if release == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    candidates = [shutil.which(f"python{release}") or ""]
    candidates += map(str, sorted(Path.home().glob(f".pyenv/versions/{release}.*/bin/python")))
    for candidate in filter(None, candidates):
        done = call(candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])", check=False)
        if done.stdout.strip() == release:
            return candidate
    pytest.skip(f"needs Python {release}")


@dataclass
class Environment:
    """A virtual environment.

    Attributes:
        folder: its root.
    """

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(self, *requirements: object, options: Sequence[str] = ()) -> None:
        """Install with uv, from the index or from files."""
        variables = clean_environment()
        if "PIP_FIND_LINKS" in variables:  # uv does not read pip's variables
            variables.setdefault("UV_FIND_LINKS", variables["PIP_FIND_LINKS"])
        command = [uv(), "pip", "install", "-q", "--python", self.python, *options, *requirements]
        call(*command, env=variables, timeout=600)

    def run(
        self,
        *arguments: object,
        env: Optional[Mapping[str, str]] = None,
        check: bool = True,
        cwd: Optional[Path] = None,
        prefix: Sequence[object] = (),
        timeout: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """Run this environment's Python."""
        variables = clean_environment(**(env or {}))
        command = [*prefix, self.python, *arguments]
        return call(*command, env=variables, check=check, cwd=cwd or self.folder, timeout=timeout)


def make(folder: Path, python: str = sys.executable) -> Environment:
    """Make an empty virtual environment."""
    call(uv(), "venv", "-q", "--python", python, folder)
    return Environment(folder)


def build(folder: Path) -> dict[str, Path]:
    """Build both wheels from this checkout, without writing to it."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "LICENSE", "README.md", "CHANGELOG.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hotfix", source / "hotfix", ignore=ignored)
    shutil.copytree(ROOT / "autoload", folder / "autoload", ignore=ignored)
    for project in (source, folder / "autoload"):
        call(uv(), "build", "-q", "--wheel", "-o", folder / "wheels", project)
    core, *_ = (folder / "wheels").glob("transformers_hotfix-*.whl")
    autoload, *_ = (folder / "wheels").glob("transformers_hotfix_autoload-*.whl")
    return {"core": core, "autoload": autoload}
