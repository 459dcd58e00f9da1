"""A toy release with one bug, and a plugin that repairs it: the smallest way to see whether hotfix is loaded."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "transformers/__init__.py": '__version__ = "0.0.1"\n',
    "transformers/models/__init__.py": "",
    "transformers/models/toy.py": 'def answer():\n    return "broken"\n',
    "transformers/models/other.py": 'def answer():\n    return "broken"\n',
    "toy_fixes.py": """
from hotfix.fix import Fix

FIX = Fix(id="toy", title="The toy is broken", kind="crash", matcher_decides=True)


@FIX.replaces("transformers.models.toy:answer")
def answer():
    return "fixed"


@FIX.recognises
def is_broken(node):
    return True
""",
    "toy_fixes-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy-fixes\nVersion: 1.0\n",
    "toy_fixes-1.0.dist-info/entry_points.txt": "[hotfix.fixes]\ntoy = toy_fixes:FIX\n",
}

SAY = "from transformers.models.toy import answer; print(answer(), flush=True)"
"""Prints "broken" or "fixed"."""


def plant(folder: Path) -> None:
    """Put the toy and the plugin into a folder that is on the path."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
