"""The index of the fixes, ``versions/evidence/index.json``: what is known of them before their modules are imported.

The sweep writes it. It is JSON with one line for each fix below a head, and a process reads the head and the lines of
the few fixes that aim at what it imports: whoever imports transformers does not pay for every fix that there is. What
the head says by module and by kind is taken from the lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FIXES = ',\n "fixes": {\n'
_END = "\n }\n}\n"


class Index:
    """The index, as far as it was asked for.

    Args:
        path: the file.

    Attributes:
        examined: the examined releases of each package, oldest first.
        kinds: the kind of each fix, by id.
        optin: the group of each fix that is off by default, by id; empty for one without.
        modules: the ids of the fixes that aim at a module, by its name or pattern.

    Raises:
        ValueError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        try:
            head, mark, lines = path.read_text(encoding="utf-8").partition(_FIXES)
            if not (mark and lines.endswith(_END)):
                raise ValueError("it is not laid out as the sweep writes it")
            known = json.loads(f"{head}}}")
            self.examined: dict[str, list[str]] = known["examined"]
            self.kinds: dict[str, str] = known["kinds"]
            self.optin: dict[str, str] = known["optin"]
            self.modules: dict[str, list[str]] = known["modules"]
            each = [line for line in lines[: -len(_END)].split(",\n") if line]
            if len(each) != len(self.kinds):
                raise ValueError("its head is of other fixes than its lines")
            self._lines = dict(zip(self.kinds, each))
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{path} cannot be read as the index of the fixes: {error}") from error

    def facts(self, id: str) -> dict[str, Any]:
        """What it says of one fix.

        Raises:
            KeyError: it has no such fix.
        """
        facts: dict[str, Any] = json.loads(f"{{{self._lines[id]}}}")[id]
        return facts


def render(content: Mapping[str, Any]) -> str:
    """The text of the file.

    Args:
        content: ``examined``, ``fixes``, and what else stands in the head. What is taken from the fixes is made anew.
    """
    content = completed(content)
    fixes = content.pop("fixes")
    head = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    lines = ",\n".join(f"  {json.dumps(id)}: {json.dumps(fix)}" for id, fix in fixes.items())
    return f"{{\n{head}{_FIXES}{lines}{_END}"


def completed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The whole content of the file: what is taken from the fixes stands before them."""
    fixes: Mapping[str, Any] = content.get("fixes", {})
    modules: dict[str, list[str]] = {}
    for id, fix in fixes.items():
        for module in dict.fromkeys(key.partition(":")[0] for key in fix["targets"]):
            modules.setdefault(module, []).append(id)
    return {
        **{name: value for name, value in content.items() if name != "fixes"},
        "kinds": {id: fix["kind"] for id, fix in fixes.items()},
        "optin": {id: fix["group"] for id, fix in fixes.items() if fix["optin"]},
        "modules": dict(sorted(modules.items())),
        "fixes": fixes,
    }
