"""Results stay valid if only the digest of a fix has changed, not its code: ``python -m tools.moved REVISION``.

The matrix and the deviations store with each result the digest of the fix and of its case; the draws store that of the
trigger and of the draw (`tools.studies.agreement`). If the computation of these digests changes
(`hotfix.reports.digest`), every digest changes. This moves a result to the current digest if

- its digest is that of the files of REVISION, computed as in REVISION, and
- the current computation, with local variables numbered (`tools.locals`), gives the same digest for the files of
  REVISION and for the current ones.

`tools.matrix` runs all other results again. After a merge, run this once for each parent with results of its own.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
WAY = "hotfix/reports/digest.py"
DRAWS = "draws of "  # before the id of a fix
LOCALS = Path(__file__).with_name("locals.py")

_ASK = """
import ast
import importlib.util
import inspect
import json
import sys
import textwrap
from types import SimpleNamespace

from hotfix.versions import source
from tools import evidence, matrix
from tools.studies import agreement, draws

if sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("_locals", sys.argv[1])  # another tree has no such file
    numbered = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(numbered)
    canonical = source.canonical
    source.canonical = lambda tree: canonical(numbered.without_names(tree))

    def without_names(function):
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        tree.body[0].body = source.without_docstring(tree.body[0].body)
        return ast.dump(numbered.without_names(tree))

    agreement.inspect = SimpleNamespace(getsource=without_names)
modules = evidence.discover(lambda problem: None, proofs=True)
digests = {fix.id: matrix._digest_of(module) for module, fix in modules.items()}
units = [agreement.Unit(fix, module, (), ()) for module, fix in modules.items() if fix.id in draws.load()]
digests.update({DRAWS + unit.fix.id: agreement.text_of(unit) for unit in units})
print(json.dumps(digests))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.moved", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("revision", help="a commit whose results are good")
    parser.add_argument("--list", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    now, now_numbered = digests(ROOT), digests(ROOT, numbered=True)
    with TemporaryDirectory() as folder:
        there = Path(folder)
        _unpack(options.revision, there)
        before = digests(there)
        shutil.copy(ROOT / WAY, there / WAY)
        then_numbered = digests(there, numbered=True)
    same = {id for id in now if id in before and then_numbered[id] == now_numbered[id]}
    moves = {id: (before[id], now[id]) for id in sorted(same) if now[id] != before[id]}
    changed = sorted(now.keys() & before.keys() - same)
    count = 0 if options.list else move(moves, DATA)
    print(f"{len(moves)} fixes, or draws of a fix, have another digest and the same code; {count} results were moved.")
    print(f"{len(changed)} have other code: {', '.join(changed) or 'none'}")
    return 0


def digests(tree: Path, numbered: bool = False) -> dict[str, str]:
    """The digest of each fix with its case, and of its trigger with its draws, as computed by a tree.

    Args:
        tree: the root of a checkout.
        numbered: whether local variables count only by their number.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    asked = subprocess.run(
        [sys.executable, "-c", _ASK.replace("DRAWS", repr(DRAWS)), *([str(LOCALS)] if numbered else [])],
        cwd=tree,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    digests: dict[str, str] = json.loads(asked.stdout)
    return digests


def move(moves: Mapping[str, tuple[str, str]], data: Path) -> int:
    """Write new digests in place of old ones; returns how many.

    Args:
        moves: old and new digest by the id of the fix, or by that after `DRAWS`.
        data: the folder of the results; each file in its folders is of one fix.
    """
    count = _move_draws(moves, data / "agreement.json")
    for id, (old, new) in moves.items():
        # A deviation has its own digest, after that of the fix.
        for file, ends in ((data / "matrix" / f"{id}.json", '"'), (data / "deviations" / f"{id}.json", " ")):
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                count += text.count(f'"{old}{ends}')
                file.write_text(text.replace(f'"{old}{ends}', f'"{new}{ends}'), encoding="utf-8")
    return count


def _move_draws(moves: Mapping[str, tuple[str, str]], file: Path) -> int:
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    count = 0
    for id, (old, new) in moves.items():
        if id.startswith(DRAWS):
            count += text.count(f'"text": "{old}"')  # of this fix only: the digest includes its trigger and its draw
            text = text.replace(f'"text": "{old}"', f'"text": "{new}"')
    if count:
        file.write_text(text, encoding="utf-8")
    return count


def _unpack(revision: str, folder: Path) -> None:
    packed = subprocess.run(["git", "archive", revision, "hotfix", "tools"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")


if __name__ == "__main__":
    raise SystemExit(main())
