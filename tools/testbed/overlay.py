"""Folders with one release of one package each, to be put on a child's `PYTHONPATH`.

Each is installed once with uv and cached permanently, under a name that covers all its inputs. A
folder is built under another name and renamed when complete: an interrupted install is never half
used, and two processes may request the same folder at the same time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def overlay(release: str, extras: Sequence[str] = ()) -> Path:
    """Return a folder with `transformers==release`, `extras` and their dependencies, without torch.

    Args:
        release: as on the package index, for instance "4.49.0".
        extras: further requirements, resolved together with it, such as "trl==0.15.2".
    """
    requirements = [f"transformers=={release}", *sorted(extras)]
    if any(extra.startswith("deepspeed==") for extra in extras):
        # Built from its sources, with the installed torch, without its compiled operators.
        options = ["--no-build-isolation-package", "deepspeed"]
        return _folder(f"transformers-{release}", requirements, options, {"DS_BUILD_OPS": "0"})
    return _folder(f"transformers-{release}", requirements, [])


def flash_attn(release: str) -> Path:
    """Return a folder with the Python part of `flash-attn==release`, built from its sources.

    The compiled kernels are left out; `tools.testbed.cpu` replaces them.
    """
    options = ["--no-deps", "--no-build-isolation", "--no-binary", "flash-attn"]
    # Without uv's cache: there, a wheel without kernels would pass for the real one from then on.
    options += ["--no-cache"]
    build = {"FLASH_ATTENTION_FORCE_BUILD": "TRUE", "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE"}
    requirements = [f"flash-attn=={release}", "einops==0.8.1"]
    return _folder(f"flash-attn-{release}", requirements, options, build)


def xformers(release: str) -> Path:
    """Return a folder with `xformers==release` alone."""
    return _folder(f"xformers-{release}", [f"xformers=={release}"], ["--no-deps"])


def alone(requirement: str) -> Path:
    """Return a folder with one package, without its dependencies: ``axolotl==0.6.0``."""
    name = requirement.replace("==", "-").replace("/", "-")
    return _folder(name, [requirement], ["--no-deps", "--no-build-isolation"])


def cache() -> Path:
    """Return the parent folder of all others: `$TESTBED_CACHE`, or one in the user's cache."""
    chosen = os.environ.get("TESTBED_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "transformers-hotfix" / "testbed"


def _folder(name: str, requirements: list[str], options: list[str], build: Mapping[str, str] | None = None) -> Path:
    python = f"{sys.implementation.cache_tag}-{sys.platform}"
    digest = hashlib.sha256("\n".join([python, *requirements, *options]).encode()).hexdigest()
    final = cache() / f"{name}-{python}-{digest[:8]}"
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=final.parent))
    try:
        _install(partial, requirements, options, build or {})
        try:
            partial.rename(final)
        except OSError:
            # Another process was faster; its folder is equal.
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return final


def _install(folder: Path, requirements: list[str], options: list[str], build: Mapping[str, str]) -> None:
    environment = {**os.environ, **build}
    # uv reads neither pip's configuration nor its variables.
    if "PIP_FIND_LINKS" in environment:
        environment.setdefault("UV_FIND_LINKS", environment["PIP_FIND_LINKS"])
    # A requirement whose marker is always false removes the package from every resolution.
    overrides = folder / "overrides.txt"
    overrides.write_text("torch; python_version < '0'\ntriton; python_version < '0'\n")
    command: list[str | Path] = [_uv(), "pip", "install", "--quiet", "--python", sys.executable, "--target", folder]
    command += ["--override", overrides, *options, *requirements]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cannot install {' '.join(requirements)}:\n{done.stderr}")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise RuntimeError("the CPU testbed needs uv, next to this Python or on the PATH")
    return uv
