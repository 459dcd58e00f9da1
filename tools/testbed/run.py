"""Run one case, or one script as a user would, on the CPU testbed.

A script gets a fresh interpreter; `run_program` lends it a fork, as a case has one: of a process that has imported
torch, armed hotfix or not, and then imported the common part of `transformers`' models, see `servers.py`. The case
finds no model loaded, and no other case sees the changes that it makes to its process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.testbed import overlay, servers

if TYPE_CHECKING:
    import torch

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """The result of the child.

    Attributes:
        tensors: the results of the case, on the CPU.
        error: type name, message and traceback of the case's error; "TimeoutExpired" or "ProcessDied" if the child did
            not finish.
        flash_calls: how often each flash-attn kernel ran. For a case, see `hotfix.proofs.testbed.Testbed`; for a
            script, the attention kernels only, summed over its processes.
        report: `hotfix.report().to_dict()` of the child, None without hotfix and for scripts.
        stdout: of the child.
        stderr: of the child.
        returncode: of the child; a case that raises still ends with 0, a script does not.
        versions: of python and the packages involved; empty for scripts.
    """

    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    error: tuple[str, str, str] | None = None
    flash_calls: dict[str, int] = field(default_factory=dict)
    report: dict[str, Any] | None = None
    stdout: str = ""
    stderr: str = ""
    returncode: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    def require(self) -> Result:
        """Return self if the child ran to its end without an error, else fail with its traceback."""
        if self.error is not None:
            raise AssertionError(f"the case failed in the child:\n{self.error[2]}\n{self.stderr}")
        if self.returncode:
            raise AssertionError(f"the child ended with {self.returncode}:\n{self.stderr}")
        return self


def run(
    case: str | Path,
    *,
    transformers: str = "4.49.0",
    flash_attn: str | None = "2.7.4.post1",
    xformers: str | None = None,
    hotfix: bool = True,
    extras: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    target: Any = None,
    timeout: float = 300,
    fresh: bool = False,
) -> Result:
    """Run a case and return its result; an error of the case is in the result, not raised.

    Args:
        case: "module:function" (dots allowed after the colon), called with a `Testbed` and `target`;
            or the path of a script, which is then run by `run_script`, under `import hotfix.auto`
            if `hotfix` is true.
        transformers: release.
        flash_attn: release, or None for an environment without it.
        xformers: release, or None for an environment without it.
        hotfix: whether `import hotfix.auto` is the first statement of the child. If not, hotfix is not armed; only the
            inert `hotfix.proofs.testbed` is imported.
        extras: requirements installed with `transformers`, such as "trl==0.15.2".
        env: variables for the child, which otherwise gets this process's without any HOTFIX_*.
        target: None, or an object with `module` and `qualname`, the two attributes of the `target` that the case gets.
        timeout: seconds.
        fresh: whether the case needs a fresh interpreter that has not imported any part of `transformers`.
    """
    if isinstance(case, Path) or case.endswith(".py"):
        arguments = ["-c", _UNDER_HOTFIX] if hotfix else []
        folders = _folders(transformers, flash_attn, xformers, extras)
        return _script([*arguments, str(Path(case).resolve())], folders, env, timeout)
    [result] = run_many(
        case,
        [target],
        transformers=transformers,
        flash_attn=flash_attn,
        xformers=xformers,
        hotfix=hotfix,
        extras=extras,
        env=env,
        timeout=timeout,
        fresh=fresh,
    )
    return result


def run_program(
    path: Path,
    *,
    hotfix: bool,
    transformers: str,
    flash_attn: str | None = None,
    extras: Sequence[str] = (),
    timeout: float = 300,
) -> Result:
    """Run a script in a fork, which saves four fifths of its time; in a fresh interpreter with TESTBED_FRESH=1.

    Args:
        path: of the script. It must not depend on what it is the first to import, nor on what runs at its exit.
        hotfix: as in `run`, and so on.
        transformers: as in `run`.
        flash_attn: as in `run`.
        extras: as in `run`.
        timeout: as in `run`.
    """
    if os.environ.get("TESTBED_FRESH") != "1":
        order = {"script": str(path.resolve()), "hotfix": hotfix}
        folders = _folders(transformers, flash_attn, None, extras)
        with tempfile.TemporaryDirectory() as folder:
            result = _forked(order, 0, folders, {}, Path(folder), timeout)
        if result is not None:
            return result
    return run(path, hotfix=hotfix, transformers=transformers, flash_attn=flash_attn, extras=extras, timeout=timeout)


def run_many(
    case: str,
    targets: Sequence[Any],
    *,
    transformers: str,
    flash_attn: str | None = "2.7.4.post1",
    xformers: str | None = None,
    hotfix: bool = True,
    extras: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    fresh: bool = False,
) -> list[Result]:
    """Run one case on several targets of one release, each in its own process.

    Args:
        case: "module:function", as in `run`.
        targets: objects with `module` and `qualname`, or None.
        transformers: as in `run`, and so on.
        flash_attn: as in `run`.
        xformers: as in `run`.
        hotfix: as in `run`.
        extras: as in `run`.
        env: as in `run`.
        timeout: seconds, for all of them together.
        fresh: as in `run`.

    Returns:
        The result of each, in the order of `targets`.
    """
    order: dict[str, Any] = {
        "case": case,
        "hotfix": hotfix,
        "targets": [target and {"module": target.module, "qualname": target.qualname} for target in targets],
    }
    folders = _folders(transformers, flash_attn, xformers, extras)
    end = time.monotonic() + timeout
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        results = []
        for number in range(len(targets)):
            left = max(0.0, end - time.monotonic())
            process = None if fresh else _forked(order, number, folders, env or {}, at, left)
            if process is None:
                process = _alone({**order, "targets": [order["targets"][number]]}, folders, env or {}, at, left)
                number = 0
            results.append(_told(process, at, number))
            (at / f"{number}.json").unlink(missing_ok=True)
    return results


def run_script(
    path: str | Path,
    args: Sequence[str] = (),
    *,
    transformers: str = "4.49.0",
    flash_attn: str | None = "2.7.4.post1",
    xformers: str | None = None,
    extras: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    behind: Sequence[Path] = (),
) -> Result:
    """Run `python path *args` on the testbed. The script is unchanged, and does not know about the testbed.

    Args:
        path: of the script; or several words of a command line after `python` in `args`, with
            "-m" or "-c" as path.
        args: for the script.
        transformers: as in `run`, and so on.
        flash_attn: as in `run`.
        xformers: as in `run`.
        extras: as in `run`.
        env: as in `run`.
        timeout: as in `run`.
        behind: further folders, whose packages the script imports if the others lack them.
    """
    first = str(path) if str(path).startswith("-") else str(Path(path).resolve())
    folders = _folders(transformers, flash_attn, xformers, extras)
    return _script([first, *args], [*folders, *behind], env, timeout)


def environment(folders: Sequence[Path], env: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a child: these folders, offline, no GPU, no HOTFIX_*, bytecode in our cache."""
    # A variable of pytest, which changes with each test: another environment would be another base.
    left_out = {"HOTFIX", "PYTHONDONTWRITEBYTECODE", "PYTEST_CURRENT_TEST"}
    kept = {k: v for k, v in os.environ.items() if k not in left_out and not k.startswith("HOTFIX_")}
    path = [ROOT / "tools" / "testbed" / "path", ROOT, *folders]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONNOUSERSITE": "1",
        # Saves half of a child's import time, even if Python is configured to write no bytecode.
        "PYTHONPYCACHEPREFIX": str(overlay.cache() / "bytecode"),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",  # how torch finds tools.testbed.cpu
        "TRITON_INTERPRET": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(overlay.cache() / "huggingface"),
        "TOKENIZERS_PARALLELISM": "false",
        **env,
    }


