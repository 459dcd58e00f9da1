"""Samples by commit hash: the same for everybody who tests a commit, another part for the next commit."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def commit() -> str:
    """Its hash; outside of a checkout always the same word."""
    return _git("rev-parse", "HEAD").strip() or "no commit"


@functools.cache
def changed() -> frozenset[str]:
    """The files that the commit has changed, or that were changed since; none in a shallow clone."""
    return frozenset(_git("diff", "--name-only", "HEAD~1").split())


def place(name: str, seed: str) -> bytes:
    """The position of a name in the order that a seed gives."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
