"""Checkpoints that real releases have written, and what other real releases load from them without hotfix."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.studies import reading_child
from tools.testbed import overlay
from tools.testbed.run import run_script

WRITE = """
import sys
from pathlib import Path
from tools.studies import reading_child
reading_child.FAMILIES = {name: reading_child.FAMILIES[name] for name in sys.argv[2:]}
reading_child.write(Path(sys.argv[1]))
"""


def written_by(release: str, families: Sequence[str]) -> list[Path]:
    """Folders with a checkpoint of each family, as saved by a release. They are kept next to the releases of the
    testbed, under the digest of the code that wrote them.

    Args:
        release: of transformers.
        families: names in `reading_child.FAMILIES`.
    """
    digest = hashlib.sha256(Path(str(reading_child.__file__)).read_bytes()).hexdigest()[:12]
    kept = overlay.cache() / "checkpoints" / digest / release
    missing = [name for name in families if not (kept / name).is_dir()]
    if missing:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".partial-") as folder:
            run_script("-c", [WRITE, folder, *missing], transformers=release, flash_attn=None, timeout=600).require()
            for name in missing:
                with contextlib.suppress(FileExistsError):  # another process was faster; its result is equal
                    Path(folder, name).rename(kept / name)
    return [kept / name for name in families]


def read_by(release: str, checkpoints: Sequence[Path]) -> dict[str, dict[str, str]]:
    """How a release loads checkpoints: for each, by ``writer/family``, its results for model and tokenizer.

    Args:
        release: of transformers.
        checkpoints: folders that `written_by` has made.
    """
    with tempfile.TemporaryDirectory() as folder:
        for checkpoint in checkpoints:
            shutil.copytree(checkpoint, Path(folder, "in", checkpoint.parent.name, checkpoint.name))
        output = Path(folder, "results.json")
        arguments = ["tools.studies.reading_child", "read", str(Path(folder, "in")), str(output)]
        run_script("-m", arguments, transformers=release, flash_attn=None, timeout=900).require()
        seen: dict[str, dict[str, str]] = json.loads(output.read_text())
        return seen
