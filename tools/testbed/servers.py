"""The roots, bases and templates of this process (see `serve.py`): started when needed, a few kept.

They live as long as this process, a worker of pytest or the matrix, unless they are displaced by others: each holds
some hundred megabytes. They end with this process, however it ends, because their connections are closed then.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import Any, Generic, TypeVar

ROOTS = 2
"""How many roots are kept alive, those in use apart."""

BASES = int(os.environ.get("TESTBED_BASES", "4"))
"""How many bases of each."""

TEMPLATES = 3
"""How many templates of each."""

# The packages that torch imports, if an environment has them.
OF_TORCH = frozenset(
    ["filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "sympy", "tqdm", "typing_extensions"]
)
# Variables that the interpreter, torch and other packages read at import: a change needs another root. All others are
# passed to the template before it arms hotfix.
_EARLY = ("PYTHON", "TORCH", "OMP_", "MKL_", "KMP_", "CUDA_", "TRITON_", "HF_", "TRANSFORMERS_", "TOKENIZERS_", "LD_")
# Variables for the case only, whichever process holds its release ready.
_OF_THE_CASE = "CASE_"
_START = "import sys; from tools.testbed.serve import root; root(int(sys.argv[1]), sys.argv[2:])"


class Unready(Exception):
    """A root, a base or a template cannot be made here; the message is its error output."""


@dataclass
class Ended:
    """The end of a case.

    Attributes:
        stdout: including the output of its template's start.
        stderr: the same.
        returncode: negative for a signal.
        timed_out: whether it was killed at the time limit.
    """

    stdout: str
    stderr: str
    returncode: int
    timed_out: bool


def run(
    environment: Mapping[str, str],
    late: Mapping[str, str],
    order: dict[str, Any],
    number: int,
    at: Path,
    timeout: float,
) -> Ended:
    """Run one target of an order in a fork.

    Args:
        environment: the whole environment of a child, without the variables in `late`.
        late: further variables.
        order: as `child.main` reads it.
        number: of the target.
        at: folder for the results.
        timeout: seconds.

    Raises:
        Unready: nothing was run.
    """
    early = {name: value for name, value in late.items() if name.startswith(_EARLY)}
    settings = {name: value for name, value in late.items() if name.startswith(_OF_THE_CASE)}
    late = {name: value for name, value in late.items() if name not in early and name not in settings}
    whole = {**environment, **early}
    with ExitStack() as used:
        root = used.enter_context(_roots.taken(_needs(whole), lambda: _Root(whole)))
        base = used.enter_context(root.bases.taken(tuple(sorted(whole.items())), lambda: root.base(whole)))
        key = (order["hotfix"], *sorted(late.items()))
        template = used.enter_context(base.templates.taken(key, lambda: base.template(order["hotfix"], late)))
        return template.run({"order": order, "number": number, "at": str(at), "env": settings}, timeout)


def close() -> None:
    """End all roots, bases and templates without a running case."""
    _roots.close()


# -- below this line, nothing that run.py calls -------------------------------------------------


class _Template:
    """Our end of the connection with a template."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.lock = threading.Lock()
        self.lost = False

    def run(self, case: dict[str, Any], timeout: float) -> Ended:
        ours, theirs = _pair()
        try:
            with self.lock, _talking(self):
                self.connection.send(case)
                _hand_over(self.connection, theirs)
                pid = self.connection.recv()
            ended = False
            try:
                ended = ours.poll(timeout)
            finally:
                if not ended:
                    _kill(pid)
                with self.lock, _talking(self):
                    self.connection.send({"ended": pid})
                    code = self.connection.recv()
        finally:
            ours.close()
        written = [Path(case["at"], f"{case['number']}.{name}") for name in ("stdout", "stderr")]
        texts = [file.read_text(errors="replace") if file.exists() else "" for file in written]
        return Ended(texts[0], texts[1], code, not ended)

    def close(self) -> None:
        self.connection.close()


