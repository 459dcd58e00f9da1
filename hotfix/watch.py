"""The import watcher: it notices when a module with a known bug is imported, and does nothing else.

This file runs at the start of every Python process of a job. It therefore imports only modules that a bare
interpreter has already imported, and imports none of our own before a watched package is really imported.

How it works. One finder comes first in ``sys.meta_path``. For the few names on its watch list, it asks the other
finders for the module's spec and wraps the loader in that spec with its own (`hotfix.loader`). When the module is
executed, our loader restores the original one, lets it execute the module, and then passes the name to the session
(`hotfix.session`). ``find_spec`` itself repairs nothing: programs often call ``importlib.util.find_spec`` for modules
that they never import.

The watch list. At first it has only the packages in `ROOTS`, and any module whose last name component is in `TAILS`.
When a root is executed, the session adds the modules that fixes target. When a program imports one of these, the
session decides whether the installed release already has it right.

The state is the finder in ``sys.meta_path``, not a variable here. This file may be loaded more than once (a start-up
file loads it under no name, a program reloads it), but only one finder watches in a process.

Limits. A loader without ``exec_module`` (Python 3.9's zip importer) cannot be watched; its modules stay unrepaired. A
module imported before hotfix is handled when hotfix is armed. If a finder ahead of this one loads a module, the module
is repaired late, at the next check: a watched import, a report or a digest. With a guard on, the next import that
reaches this finder also checks, and so does `Watcher.at_exit` at the end of the process, which depends on no finder.
"""

import _thread
import sys

TYPE_CHECKING = False  # as in typing, which would have to be imported
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

ROOTS = frozenset({"transformers"})
TAILS = frozenset({"basic_var"})
_AUDIT = "hotfix/commands/startup_audit"  # the start-up folder of `hotfix audit`


class Watcher:
    """A finder for ``sys.meta_path`` that finds nothing itself.

    Attributes:
        is_hotfix: the mark by which another copy of this file recognizes it.
        home: the file that defines it.
        names: the watched modules.
        automatic: whether to apply every fix that the environment allows; else only those passed to `hotfix.apply`.
        environment: the switches at the moment of arming; later changes to os.environ have no effect.
        guarded: whether a guard is on, or a settings file may turn one on.
        armed: False once `disarm` has removed it; still True if other code dropped it from ``sys.meta_path``.
        asks_at_exit: the functions that `at_exit` calls: `overlooked` of each copy of `hotfix.session`, since a program
            may drop modules and import them again.
        finalizer: the finalizer that calls `at_exit` in a child of multiprocessing.
    """

    is_hotfix = True
    home = __file__

    def __init__(self) -> None:
        self.names = set(ROOTS)
        self.automatic = False
        self.searching: "set[tuple[int, int, str]]" = set()
        self.armed = True
        self.asks_at_exit: "list[Any]" = []
        self.finalizer: "Any" = None
        # Not at the top: the finder outlives its module at exit, and would keep `os` for a second round of clearing.
        from os import environ

        self.environment = {name: environ[name] for name in environ if name.startswith("HOTFIX")}
        if _AUDIT in environ.get("PYTHONPATH", "").replace("\\", "/"):
            # This process is part of an audit, even if Python ignores PYTHONPATH or the variables were dropped.
            self.environment["HOTFIX_MODE"] = "observe"
        self.guarded = _has_guards(self.environment) or "HOTFIX_CONFIG" in self.environment

    def find_spec(self, name: "str", path: "Any" = None, target: "Any" = None) -> "Optional[ModuleSpec]":
        """The spec that the other finders return for `name`, with its loader wrapped in ours, if `name` is watched."""
        if self.guarded and next(iter(sys.meta_path), None) is not self:
            self.look_behind(name)
        if name not in self.names and name.rpartition(".")[2] not in TAILS:
            return None
        from os import getpid  # a forked child reuses the thread identifiers of its parent

        # Some finders ask all others, as this one and the session do: a search that comes back here gets None.
        here = getpid(), _thread.get_ident(), name
        if here in self.searching:
            return None
        self.searching.add(here)
        try:
            if not self.waits_for(name):
                return None
            # Not importlib.util.find_spec: two threads can deadlock in it.
            for finder in list(sys.meta_path):
                if getattr(finder, "is_hotfix", False) or not hasattr(finder, "find_spec"):
                    continue
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    self.watch(spec)
                    return spec
        finally:
            self.searching.discard(here)
        return None

    def look_behind(self, name: "str") -> "None":
        """Handle the modules that a finder ahead of this one has loaded.

        Args:
            name: the module being imported.
        """
        from os import getpid

        here = getpid(), _thread.get_ident(), ""
        if here in self.searching or ROOTS.isdisjoint(sys.modules) or current() is not self or _is_at_work(name):
            return
        self.searching.add(here)
        try:
            self.names.update(notify("overtaken", name))
        finally:
            self.searching.discard(here)

    def at_exit(self, flushes: bool = True) -> "None":
        """End the process with exit status 1 if a guard is on and hotfix never checked a loaded module.

        It runs after the program's own exit handlers, but before those that were registered when hotfix was armed. It
        does not raise: an exception would not change the exit status.

        Args:
            flushes: whether Python would now close the open files of this process.
        """
        if not self.armed or not any(_is_aimed_at(name) for name in list(sys.modules)):
            return
        self.guarded = False  # from here on, imports made here need no check
        try:
            if not self.asks_at_exit:
                from . import session

                self.asks_at_exit.append(session.overlooked)
            # One copy of hotfix may have handled modules that another copy does not know about.
            each = [set(ask(self.environment, self.automatic)) for ask in self.asks_at_exit]
            problems = sorted(each[0].intersection(*each[1:]))
        except BaseException as error:
            problems = [f"hotfix cannot check this process ({type(error).__name__}: {error})"]
        if problems:
            _fail(problems, flushes)

    def waits_for(self, name: "str") -> "bool":
        """Whether a module of this name may need a repair."""
        if name in ROOTS or name.rpartition(".")[2] in TAILS:
            return True
        return name in self.names and bool(notify("matters", name))

    def watch(self, spec: "ModuleSpec") -> "None":
        """Wrap the loader of a spec, so that `before` and `after` are called when its module is executed."""
        try:
            from . import loader

            loader.wrap(spec, self.before, self.after)
        except Exception as error:  # hotfix was uninstalled while the program runs, for instance
            _give_up(error)

    def before(self, name: "str") -> "None":
        """Called just before a module is executed."""
        # If a handle was reverted between the search and the execution, this is an ordinary import.
        if name in ROOTS and current() is self:
            self.names.update(notify("root_imported", name))

    def after(self, name: "str") -> "None":
        """Called once a module has been executed."""
        if current() is self:
            notify("module_imported", name)


