"""The import watcher: notices that a module with a known bug was imported, and does nothing else.

This file runs at the start of every Python process of a job. It therefore imports nothing that a bare interpreter
has not imported already, and none of our own modules before a watched package is really imported.

How it works. One finder stands first in ``sys.meta_path``. For the few names that it waits for, it asks the other
finders for the module's spec and puts a loader of its own (`hotfix.loader`) around the loader that they found. When
the module is executed, the original loader is put back, the module is executed by it, and then the session
(`hotfix.session`) is told the name. Nothing is done inside ``find_spec``: programs call
``importlib.util.find_spec`` all the time without ever importing what they ask for.

What it waits for. At first only the packages in `ROOTS`, and any module whose last name component is in `TAILS`.
When a root is executed, the session names the modules at which fixes aim; when one of these is wanted, it is asked
whether the installed release has it right.

The state is the finder in ``sys.meta_path``, not a variable here: this file may be loaded more than once (a start-up
file loads it under no name, a program reloads it), and one finder watches in a process.

Limits. A loader without ``exec_module`` (Python 3.9's zip importer) cannot be watched; what it loads stays as it
is. A module that was imported before hotfix is handled when hotfix is armed. What a finder loads that answers first is
repaired late, when anything looks: the next watched import, a report, a digest. With a guard on, the next import that
comes here looks as well, and at the end of the process `Watcher.at_exit` does, which depends on no finder.
"""

import _thread
import sys

TYPE_CHECKING = False  # as in typing, which would have to be imported
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

ROOTS = frozenset({"transformers"})
TAILS = frozenset({"basic_var"})
_AUDIT = "hotfix/commands/startup_audit"  # the folder of `hotfix audit`


class Watcher:
    """A finder for ``sys.meta_path`` that finds nothing itself.

    Attributes:
        is_hotfix: how another copy of this file knows it.
        home: the file that it comes from.
        names: the modules that it waits for.
        automatic: whether what the environment allows is to be repaired; else only what `hotfix.apply` asks for.
        environment: the switches, as they were at the moment of arming, whatever the program does to os.environ later.
        guarded: whether a guard is on, or a file of settings may have one.
        armed: False once it was taken out; not where somebody else dropped it from ``sys.meta_path``.
        asks_at_exit: what `at_exit` asks: `overlooked` of each copy of `hotfix.session`, as a program may drop modules
            and import them again.
        finalizer: what calls `at_exit` in a child of multiprocessing.
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
            # Part of an audit, also where Python does not look at PYTHONPATH, or the variables were dropped.
            self.environment["HOTFIX_MODE"] = "observe"
        self.guarded = _has_guards(self.environment) or "HOTFIX_CONFIG" in self.environment

    def find_spec(self, name: "str", path: "Any" = None, target: "Any" = None) -> "Optional[ModuleSpec]":
        """The spec that the other finders have for `name`, with our loader around theirs, if `name` is waited for."""
        if self.guarded and next(iter(sys.meta_path), None) is not self:
            self.look_behind(name)
        if name not in self.names and name.rpartition(".")[2] not in TAILS:
            return None
        from os import getpid  # a forked child has new threads under the numbers of old ones

        # Some finders ask all the others, as this one and the session do: whoever comes back here is told nothing.
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
        """Handle what a finder loaded that answers before this one.

        Args:
            name: the module that is wanted.
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

    def at_exit(self) -> "None":
        """End the process with a failure if a guard is on and the repair of a loaded module was never looked at.

        It is called after what the program has registered to be called at its end. An exception would not change the
        exit status.
        """
        if not self.armed or not any(_is_aimed_at(name) for name in list(sys.modules)):
            return
        self.guarded = False  # from here on, what this imports needs no look
        try:
            if not self.asks_at_exit:
                from . import session

                self.asks_at_exit.append(session.overlooked)
            # One copy of hotfix may have handled what another one does not know of.
            each = [set(ask(self.environment, self.automatic)) for ask in self.asks_at_exit]
            problems = sorted(each[0].intersection(*each[1:]))
        except BaseException as error:
            problems = [f"hotfix cannot check this process ({type(error).__name__}: {error})"]
        if problems:
            _fail(problems)

    def waits_for(self, name: "str") -> "bool":
        """Whether there may be something to do in a module of this name."""
        if name in ROOTS or name.rpartition(".")[2] in TAILS:
            return True
        return name in self.names and bool(notify("matters", name))

    def watch(self, spec: "ModuleSpec") -> "None":
        """Be told when the module of a spec is executed."""
        try:
            from . import loader

            loader.wrap(spec, self.before, self.after)
        except Exception as error:  # hotfix was uninstalled under a running program, for instance
            _give_up(error)

    def before(self, name: "str") -> "None":
        """A module is about to be executed."""
        # A handle may have been reverted between the search and the execution: then this is an ordinary import.
        if name in ROOTS and current() is self:
            self.names.update(notify("root_imported", name))

    def after(self, name: "str") -> "None":
        """A module was executed."""
        if current() is self:
            notify("module_imported", name)