class _Root:
    """A process that has imported torch.

    Args:
        environment: its whole environment. Its bases may have other folders on the path, with the same packages of
            torch.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.connection, theirs = _pair()
        self.lock = threading.Lock()
        self.lost = False
        self.bases = _Kept[_Base](BASES)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(theirs), *sorted(OF_TORCH)],
            env={**environment},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs],
            start_new_session=True,  # an interruption at the terminal is for pytest
        )
        os.close(theirs)
        try:
            _ready(self, self.connection)
        except BaseException:
            self.close()
            raise

    def base(self, environment: Mapping[str, str]) -> _Base:
        return _Base(_forked(self, {"environment": {**environment}}))

    def close(self) -> None:
        self.bases.close()
        self.connection.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Base:
    """A fork of a root, with an environment of its own.

    Args:
        connection: our end of the connection with it.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.lock = threading.Lock()
        self.lost = False
        self.modules: Sequence[str] = ()
        self.templates = _Kept[_Template](TEMPLATES)
        try:
            _ready(self, self.connection)
        except BaseException:
            self.close()
            raise

    def template(self, hotfix: bool, env: Mapping[str, str]) -> _Template:
        template = _Template(_forked(self, {"hotfix": hotfix, "env": dict(env), "modules": list(self.modules)}))
        try:
            self.modules = _ready(template, template.connection)["modules"]
        except BaseException:
            template.close()
            raise
        return template

    def close(self) -> None:
        self.templates.close()
        self.connection.close()


_T = TypeVar("_T", _Root, _Base, _Template)


class _Kept(Generic[_T]):
    """The most recently used servers, by purpose.

    Args:
        limit: how many are kept, not counting those in use.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._making: dict[Any, threading.Lock] = {}
        self._kept: OrderedDict[Any, _T] = OrderedDict()
        self._users: dict[Any, int] = {}

    @contextmanager
    def taken(self, key: Any, make: Callable[[], _T]) -> Iterator[_T]:
        """Use one; it is created first if it does not exist, or was lost."""
        with self._lock:
            self._users[key] = self._users.get(key, 0) + 1
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                server = self._kept.get(key)
                if server is None or server.lost:
                    if server is not None:
                        server.close()
                    server = make()
                with self._lock:
                    self._kept[key] = server
                    self._kept.move_to_end(key)
            yield server
        finally:
            with self._lock:
                self._users[key] -= 1
            self._end(self._limit)

    def close(self) -> None:
        """End all that are not in use."""
        self._end(0)

    def _end(self, limit: int) -> None:
        with self._lock:
            idle = [key for key in self._kept if not self._users.get(key)]
            over = [self._kept.pop(key) for key in idle[: max(0, len(self._kept) - limit)]]
        for server in over:
            server.close()


def _needs(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a root depends on: the environment but for its folders, and the packages of torch in these."""
    folders = environment.get("PYTHONPATH", "").split(os.pathsep)
    packages = [name for folder in folders for name in _packages_of_torch(folder)]
    return (*sorted(f"{name}={value}" for name, value in environment.items() if name != "PYTHONPATH"), *packages)


@cache  # an overlay never changes
def _packages_of_torch(folder: str) -> tuple[str, ...]:
    """The packages of torch in a folder, with their versions."""
    names = sorted(path.name.lower() for path in Path(folder).glob("*.dist-info"))
    return tuple(name for name in names if name.partition("-")[0].replace(".", "_") in OF_TORCH)


def _forked(parent: _Root | _Base, order: dict[str, Any]) -> Connection:
    """Our end of the connection with a fork of this process."""
    ours, theirs = _pair()
    try:
        with parent.lock, _talking(parent):
            parent.connection.send(order)
            _hand_over(parent.connection, theirs)
    except BaseException:
        ours.close()
        raise
    return ours


def _pair() -> tuple[Connection, int]:
    """A connection, and the descriptor of its other end."""
    ours, theirs = socket.socketpair()
    return Connection(ours.detach()), theirs.detach()


def _hand_over(connection: Connection, descriptor: int) -> None:
    """Send a descriptor, and close it here."""
    try:
        send_handle(connection, descriptor, None)
    finally:
        os.close(descriptor)


def _ready(process: _Root | _Base | _Template, connection: Connection) -> dict[str, Any]:
    with _talking(process):
        answer: dict[str, Any] = connection.recv()
    if answer["error"]:
        raise Unready(answer["error"])
    return answer


@contextmanager
def _talking(process: _Root | _Base | _Template) -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        process.lost = True
        raise Unready(f"it has ended: {error!r}") from error


def _kill(pid: int) -> None:
    """End a case and its workers. Its template has not waited for it yet, so the number is its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)  # it has no session of its own yet


_roots = _Kept[_Root](ROOTS)
atexit.register(close)
