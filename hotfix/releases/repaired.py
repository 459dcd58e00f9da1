"""What the command has to know of every repaired bug at once, so that it imports no fix to find one by its message.

``repaired.json`` is written by ``python -m tools.sweep --index`` from the declarations of the fixes: the errors that
they declare, the messages that follow from the names that they add, what they need, and where upstream speaks of it.

The standard library only. A fix that is not in the file, that of a plugin for instance, is asked itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.memo import memo

if TYPE_CHECKING:
    from ..engine.entry import Entry
    from ..fix import Fix, Target

FILE = Path(__file__).with_suffix(".json")


class Facts(NamedTuple):
    """What a fix declares.

    Attributes:
        errors: as in `Fix`.
        names: the messages that follow from the names that it adds.
        needs: as in `Fix`.
        upstream: as in `Fix`.
    """

    errors: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    needs: Mapping[str, str] = {}
    upstream: tuple[str, ...] = ()


def facts(entry: Entry) -> Facts:
    """What a fix declares, from the file where that has it.

    Args:
        entry: of the fix.
    """
    found = _file().get(entry.id) if entry.fix is None else None
    if found is None:
        return facts_of(entry.load())
    errors, names, upstream = (tuple(found.get(name, ())) for name in ("errors", "names", "upstream"))
    return Facts(errors, names, found.get("needs", {}), upstream)


def facts_of(fix: Fix) -> Facts:
    """The same, from the fix itself."""
    added = (message for target in fix.targets if target.method == "add" for message in _messages_without(target))
    return Facts(fix.errors, tuple(dict.fromkeys(added)), dict(fix.needs), fix.upstream)


def rendered(fixes: Mapping[str, Fix]) -> str:
    """The text of the file.

    Args:
        fixes: all of them, by the name of the module.
    """
    every = {fix.id: facts_of(fix)._asdict() for fix in fixes.values()}
    lines = (
        f" {json.dumps(id)}: {json.dumps({name: value for name, value in one.items() if value}, ensure_ascii=False)}"
        for id, one in sorted(every.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


# ----------------------------------------------------------------------------------------------------------------------


def _messages_without(target: Target) -> Iterator[str]:
    """What is raised where a name is asked for that a release does not have."""
    module, name = target.module, target.qualname
    task = re.fullmatch(r"SUPPORTED_TASKS\['(.+)'\]", name)
    key = re.fullmatch(r"\w+\['(.+)'\]", name)
    owner, _, attribute = name.rpartition(".")
    if task:
        yield f'KeyError: "Unknown task {task[1]}, available tasks are […]"'
        yield f"KeyError: 'The task {task[1]} has been removed from transformers. …'"
    elif key:
        yield f"KeyError: '{key[1]}'"
    elif owner:
        yield f"AttributeError: '{owner}' object has no attribute '{attribute}'"
    else:
        if target.implementation.is_module:
            yield f"ModuleNotFoundError: No module named '{module}.{name}'"
        yield f"ImportError: cannot import name '{name}' from '{module}'"


@memo
def _file() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return found
