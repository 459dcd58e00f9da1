"""Every Python process below `hotfix run` imports this file at its start. It arms hotfix, then runs the user's own one.

Python imports only the first ``sitecustomize`` that it finds. This one comes first, so it must do for the one that it
hides exactly what Python would have done: import it, and let its errors be reported as usual.

Some launchers pass PYTHONPATH on to a child and drop other variables. PYTHONPATH therefore has the settings of the
command as well, as an entry that names no folder (`hotfix.commands.launch`), and a process sets the lost variables
again. A variable that it still has is stronger, unless it would weaken a guard or turn an audit into a repair.

`hotfix audit` has a folder of its own, next to this one, which executes this file. A process that has that folder in
its PYTHONPATH observes and never repairs.

Nothing is imported here that a bare interpreter has not loaded. Limits: ``python -I``, ``-E`` and ``-S``, and children
whose environment was emptied, do not look at PYTHONPATH and never come here.
"""

import os
import sys

# A value that the command had cannot be switched off below it.
_KEPT = ("HOTFIX_STRICT", "HOTFIX_PIN", "HOTFIX_CONFIG")
_KEPT_VALUES = {"HOTFIX_MODE": "observe", "HOTFIX_UNKNOWN": "raise"}


def _settings(folder: str, folders: "list[str]") -> "dict[str, str]":
    """The switches of the command that was given a start-up folder, as its PYTHONPATH says."""
    begin = os.path.join(folder, "with", "")
    settings = {}
    for entry in folders:
        if entry.startswith(begin):
            for setting in entry[len(begin) :].split("/"):
                name, _, value = setting.partition("=")
                settings[name] = _decoded(value)
    return settings


def _decoded(value: str) -> str:
    """Decode a value in which a plus sign and two digits encode a byte."""
    first, *rest = value.split("+")
    return os.fsdecode(first.encode() + b"".join(bytes([int(part[:2], 16)]) + part[2:].encode() for part in rest))


def _restore(settings: "dict[str, str]", observes: bool) -> None:
    """Set the variables that this process should have."""
    changed = False
    for name, value in settings.items():
        own = os.environ.get(name)
        if own is not None and name == "HOTFIX_REQUIRE" and value:
            value = ",".join(dict.fromkeys(part for part in f"{value},{own}".split(",") if part))
        elif own is not None:
            keeps = (name in _KEPT and value not in ("", "0")) or _KEPT_VALUES.get(name) == value
            if not keeps and not (observes and name == "HOTFIX_RECORD"):
                continue
        if own != value:
            os.environ[name], changed = value, True
    if observes and os.environ.get("HOTFIX_MODE") != "observe":
        os.environ["HOTFIX_MODE"], changed = "observe", True
    if changed:  # the start-up file of a wheel comes before this one, and has read the variables
        for finder in [finder for finder in sys.meta_path if getattr(finder, "is_hotfix", False)]:
            finder.armed = False  # type: ignore[attr-defined]
            sys.meta_path.remove(finder)


def _arm(folder: str) -> None:
    """Arm hotfix by the place of its file, so that another module called ``hotfix`` is not in the way."""
    if os.environ.get("HOTFIX") == "0":
        return
    path = os.path.join(os.path.dirname(os.path.dirname(folder)), "watch.py")
    if not os.path.isfile(path):  # in a zip file
        import hotfix.watch as watch
    else:
        from _frozen_importlib_external import SourceFileLoader

        watch = type(sys)("hotfix.watch")
        watch.__file__, watch.__package__ = path, "hotfix"
        SourceFileLoader("hotfix.watch", path).exec_module(watch)
    watch.arm()


def _start() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        audit = os.path.join(os.path.dirname(folder), "startup_audit")
        observes = folder == audit or audit in folders
        _restore(_settings(folder, folders), observes)
        _arm(folder)
    except BaseException as error:  # the program must start even if hotfix cannot
        why = f"{type(error).__name__}: {error}"
        if sys.stderr is not None:
            sys.stderr.write(f"hotfix: not armed in this process ({why})\n")
        if _has_guards():
            _refuse(why)


def _has_guards() -> bool:
    """Whether this process may not run without hotfix; a settings file that names a guard counts."""
    variables = os.environ
    if variables.get("HOTFIX") == "0":
        return False
    strict, required = variables.get("HOTFIX_STRICT", "").strip(), variables.get("HOTFIX_REQUIRE", "").strip()
    if strict not in ("", "0") or required or "HOTFIX_PIN" in variables:
        return True
    path = variables.get("HOTFIX_CONFIG", "").strip()
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            text = file.read(1024 * 1024).replace(b"\0", b"")  # leaves the letters of UTF-16
    except OSError:
        return False
    return any(guard in text for guard in (b"strict", b"require", b"pin"))


def _refuse(why: str) -> None:
    """Stop each import of a package that hotfix watches."""

    class Refusing:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name.partition(".")[0] == "transformers" or name.rpartition(".")[2] == "basic_var":
                # Not ImportError: programs catch it and go on without.
                raise RuntimeError(f"hotfix is not armed in this process ({why}); reinstall it, or unset the guard")

    sys.meta_path.insert(0, Refusing)


def _chain() -> None:
    """Import the ``sitecustomize`` that Python would have found without this folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours = (here, os.path.join(here, "with"))
    for folder in [folder for folder in sys.path if isinstance(folder, str) and folder]:
        if os.path.abspath(folder).startswith(ours):
            sys.path.remove(folder)
    sys.path_importer_cache.pop(here, None)
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import system wants to find what it has just executed.
        sys.modules.setdefault("sitecustomize", own)


_start()
_chain()