# -- below this line, nothing that a test calls ----------------------------------------------

_UNDER_HOTFIX = """\
import hotfix.auto, runpy, sys
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def _forked(
    order: dict[str, Any], number: int, folders: list[Path], env: Mapping[str, str], at: Path, timeout: float
) -> Result | None:
    """The end of one target's process, or None if the release cannot be held ready."""
    try:
        ended = servers.run(environment(folders, {}), env, order, number, at, timeout)
    except servers.Unready:
        return None
    error = ("TimeoutExpired", f"after {timeout:.0f} seconds", ended.stderr) if ended.timed_out else None
    return Result(error=error, stdout=ended.stdout, stderr=ended.stderr, returncode=ended.returncode)


def _alone(order: dict[str, Any], folders: list[Path], env: Mapping[str, str], at: Path, timeout: float) -> Result:
    """The end of a fresh interpreter that ran a case."""
    (at / "order.json").write_text(json.dumps(order))
    first = "import hotfix.auto; " if order["hotfix"] else ""
    command = ["-c", f"{first}import sys; from tools.testbed.child import main; main(sys.argv[1])", str(at)]
    return _process(command, folders, env, at, timeout)


def _told(process: Result, at: Path, number: int) -> Result:
    """The recorded result of one run, or the end of the process if it recorded none."""
    import torch

    result = replace(process)
    if not (at / f"{number}.json").exists():
        result.error = process.error or ("ProcessDied", f"return code {process.returncode}", process.stderr)
        return result
    answer = json.loads((at / f"{number}.json").read_text())
    result.error = answer["error"] and tuple(answer["error"])
    result.tensors = torch.load(at / f"{number}.pt", weights_only=True)
    result.flash_calls = answer["flash_calls"]
    result.report = answer["report"]
    result.versions = answer["versions"]
    return result


def _folders(transformers: str, flash_attn: str | None, xformers: str | None, extras: Sequence[str]) -> list[Path]:
    folders = [overlay.overlay(transformers, extras)]
    if flash_attn is not None:
        folders.append(overlay.flash_attn(flash_attn))
    if xformers is not None:
        folders.append(overlay.xformers(xformers))
    return folders


def _script(arguments: list[str], folders: list[Path], env: Mapping[str, str] | None, timeout: float) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls"
        calls.mkdir()
        settings = {"TESTBED_CALLS": str(calls), **(env or {})}
        result = _process(arguments, folders, settings, Path(folder), timeout)
        total: Counter[str] = Counter()
        for written in calls.glob("*.json"):
            total.update(json.loads(written.read_text()))
        result.flash_calls = dict(total)
    return result


def _process(arguments: list[str], folders: list[Path], env: Mapping[str, str], at: Path, timeout: float) -> Result:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=at,
        env=environment(folders, env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a time-out ends the workers of the child as well
    )
    error = None
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        error = ("TimeoutExpired", f"after {timeout} seconds", stderr)
    return Result(error=error, stdout=stdout, stderr=stderr, returncode=process.returncode)
