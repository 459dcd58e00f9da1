"""Switches from a file: ``HOTFIX_CONFIG=/absolute/path.toml``.

The file has the switches under their names without ``HOTFIX_``, in lower case (``skip``, ``log-format``; ``enabled``
for ``HOTFIX``), in the table ``[tool.hotfix]`` or at its top. A variable overrides the file. hotfix reads no file from
a working directory, because anyone who can write there could switch a repair off.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from .._support.words import PATH, shown
from ..errors import PolicyError

VARIABLE = "HOTFIX_CONFIG"
_GUARDS = ("strict", "require", "pin")


def key_of(variable: str) -> str:
    """The name of a switch in a file: ``skip`` for ``HOTFIX_SKIP``."""
    return variable[len("HOTFIX_") :].lower().replace("_", "-") if variable != "HOTFIX" else "enabled"


def of_file(environment: Mapping[str, str], variables: Iterable[str]) -> dict[str, str]:
    """The switches that the file sets, as variables; none if there is no file.

    Args:
        environment: has `VARIABLE` if there is a file.
        variables: all switches.

    Raises:
        PolicyError: the file cannot be read, or has a key that is not a switch.
    """
    path = environment.get(VARIABLE, "").strip()
    if not path:
        return {}
    document = _document(path)
    table = _table(document)
    if not isinstance(table, dict):
        raise PolicyError(f"{VARIABLE}={shown(path, PATH)}: tool.hotfix must be a table; write [tool.hotfix]")
    names = {key_of(variable): variable for variable in variables if variable != VARIABLE}
    values = {}
    for key, value in table.items():
        if key == "scan":
            continue  # for `hotfix scan`
        if key not in names:
            known = ", ".join(sorted(names))
            raise PolicyError(f"{VARIABLE}={shown(path, PATH)}: {shown(key)!r} is not a setting; known are {known}")
        values[names[key]] = _text(value, f"{VARIABLE}={shown(path, PATH)}: {shown(key)}")
    return values


def may_have_guards(environment: Mapping[str, str]) -> bool:
    """Whether an unreadable settings file may set a guard.

    In a TOML document its keys decide, also those at its top; in any other file, every occurrence of a guard's name.
    """
    import re

    path = environment.get(VARIABLE, "").strip()
    try:
        text = _content(path)
    except OSError:
        return False
    if len(text) > _LIMIT:
        return True
    text = text.replace(b"\0", b"")  # leaves the letters of UTF-16
    words = set(re.findall(rb"[a-z-]+", text))
    with suppress(PolicyError):
        document = _document(path)
        table = _table(document)
        words = {key.encode() for key in (*document, *(table if isinstance(table, dict) else ()))}
    return not words.isdisjoint(guard.encode() for guard in _GUARDS)


def _document(path: str) -> dict[str, Any]:
    if not os.path.isabs(path):
        raise PolicyError(f"{VARIABLE}={shown(path, PATH)}: this must be an absolute path")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise PolicyError(
                f"{VARIABLE}={shown(path, PATH)}: reading TOML needs tomli on this Python: pip install tomli"
            ) from None
    try:
        # Editors on Windows put a byte order mark before it.
        content = _content(path)
        if len(content) > _LIMIT:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        document: dict[str, Any] = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise PolicyError(f"{VARIABLE}={shown(path, PATH)}: {error.strerror}; correct the path, or unset it") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, nested too deep
        raise PolicyError(f"{VARIABLE}={shown(path, PATH)}: not TOML: {error}; correct the file") from error
    return document


def _content(path: str) -> bytes:
    """A file up to a byte more than `_LIMIT`; a pipe would block the program, and a device may have no end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    with open(path, "rb") as file:
        return file.read(_LIMIT + 1)


_LIMIT = 1024 * 1024  # bytes; more than any list of fixes


def _table(document: dict[str, Any]) -> object:
    tool = document.get("tool")
    return tool.get("hotfix", {}) if isinstance(tool, dict) else document


def _text(value: object, where: str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if not isinstance(value, str):
        raise PolicyError(f"{where}: this must be a string, true or false, or a list of strings")
    return value
