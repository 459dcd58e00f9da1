"""Fixes from other packages, through the entry point group ``hotfix.fixes``.

A package declares, for instance in its ``pyproject.toml``::

    [project.entry-points."hotfix.fixes"]
    attention = "my_package.fixes:FIX"

where the object is a `hotfix.Fix` or a list of them. The fix ``some-bug`` of the distribution ``my-package`` has the id
``my-package:some-bug`` everywhere: in the switches, in the ledger, in the digest. Its module is imported together with
``transformers``, so it should import nothing heavy at its top.

Nothing of this happens at start-up: the catalogue looks for plugins when the first watched package is imported. It
reads the ``entry_points.txt`` files directly. ``importlib.metadata`` takes 50 to 75 ms in an environment of 300
packages, ten times as long.

Only installed packages count, and packages in a folder that PYTHONPATH names; nothing is loaded from the working
directory.

If importing a plugin takes longer than `_SECONDS`, a line on stderr names it, so that the user can find one that hangs.

Limits. Plugins in zip files are not found. Modules outside ``transformers`` that a plugin repairs must be imported
after ``transformers``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Callable

from .._support.words import PATH, described, shown
from ..errors import HotfixError
from ..versions.installed import normal
from .entry import Entry

if TYPE_CHECKING:
    from ..fix import Fix

GROUP = "hotfix.fixes"
_SECONDS = 10.0


def entries(warn: Callable[[str], None]) -> dict[str, Entry]:
    """The fixes of all plugins, by full id. A plugin that fails is reported and skipped.

    Args:
        warn: takes a sentence; its errors are not caught.
    """
    entries_by_id: dict[str, Entry] = {}
    for distribution, name, value in declared(warn):
        try:
            with _named_if_it_hangs(f"{name} = {value} of {distribution}"):
                fixes = _fixes(value)
            for fix in fixes:
                entry = _entry(distribution, fix, value)
                if entry.id in entries_by_id:
                    raise ValueError(f"two fixes called {entry.id}; rename one of them")
                entries_by_id[entry.id] = entry
        except (HotfixError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a plugin must not end the program; the skips of pytest are no Exception
            warn(
                f"the plugin {shown(f'{name} = {value} of {distribution}', PATH)} is left out ({described(error)}); "
                f"upgrade it, or report the error to its authors"
            )
    return entries_by_id


def declared(warn: Callable[[str], None]) -> Iterator[tuple[str, str, str]]:
    """Distribution, name and value of each entry point in the group, without importing anything.

    Args:
        warn: takes a sentence for each distribution whose entry points cannot be read.
    """
    installed: list[str] = []
    for folder in dict.fromkeys(folder for folder in sys.path if isinstance(folder, str)):  # as the import system
        if _is_working_directory(folder):
            continue
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith("-info"))  # dist-info, egg-info
        except OSError:  # a zip file, or a folder that does not exist
            continue
        for name in names:
            installed.append(name)
            try:
                # Without buffering and decoding, in half the time: there may be hundreds, and most do not concern us.
                with open(os.path.join(folder, name, "entry_points.txt"), "rb", buffering=0) as file:
                    content = file.read()
            except OSError:  # most have none
                continue
            if GROUP.encode() not in content:
                continue
            distribution = _distribution(name)
            if distribution in map(_distribution, installed[:-1]):  # as for modules, the first on sys.path counts
                continue
            try:
                pairs = _section(content.decode(errors="replace"))
            except ValueError as error:
                warn(f"the entry points of {distribution} cannot be read ({error}); reinstall it")
                continue
            yield from ((distribution, *pair) for pair in pairs)


# ---------------------------------------------------------------------------------------------------------------------
# Below: one plugin.


@contextmanager
def _named_if_it_hangs(plugin: str) -> Iterator[None]:
    """Name a plugin on stderr if the block takes longer than `_SECONDS`; the program waits anyway."""
    from threading import Timer  # here, because most environments have no plugin

    def tell() -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"hotfix: still importing the plugin {plugin}, since {_SECONDS:g} seconds\n")

    timer = Timer(_SECONDS, tell)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # no more threads
        timer.cancel()
    try:
        yield
    finally:
        timer.cancel()


def _distribution(metadata: str) -> str:
    return normal(metadata.rpartition(".")[0].partition("-")[0])


def _is_working_directory(folder: str) -> bool:
    """Whether a folder is on the path only because the program was started there; its packages are not installed."""
    if not os.path.isabs(folder):
        return True
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    started = [os.environ.get("PWD", "")]
    with suppress(OSError):  # it may have been removed
        started.append(os.getcwd())
    return folder in started and folder not in named


def _section(text: str) -> list[tuple[str, str]]:
    import configparser  # here, because most environments have no plugin

    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names are case-sensitive
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    return parser.items(GROUP) if parser.has_section(GROUP) else []


def _fixes(value: str) -> list[Fix]:
    from ..fix import Fix  # here, as `configparser` below

    module, _, attribute = value.partition("[")[0].replace(" ", "").partition(":")
    named = reduce(getattr, attribute.split("."), import_module(module)) if attribute else import_module(module)
    fixes = [named] if isinstance(named, Fix) else list(named)
    for fix in fixes:
        if not isinstance(fix, Fix):
            raise TypeError(f"{fix!r} is not a hotfix.Fix; name a Fix, or a list of them, in the entry point")
        if not fix.targets:
            raise ValueError(f"{fix.id} has no targets; declare them with replaces, edits, wraps or adds")
        if not _is_id(fix.id):
            raise ValueError(f"{shown(fix.id)!r} is no id: use at most 100 letters, digits and -._, without spaces")
        if ":" in fix.id:
            raise ValueError(f"{fix.id}: an id has no colon; hotfix puts the name of the distribution in front of it")
    return fixes


def _is_id(id: str) -> bool:
    """Whether a user can write an id in a switch, and a line can have it."""
    return id.isprintable() and 0 < len(id) <= _LONGEST and not set(id) & set(" ,*?[]!")


_LONGEST = 100


def _entry(distribution: str, fix: Fix, value: str) -> Entry:
    fix = replace(fix, id=f"{distribution}:{fix.id}")
    return Entry(
        id=fix.id,
        title=fix.title,
        kind=fix.kind,
        module=value.partition(":")[0],
        optin=bool(fix.optin),
        group=fix.group,
        fixed_in=fix.fixed_in,
        targets={target.key: target.releases for target in fix.targets},
        fix=fix,
    )
