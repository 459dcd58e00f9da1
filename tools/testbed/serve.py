"""The processes that hold a release ready, so that a case costs a fork. The child's side of `servers.py`.

A root has imported torch. It forks bases, one for each environment: a base has the folders of its releases on the path.
The base forks templates, one for each setting of hotfix: a template arms hotfix, or does not, and then imports
transformers' common part, but no model. The template forks the cases. So each case gets hotfix before transformers, as
in a user's program, and no case sees the imports of another.

From the second template on, the base has also imported the other packages that transformers' common part needs. They
take most of the time, and hotfix does not act on them. Packages that import transformers are left out.

Threads do not survive a fork, so torch works with one. Every process ends when the other end of its connection is
closed, however the process there has ended.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any

# The common part, if a package is available.
LOADED_WITH = {"accelerate": "transformers.trainer", "torchvision": "torchvision.transforms.v2"}
# The packages that hotfix repairs, and our own: never imported before hotfix is armed.
LEFT_OUT = frozenset({"transformers", "hotfix", "tests", "tools", "__main__", "__mp_main__"})


def root(handle: int, of_torch: Sequence[str]) -> None:
    """Import torch and fork a base for each order that comes, until the connection is closed.

    Args:
        handle: the descriptor of the connection.
        of_torch: the packages that torch may import from the folders on the path. Other bases have them as well.
    """
    client = Connection(handle)
    output = _redirected(b"", b"")
    try:
        import torch

        torch.set_num_threads(1)
        if others := _packages_in(_folders()) - {*of_torch, *LEFT_OUT}:
            raise RuntimeError(f"torch has imported further packages: {', '.join(others)}")
    except Exception:
        client.send({"error": traceback.format_exc()})
        return
    client.send({"error": None})
    _fork_for_each_order(client, lambda line, order: _base(line, order, output))


def _base(client: Connection, order: dict[str, Any], output: tuple[int, int]) -> None:
    """Enter an environment and fork a template for each order that comes, until the connection is closed."""
    new = order["environment"].get("PYTHONPATH", "").split(os.pathsep)
    others = [place for place in sys.path if place not in _folders()]
    at = others.index("") + 1 if "" in others else 0
    sys.path[:] = [*others[:at], *new, *others[at:]]
    os.environ.clear()
    os.environ.update(order["environment"])
    importlib.invalidate_caches()
    client.send({"error": None})
    refused: set[str] = set()

    def fork(line: Connection, order: dict[str, Any]) -> None:
        _template(line, order, output)

    _fork_for_each_order(client, fork, lambda order: _preload(order["modules"], refused))


def _fork_for_each_order(
    client: Connection, work: Callable[..., None], prepare: Callable[[dict[str, Any]], None] = lambda _: None
) -> None:
    """Fork a process for each order that comes, until the connection is closed.

    Args:
        client: the connection.
        work: the task of a fork; called with its own connection and the order.
        prepare: called with the order, before the fork.
    """
    forks: list[int] = []
    while (order := _received(client)) is not None:
        line = recv_handle(client)
        prepare(order)
        forks = [pid for pid in forks if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        _flush()
        pid = os.fork()
        if pid == 0:
            client.close()
            _ends(work, Connection(line), order)
        os.close(line)
        forks.append(pid)
    for pid in forks:  # their connections are closed before ours
        os.waitpid(pid, 0)


def _folders() -> list[str]:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def _packages_in(folders: Sequence[str]) -> set[str]:
    """The packages that have been imported from these folders."""
    files = {name: getattr(module, "__file__", None) or "" for name, module in [*sys.modules.items()]}
    return {name for name, file in files.items() if "." not in name and not _folders_of(file).isdisjoint(folders)}


def _folders_of(file: str) -> set[str]:
    """The folder with a module of this file, and the one with a package of it."""
    return {os.path.dirname(file), os.path.dirname(os.path.dirname(file))}


def _template(client: Connection, order: dict[str, Any], output: tuple[int, int]) -> None:
    """Get ready as `order` says, then fork a case for each that comes, until the connection is closed."""
    said = _redirected(*map(_content, output))
    os.environ.update(order["env"])
    try:
        if early := {"transformers", "hotfix"} & sys.modules.keys():
            raise RuntimeError(f"imported before its time: {', '.join(early)}")
        if order["hotfix"]:
            importlib.import_module("hotfix.auto")
        importlib.import_module("transformers.modeling_utils")
        for package, module in LOADED_WITH.items():
            if importlib.util.find_spec(package):
                importlib.import_module(module)
    except BaseException:
        # A case may be about exactly this error. In a fresh interpreter the case itself gets it.
        client.send({"error": traceback.format_exc()})
        return
    client.send({"error": None, "modules": [name for name in sys.modules if name.partition(".")[0] not in LEFT_OUT]})
    running: set[int] = set()
    while (case := _received(client)) is not None:
        if "ended" in case:
            running.discard(case["ended"])
            client.send(os.waitstatus_to_exitcode(os.waitpid(case["ended"], 0)[1]))
            continue
        alive = recv_handle(client)  # held only by the case: when it closes, the case has ended
        os.set_inheritable(alive, False)
        _flush()
        pid = os.fork()
        if pid == 0:
            os.setsid()  # so that a time-out ends the workers of the case as well
            client.close()
            _ends(_case, case, said)
        os.close(alive)
        running.add(pid)
        client.send(pid)
    for pid in running:
        os.killpg(pid, signal.SIGKILL)


def _case(case: dict[str, Any], said: tuple[int, int]) -> None:
    from tools.testbed import child

    at = Path(case["at"])
    os.chdir(at)
    os.environ.update(case["env"])
    for descriptor, name in enumerate(("stdout", "stderr"), 1):
        with open(at / f"{case['number']}.{name}", "wb") as file:
            file.write(_content(said[descriptor - 1]))
            file.flush()
            os.dup2(file.fileno(), descriptor)
    # In a fork, torch rebuilds its thread pool at first use. If several threads are the first, as when weights are
    # loaded, some get none ("Invalid thread pool!"), so this thread is the first.
    sys.modules["torch"].set_num_threads(sys.modules["torch"].get_num_threads())
    if "script" in case["order"]:
        child.run_script(case["order"]["script"])
    else:
        child.run_on(case["order"], case["number"], at)


def _preload(modules: Sequence[str], refused: set[str]) -> None:
    """Import modules that a template needed, except those that would import transformers."""
    for name in modules:
        package = name.partition(".")[0]
        if name in sys.modules or package in refused:
            continue
        here = set(sys.modules)
        refusal = _Refusal()
        sys.meta_path.insert(0, refusal)
        try:
            importlib.import_module(name)
        except ImportError:
            # Not a module that can be imported by its name, for instance a synthetic module of Cython.
            refused.add(name)
        except _Refused:
            refused.add(package)
            for added in sys.modules.keys() - here:
                del sys.modules[added]
        finally:
            sys.meta_path.remove(refusal)


class _Refused(BaseException):
    """Not an `Exception`: a package that checks for transformers must not conclude that it is missing."""


class _Refusal:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in LEFT_OUT:
            raise _Refused(name)


# -- processes and their output ----------------------------------------------------------------


def _received(client: Connection) -> Any:
    """The next message from the other side, None at its end."""
    try:
        return client.recv()
    except EOFError:
        return None


def _ends(work: Callable[..., None], *arguments: Any) -> None:
    """Run the task of a fork, and end the process without the shutdown of the interpreter that it was forked from."""
    status = 1
    try:
        work(*arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status)


def _redirected(*contents: bytes) -> tuple[int, int]:
    """Redirect standard output and error to unnamed files that begin with these bytes."""
    _flush()
    descriptors = []
    for descriptor, content in enumerate(contents, 1):
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(content)
            descriptors.append(os.dup(file.fileno()))
        os.dup2(descriptors[-1], descriptor)
    return descriptors[0], descriptors[1]


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
