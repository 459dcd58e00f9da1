"""Two fixtures: fresh interpreters (`world`, as in tests/engine), and packages inside the test process (`lab`)."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hotfix._support import memo
from hotfix.engine.catalogue import Catalogue
from hotfix.engine.entry import Entry
from hotfix.engine.ledger import Outcome
from hotfix.engine.policy import Policy
from hotfix.fix import Fix
from hotfix.session import Session
from hotfix.versions import source
from tests.engine.conftest import FIX, TOY, World, world

__all__ = ["FIX", "TOY", "Lab", "World", "world"]


class Lab:
    """A package ``toys`` that the test process imports, fixes for it, and sessions that know only these fixes.

    Attributes:
        folder: the first entry of ``sys.path``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("toys/__init__.py", '__version__ = "1.0"\n')

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        importlib.invalidate_caches()
        return file

    def module(self, name: str = "toy", text: str = TOY) -> ModuleType:
        """Write a module of the package, and import it."""
        self.write(f"toys/{name}.py", text)
        return importlib.import_module(f"toys.{name}")

    def fix(self, id: str = "a-bug", kind: str = "crash", **broken: str) -> Fix:
        """A fix that has no targets yet.

        Args:
            id: of the fix.
            kind: of the fix.
            broken: source of the module ``toys.toy`` with the broken definition, by qualified name; ``__`` for a dot.
        """
        file = self.folder / f"{id}.json"
        targets = {
            f"toys.toy:{name.replace('__', '.')}": {"broken": {digest_of(text, name.replace("__", ".")): ["1.0"]}}
            for name, text in broken.items()
        }
        file.write_text(json.dumps({"targets": targets}), encoding="utf-8")
        return Fix(id=id, title=id, kind=kind, evidence=file)

    def session(self, *fixes: Fix, **switches: Any) -> Session:
        """A session with these fixes enabled."""
        session = Session(Policy(**switches), Catalogue(fail, [entry(fix) for fix in fixes]))
        session.ensure_selected()
        return session


def entry(fix: Fix) -> Entry:
    """The catalogue's entry for a fix."""
    targets = {target.key: target.releases for target in fix.targets}
    return Entry(fix.id, fix.title, fix.kind, "", False, "", "2.0", targets, fix)


def digest_of(text: str, qualname: str) -> str:
    """The digest of a definition in a source."""
    definition = source.find(textwrap.dedent(text), qualname)
    assert definition is not None
    return source.digest(definition.node)


def handled(session: Session, name: str = "toys.toy") -> list[Outcome]:
    """Notify a session that a module was imported, and return the outcome."""
    session.module_imported(name)
    return list(session.outcomes().values())


def said(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    """The verdict and the state of each target."""
    return [(outcome.verdict.value, outcome.state.value) for outcome in outcomes]


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = set(sys.modules)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file rewritten within a second is compiled again
    monkeypatch.syspath_prepend(str(tmp_path))
    memo.forget()
    yield Lab(tmp_path)
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("toys", "theirs"):
            del sys.modules[name]
    memo.forget()
