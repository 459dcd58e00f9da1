"""The index of the fixes, ``versions/evidence/index.json``: what is known of them before their modules are imported.

The sweep writes it. It is JSON with one line for each module at which fixes aim and one for each fix, and a process
reads the lines that it needs: whoever imports transformers does not pay for every fix that there is.

Its head has a digest of all the rest. A process with a guard on compares it: a line that is missing would be a fix that
is not applied and of which nobody hears.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

_MODULES = ',\n "modules": {\n'
_FIXES = '\n },\n "fixes": {\n'
_END = "\n }\n}\n"


class Index:
    """The index, as far as it was asked for.

    Args:
        path: the file.

    Attributes:
        examined: the examined releases of each package, oldest first.
        kinds: the kind of each fix, by id.
        optin: the ids of the fixes that are off by default.
        groups: the group of each fix that has one, by id.

    Raises:
        ValueError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            head, _, lines = path.read_text(encoding="utf-8").partition(_MODULES)
            modules, _, fixes = lines.partition(_FIXES)
            if not fixes.endswith(_END):
                raise ValueError("it is not laid out as the sweep writes it")
            known = json.loads(f"{head}}}")
            self.examined: dict[str, list[str]] = known["examined"]
            self.kinds: dict[str, str] = known["kinds"]
            self.optin: frozenset[str] = frozenset(known["optin"])
            self.groups: dict[str, str] = known["groups"]
            self._modules = _by_name(modules)
            self._fixes = _by_name(fixes[: -len(_END)])
            if self._fixes.keys() != self.kinds.keys():
                raise ValueError("its head is of other fixes than its lines")
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{path} cannot be read as the index of the fixes: {error}") from error

    def check(self) -> None:
        """Compare the index with its digest.

        Raises:
            ValueError: it is not what the sweep has written.
        """
        text = self._path.read_text(encoding="utf-8")
        digest = json.loads(f"{text.partition(_MODULES)[0]}}}").get("digest")
        if not isinstance(digest, str) or digest != _digest(text, digest):
            raise ValueError(f"{self._path} was edited, or is incomplete: its digest is another one. Reinstall hotfix.")

    @property
    def modules(self) -> Collection[str]:
        """The names and patterns of the modules at which fixes aim."""
        return self._modules.keys()

    def aiming_at(self, module: str) -> list[str]:
        """The ids of the fixes that aim at a module of this name or pattern."""
        ids: list[str] = json.loads(self._modules.get(module, "[]"))
        return ids

    def facts(self, id: str) -> dict[str, Any]:
        """What it says of one fix."""
        facts: dict[str, Any] = json.loads(self._fixes[id])
        return facts


def _by_name(lines: str) -> dict[str, str]:
    """What stands in each line, unread, by the name before it."""
    pairs = (line.partition('": ') for line in lines.split(",\n") if line)
    return {name.lstrip(' "'): value for name, _, value in pairs}


def render(content: Mapping[str, Any]) -> str:
    """The text of the file.

    Args:
        content: ``examined``, ``fixes``, and what else stands in the head. What is taken from the fixes is made anew.
    """
    content = {**completed(content), "digest": ""}
    fixes, modules = content.pop("fixes"), content.pop("modules")
    head = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    text = f"{{\n{head}{_MODULES}{_lines(modules)}{_FIXES}{_lines(fixes)}{_END}"
    return text.replace('"digest": ""', f'"digest": "{_digest(text)}"', 1)


def _digest(text: str, present: str = "") -> str:
    """Digest of the text of an index in which no digest stands, or the one that is present."""
    import hashlib  # for a process with a guard on

    return hashlib.sha256(text.replace(f'"digest": "{present}"', '"digest": ""', 1).encode()).hexdigest()


def _lines(content: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())


def completed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The whole content of the file: what is taken from the fixes stands before them."""
    fixes: Mapping[str, Any] = content.get("fixes", {})
    modules: dict[str, list[str]] = {}
    for id, fix in fixes.items():
        for module in dict.fromkeys(key.partition(":")[0] for key in fix["targets"]):
            modules.setdefault(module, []).append(id)
    derived = ("kinds", "optin", "groups", "digest", "modules", "fixes")
    return {
        **{name: value for name, value in content.items() if name not in derived},
        "kinds": {id: fix["kind"] for id, fix in fixes.items()},
        "optin": [id for id, fix in fixes.items() if fix["optin"]],
        "groups": {id: fix["group"] for id, fix in fixes.items() if fix["group"]},
        "modules": dict(sorted(modules.items())),
        "fixes": fixes,
    }
