"""Samples by commit hash: the same for everybody who tests a commit, another part for the next commit."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
from collections.abc import Collection
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


def sample(names: Collection[str], size: int, seed: str, together: int = 4) -> set[str]:
    """Some of the tests, in groups of one release: it costs more to prepare a release than to run a test.

    Args:
        names: node ids.
        size: how many.
        seed: each gives another sample, in which every test is equally likely.
        together: the size of a group.
    """
    by_release: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: place(name, seed)):
        release = re.search(r"\b\d\.\d+\.\d+\b(?!.*\b\d\.\d+\.\d+\b)", name)
        by_release.setdefault(release[0] if release else name.partition("::")[0], []).append(name)
    groups = {
        f"{release} {at}": of_it[at : at + together]
        for release, of_it in by_release.items()
        for at in range(0, len(of_it), together)
    }
    ordered = [name for group in sorted(groups, key=lambda group: place(group, seed)) for name in groups[group]]
    return {*ordered[:size]}


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
