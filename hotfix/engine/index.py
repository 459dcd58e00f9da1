"""The index of the fixes, ``versions/evidence/index.json``: the facts that are needed before a fix is imported.

The sweep writes it as JSON, with one line for each target module and one for each fix. A process parses all of it: over
the import of a model, that is cheaper than finding single lines.

The file has a digest of its content. A process with a guard compares it: if an entry were missing, a fix would silently
not be applied.
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
    """The index.

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
            content = json.loads(path.read_text(encoding="utf-8"))
            self.examined: dict[str, list[str]] = content["examined"]
            self.kinds: dict[str, str] = content["kinds"]
            self.optin: frozenset[str] = frozenset(content["optin"])
            self.groups: dict[str, str] = content["groups"]
            self._modules: dict[str, list[str]] = content["modules"]
            self._fixes: dict[str, dict[str, Any]] = content["fixes"]
            if self._fixes.keys() != self.kinds.keys():
                different = sorted(self._fixes.keys() ^ self.kinds.keys())
                raise ValueError(f"it lists fixes that have no entry, or the reverse ({', '.join(different)})")
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            reason = f"{path} cannot be read as the index of the fixes: {type(error).__name__}: {error}."
            raise ValueError(f"{reason} Reinstall hotfix.") from error

    def check(self) -> None:
        """Compare the index with its digest.

        Raises:
            ValueError: it is not the index that the sweep has written.
        """
        text = self._path.read_text(encoding="utf-8")
        digest = json.loads(text).get("digest")
        if not isinstance(digest, str) or digest != _digest(text, digest):
            raise ValueError(f"{self._path} was edited, or is incomplete: its digest does not match. Reinstall hotfix.")

    @property
    def modules(self) -> Collection[str]:
        """The names and patterns of the modules that have targets."""
        return self._modules.keys()

    def aiming_at(self, module: str) -> list[str]:
        """The ids of the fixes with a target in a module of this name or pattern."""
        return self._modules.get(module, [])

    def facts(self, id: str) -> dict[str, Any]:
        """The facts about one fix."""
        return self._fixes[id]


def render(content: Mapping[str, Any]) -> str:
    """The text of the file.

    Args:
        content: ``examined``, ``fixes``, and further entries. Entries that follow from the fixes are rebuilt.
    """
    content = {**completed(content), "digest": ""}
    fixes, modules = content.pop("fixes"), content.pop("modules")
    head = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    text = f"{{\n{head}{_MODULES}{_lines(modules)}{_FIXES}{_lines(fixes)}{_END}"
    return text.replace('"digest": ""', f'"digest": "{_digest(text)}"', 1)


def _digest(text: str, present: str = "") -> str:
    """Digest of the text of an index without its digest, or with the one that is present."""
    import hashlib  # only a process with a guard needs it

    return hashlib.sha256(text.replace(f'"digest": "{present}"', '"digest": ""', 1).encode()).hexdigest()


def _lines(content: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())


def completed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The whole content of the file, with the entries that follow from the fixes before them."""
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