def current() -> "Any":
    """The active watcher, or None."""
    for finder in sys.meta_path:
        if getattr(finder, "is_hotfix", False):
            return finder
    return None


def arm(automatic: bool = True, look: bool = True) -> None:
    """Install the watcher, once. Modules imported before are handled now and reported as late.

    Args:
        automatic: whether to apply every fix that the environment allows; else only those passed to `hotfix.apply`.
        look: whether to handle loaded modules now; else the caller calls `look_again`.
    """
    watcher = current()
    if watcher is not None and watcher.home != __file__:
        disarm()  # it belongs to another copy of hotfix; this copy takes over
        watcher = None
    if watcher is None:
        watcher = Watcher()
        sys.meta_path.insert(0, watcher)
        if watcher.guarded:
            _call_at_exit(watcher)
    elif watcher.automatic or not automatic:
        return
    watcher.automatic = automatic
    if look:
        look_again()


def disarm() -> None:
    """Remove the watcher from ``sys.meta_path``."""
    for finder in sys.meta_path:
        if getattr(finder, "is_hotfix", False):
            finder.armed = False  # type: ignore[attr-defined]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not getattr(finder, "is_hotfix", False)]


def is_automatic() -> bool:
    """Whether the active watcher applies every fix that the environment allows."""
    watcher = current()
    return watcher is not None and watcher.automatic


def look_again() -> None:
    """Handle the modules that are already loaded. A module that was handled before is not changed twice."""
    watcher = current()
    if watcher is None:
        return
    for root in ROOTS & sys.modules.keys():
        watcher.names.update(notify("root_imported", root))
    for name in list(sys.modules):
        if isinstance(name, str) and watcher.waits_for(name):
            notify("module_imported", name, late=True)


def environment() -> "dict[str, str]":
    """The HOTFIX variables as they were at arming, or as they are now if no watcher is active."""
    variables: "dict[str, str]" = (current() or Watcher()).environment
    return variables


