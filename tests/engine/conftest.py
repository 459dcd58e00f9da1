"""A small world for tests that need no torch: a fake `transformers`, a planted fix, and its evidence.

Everything about imports happens in fresh interpreters, with `World.run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, overload

import pytest

from tools.toy import TOY

ROOT = Path(__file__).parents[2]

FIX = """
import ast
from hotfix.fix import Fix

FIX = Fix(id="toy-scale", title="scale adds", kind="silent", fixed_in="2.0", prefilter="def scale")

@FIX.replaces(("transformers.toy:scale", "==1.0"))
def scale(x, factor=2):
    return x * factor

@FIX.recognises
def is_broken(node):
    return any(isinstance(one, ast.Add) for one in ast.walk(node))
"""

PREAMBLE = """
import pathlib, hotfix.engine.catalogue, hotfix.versions.verdict
hotfix.engine.catalogue.INDEX = pathlib.Path({index!r})
hotfix.versions.verdict.EVIDENCE = pathlib.Path({folder!r})
"""


class World:
    """The first folder on the path of the interpreters that `run` starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fixes: dict[str, dict[str, object]] = {}
        self.package = folder / "transformers"
        self.write("transformers/__init__.py", '__version__ = "1.0"\n')
        self.write("transformers/toy.py", TOY)
        self.plant("toy-scale", FIX, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def plant(self, id: str, text: str, aims: dict[str, str], broken: dict[str, str], **facts: object) -> None:
        """Add a fix: its module, its line in the index, and evidence that the current source of `broken` is broken."""
        from hotfix.engine import index
        from hotfix.versions import source

        home = id.replace("-", "_")
        self.write(f"{home}.py", text)
        entry = {"title": id, "kind": "silent", "module": home, "optin": False, "group": "", "fixed_in": "2.0"}
        self.fixes[id] = {**entry, **facts, "targets": aims}
        targets = {}
        for key, qualname in broken.items():
            file = self.folder / (key.partition(":")[0].replace(".", "/") + ".py")
            definition = source.find(file.read_text(), qualname)
            assert definition is not None
            targets[key] = {"broken": {source.digest(definition.node): ["1.0"]}}
        self.write(f"evidence/{id}.json", json.dumps({"targets": targets}))
        self.write("evidence/index.json", index.render({"examined": {"transformers": []}, "fixes": self.fixes}))

    @overload
    def run(
        self,
        code: str,
        *,
        flags: tuple[str, ...] = (),
        path: tuple[str, ...] = (),
        planted: bool = True,
        check: bool = True,
        **env: str,
    ) -> subprocess.CompletedProcess[str]: ...

    # With `**switches` from a table: no type can express that none of their names is one of the above.
    @overload
    def run(self, code: str, **options: Any) -> subprocess.CompletedProcess[str]: ...

    def run(
        self,
        code: str,
        *,
        flags: tuple[str, ...] = (),
        path: tuple[str, ...] = (),
        planted: bool = True,
        check: bool = True,
        **env: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run code in a fresh interpreter and return its output."""
        done = subprocess.run(
            [sys.executable, *flags, str(self.script(code, planted))],
            env=self.environment(path, **env),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,  # one slow test works for 100 seconds by design; a process that hangs still fails
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done

    def script(self, code: str, planted: bool = True) -> Path:
        """A file with this code, which runs with only the fixes of this world."""
        preamble = PREAMBLE.format(index=str(self.folder / "evidence/index.json"), folder=str(self.folder / "evidence"))
        return self.write("script.py", (preamble if planted else "") + textwrap.dedent(code))

    def environment(self, path: tuple[str, ...] = (), **env: str) -> dict[str, str]:
        """The variables of a child; `path` comes first for its imports."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
        search = os.pathsep.join([*path, str(self.folder), str(ROOT), *_site_packages()])
        return {**kept, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1", **env}


def _site_packages() -> list[str]:
    """The folder of wrapt and packaging, which need not be the interpreter's own site-packages."""
    import packaging
    import wrapt

    return sorted({str(Path(module.__path__[0]).parent) for module in (packaging, wrapt)})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
