"""``hotfix run -- COMMAND``: run a command with hotfix armed in every Python process that it starts.

For places where nothing can be installed. A folder with a ``sitecustomize.py`` comes first in ``PYTHONPATH``, and the
command replaces this process: it has the same process number, exit status, signals and standard input.

The settings, ``HOTFIX...``, follow that folder as an entry of ``PYTHONPATH`` that names no folder. So a process that
inherits only ``PYTHONPATH``, on another host for instance, still gets them. The entry needs no quoting in a shell.

Limits. Processes that inherit the environment are reached: launchers, workers, engine cores. ``python -I``, ``-E`` and
``-S`` are not, nor are children with an empty environment; the distribution ``transformers-hotfix-autoload`` reaches
the first, the second and the last of these.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ..errors import HotfixError

FOLDER = Path(__file__).resolve().parent / "startup"
AUDIT_FOLDER = FOLDER.with_name("startup_audit")
_HOME = Path(__file__).resolve().parents[2]
_WINDOWS = sys.platform == "win32"


def run(command: Sequence[str]) -> NoReturn:
    """Replace this process by a command, with hotfix armed in every Python process of the command.

    Args:
        command: the program and its arguments; the program is looked for on the PATH.

    Raises:
        HotfixError: there is no such program, or it cannot be executed.
    """
    if not command:
        raise HotfixError("the command is missing; for instance: hotfix run -- torchrun train.py")
    sys.stdout.flush()
    sys.stderr.flush()
    variables = environment(os.environ)
    try:
        if _WINDOWS:
            # There, exec makes another process and does not wait for it: the shell would go on, with exit status 0.
            import subprocess

            raise SystemExit(subprocess.run(list(command), env=variables, check=False).returncode)
        os.execvpe(command[0], list(command), variables)
    except OSError as error:
        raise NotRun(command[0], error) from error


class NotRun(HotfixError):
    """The command could not replace this process; `status` is the exit status that a shell would give."""

    def __init__(self, program: str, error: OSError) -> None:
        # A script without its interpreter, which most often is Python.
        python = f"; did you mean `python {program}`?" if program.endswith(".py") and os.path.isfile(program) else ""
        super().__init__(f"{program}: {error.strerror if not python else 'not a program'}{python}")
        self.status = 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126


def environment(current: Mapping[str, str], audit: bool = False) -> dict[str, str]:
    """The environment variables for the command.

    Args:
        current: those of this process.
        audit: whether its processes may only observe; processes started inside an audit belong to it.

    Raises:
        HotfixError: hotfix lies in a folder that PYTHONPATH cannot have.
    """
    if os.pathsep in str(FOLDER):
        raise HotfixError(
            f"PYTHONPATH cannot have {FOLDER}, which has a {os.pathsep!r} in it: no process would be armed; install "
            "hotfix elsewhere, or transformers-hotfix-autoload into the environment"
        )
    ours = (str(FOLDER), str(AUDIT_FOLDER))
    folders = [folder for folder in current.get("PYTHONPATH", "").split(os.pathsep) if folder]
    first = AUDIT_FOLDER if audit or str(AUDIT_FOLDER) in folders else FOLDER
    others = [folder for folder in folders if not folder.startswith(ours)]
    folders = [str(first), *_settings(first, current), *others]
    home = str(_HOME)
    if not _is_installed() and home not in folders:
        folders.append(home)  # hotfix lies in a folder that only this process has on its path
    return {**current, "PYTHONPATH": os.pathsep.join(folders)}


def _settings(folder: Path, variables: Mapping[str, str]) -> list[str]:
    """The entry of PYTHONPATH that carries the settings, if there are any; read by ``startup/sitecustomize.py``."""
    settings = {name: value for name, value in sorted(variables.items()) if _is_ours(name)}
    if not settings:
        return []
    return [os.path.join(folder, "with", "/".join(f"{name}={_encoded(value)}" for name, value in settings.items()))]


def _is_ours(name: str) -> bool:
    """Whether a variable may be a setting; a name that is not a word would make another entry of PYTHONPATH."""
    return name.startswith("HOTFIX") and name.isidentifier() and name.isascii()


def _encoded(value: str) -> str:
    """A value in which a plus sign and two digits represent each byte but letters, digits, and ``._-``."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
    return "".join(chr(byte) if byte in plain else f"+{byte:02X}" for byte in os.fsencode(value))


def _is_installed() -> bool:
    """Whether hotfix is in a folder that Python searches by default, so that child processes find it, too."""
    import sysconfig

    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    try:
        import site

        places += [*site.getsitepackages(), site.getusersitepackages()]
    except AttributeError:  # some embedded interpreters have no such functions
        pass
    return any(Path(place).resolve() == _HOME for place in places)