def notify(event: str, name: str, **details: bool) -> "Any":
    """Pass an event to the session. An error there never fails the user's import, unless a guard is on.

    Returns:
        The session's answer; an empty set if it gives none.
    """
    try:
        from . import session

        answer = getattr(session, event)(name, environment(), is_automatic(), **details) or set()
    except Exception as error:
        if type(error).__module__ == "hotfix.errors":
            raise
        _give_up(error)
        return set()
    return answer


def _give_up(error: Exception) -> None:
    """Leave the process alone from now on; raise if the user does not allow a run without hotfix."""
    switches = environment()
    other = getattr(sys.modules.get("hotfix"), "__file__", None) or __file__
    why = f"{type(error).__name__}: {error}"
    if other.replace("\\", "/").rpartition("/")[0] != __file__.replace("\\", "/").rpartition("/")[0]:
        why = f"`import hotfix` gives {other}"
    if _has_guards(switches) or _names_a_guard(switches.get("HOTFIX_CONFIG", "").strip()):
        # The watcher stays: a program may retry the import. Not ImportError: programs catch it and go on without.
        raise RuntimeError(f"hotfix can do nothing in this process ({why})") from error
    disarm()
    try:
        sys.stderr.write(f"hotfix: does nothing in this process ({why})\n")
    except (AttributeError, OSError, ValueError):
        return  # the stream is closed or missing


def _has_guards(switches: "dict[str, str]") -> bool:
    """Same test as `hotfix.engine.policy.asks_to_be_stopped`, which may not be imported here."""
    strict, required = switches.get("HOTFIX_STRICT", "").strip(), switches.get("HOTFIX_REQUIRE", "").strip()
    return strict not in ("", "0") or required != "" or "HOTFIX_PIN" in switches


def _names_a_guard(path: str) -> bool:
    """Whether a settings file, which perhaps nothing can parse here, contains the name of a guard."""
    from os.path import isfile

    if not isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            text = file.read(1024 * 1024).replace(b"\0", b"")  # leaves the letters of UTF-16
    except OSError:
        return False
    return any(guard in text for guard in (b"strict", b"require", b"pin"))


def _is_at_work(name: str) -> bool:
    """Whether hotfix itself is importing a module in this thread."""
    ours = tuple(f"{__package__}.{part}" for part in ("api", "engine", "patching", "reports", "session", "versions"))
    frame = sys._getframe(2)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(ours):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return name.startswith(f"{__package__}.")


def _is_aimed_at(name: "Any") -> bool:
    return isinstance(name, str) and (name.partition(".")[0] in ROOTS or name.rpartition(".")[2] in TAILS)


def _call_at_exit(watcher: Watcher) -> None:
    import atexit
    import os

    atexit.register(watcher.at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _call_when_a_child_ends(watcher))
    # A child may arm hotfix itself, while it imports its main module or later.
    _call_when_a_child_ends(watcher)
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        _finalize(watcher)


def _call_when_a_child_ends(watcher: Watcher) -> None:
    """Register `at_exit` in forked children of multiprocessing, which end without running `atexit` handlers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # A new child first clears its finalizers, then calls the functions registered here.
        util.register_after_fork(watcher, _finalize)


def _finalize(watcher: Watcher) -> None:
    from multiprocessing import util  # already loaded

    if watcher.finalizer is None or not watcher.finalizer.still_active():
        watcher.finalizer = util.Finalize(None, watcher.at_exit, (False,), exitpriority=-1)


def _fail(problems: "list[str]", flushes: bool) -> None:
    """End the process with exit status 1.

    Args:
        problems: sentences for stderr.
        flushes: whether to write out what is in the buffers of open files.
    """
    from os import _exit

    for stream in (sys.stderr, sys.stdout):
        try:
            if stream is sys.stderr:
                stream.write("".join(f"hotfix: {problem}\n" for problem in problems))
            stream.flush()
        except (AttributeError, OSError, ValueError):  # the stream is closed or missing
            continue
    try:
        if flushes:  # a process of multiprocessing may have inherited its files, and Python would not close them
            _flush_files()
    finally:
        _exit(1)


def _flush_files() -> None:
    """Write what is in the buffers of open files, as Python does at the end of a process."""
    try:
        import gc
        import io
    except ImportError:
        return  # the program has cleared `sys.meta_path`
    for kind in (io.TextIOBase, io.BufferedIOBase):  # a text file writes into a buffered one
        for file in [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]:
            try:
                file.flush()
            except (AttributeError, OSError, ValueError):  # it is closed, or its disk is full
                continue