def current() -> "Any":
    """The watcher that is in place, or None."""
    for finder in sys.meta_path:
        if getattr(finder, "is_hotfix", False):
            return finder
    return None


def arm(automatic: bool = True, look: bool = True) -> None:
    """Put the watcher in place, once. What was imported before is handled now and called late.

    Args:
        automatic: whether what the environment allows is to be repaired; else only what `hotfix.apply` asks for.
        look: whether it is handled now; else by `look_again`.
    """
    watcher = current()
    if watcher is not None and watcher.home != __file__:
        disarm()  # of another copy of hotfix, which stands back
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
    """Take the watcher out of ``sys.meta_path``."""
    for finder in sys.meta_path:
        if getattr(finder, "is_hotfix", False):
            finder.armed = False  # type: ignore[attr-defined]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not getattr(finder, "is_hotfix", False)]


def is_automatic() -> bool:
    """Whether a watcher is in place that repairs what the environment allows."""
    watcher = current()
    return watcher is not None and watcher.automatic


def look_again() -> None:
    """Handle what is loaded already. A module that was handled before is not changed twice."""
    watcher = current()
    if watcher is None:
        return
    for root in ROOTS & sys.modules.keys():
        watcher.names.update(notify("root_imported", root))
    for name in list(sys.modules):
        if watcher.waits_for(name):
            notify("module_imported", name, late=True)


def environment() -> "dict[str, str]":
    """The HOTFIX variables as they were at arming, or as they are now where nothing is armed."""
    variables: "dict[str, str]" = (current() or Watcher()).environment
    return variables


def notify(event: str, name: str, **details: bool) -> "Any":
    """Tell or ask the session. Whatever fails there, nobody's import may fail of it, unless it was asked for.

    Returns:
        What it answers; an empty set, if that is nothing.
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
    """Leave the process alone from now on; raise, where the user wants no run without hotfix."""
    switches = environment()
    other = getattr(sys.modules.get("hotfix"), "__file__", None) or __file__
    why = f"{type(error).__name__}: {error}"
    if other.replace("\\", "/").rpartition("/")[0] != __file__.replace("\\", "/").rpartition("/")[0]:
        why = f"`import hotfix` gives {other}"
    if _has_guards(switches):
        # The watcher stays: a program may try the import again. No ImportError, with which programs do without.
        raise RuntimeError(f"hotfix can do nothing in this process ({why})") from error
    disarm()
    try:
        sys.stderr.write(f"hotfix: does nothing in this process ({why})\n")
    except (AttributeError, OSError, ValueError):
        return  # it is closed, or there is none


def _has_guards(switches: "dict[str, str]") -> bool:
    """As `hotfix.engine.policy.asks_to_be_stopped`, which may not be imported here."""
    strict, required = switches.get("HOTFIX_STRICT", "").strip(), switches.get("HOTFIX_REQUIRE", "").strip()
    return strict not in ("", "0") or required != "" or "HOTFIX_PIN" in switches


def _is_at_work(name: str) -> bool:
    """Whether it is hotfix itself that imports a module in this thread."""
    ours = tuple(f"{__package__}.{part}" for part in ("api", "engine", "patching", "reports", "session", "versions"))
    frame = sys._getframe(2)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(ours):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return name.startswith(f"{__package__}.")


def _is_aimed_at(name: str) -> bool:
    return name.partition(".")[0] in ROOTS or name.rpartition(".")[2] in TAILS


def _call_at_exit(watcher: Watcher) -> None:
    import atexit
    import os

    atexit.register(watcher.at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _call_when_a_child_ends(watcher))
    # It may be a child itself that arms: while it imports its main module, or later.
    _call_when_a_child_ends(watcher)
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        _finalize(watcher)


def _call_when_a_child_ends(watcher: Watcher) -> None:
    """A child of multiprocessing that was forked ends without what `atexit` would run."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # What is to be done at the end is forgotten when a child begins; then the first of these is called.
        util.register_after_fork(watcher, _finalize)


def _finalize(watcher: Watcher) -> None:
    from multiprocessing import util  # it is loaded

    if watcher.finalizer is None or not watcher.finalizer.still_active():
        watcher.finalizer = util.Finalize(None, watcher.at_exit, exitpriority=-1)


def _fail(problems: "list[str]") -> None:
    from os import _exit

    for stream in (sys.stderr, sys.stdout):
        try:
            if stream is sys.stderr:
                stream.write("".join(f"hotfix: {problem}\n" for problem in problems))
            stream.flush()
        except (AttributeError, OSError, ValueError):  # it is closed, or there is none
            continue
    _exit(1)
