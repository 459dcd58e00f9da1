"""Runs the plan: a fresh interpreter for each run, the comparison, and one file of results.

    python -m tools.studies.parity --device cuda --out result.json
    python -m tools.studies.parity.page --device cpu --only 'wide/*'       the same with tiny sizes, on the CPU testbed

The file is written after each entry. An entry that is in it and right is not run again, so that a plan can be cut into
pieces (``--limit``). Nothing here needs pytest or a network.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hotfix
from tools.studies.parity.plan import Entry, Reference, Run, entries

if TYPE_CHECKING:
    import torch

ROOT = Path(__file__).resolve().parents[3]
STAND_IN = Path(__file__).parent / "path"
OVERLAYS = ROOT / "overlays"
ARCHIVE = ROOT / "overlays.tar.xz"
BUILT = ROOT / "built"


@dataclass
class Done:
    """The outcome of one run: as `tools.studies.parity.child` wrote it, and the tensors."""

    results: dict[str, Any]
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def error(self) -> str:
        """``Type: message``, or an empty string."""
        return ": ".join(self.results["error"][:2]) if self.results["error"] else ""


@dataclass(frozen=True)
class Place:
    """Where runs run.

    Attributes:
        device: "cuda" or "cpu".
        overlays: the folder of releases in a bundle, or None: those of the CPU testbed, installed when needed.
        kernels: a folder that holds flash-attn's compiled kernels, or None.
        timeout: seconds for one run.
    """

    device: str
    overlays: Path | None = None
    kernels: Path | None = None
    timeout: float = 300

    def run(self, run: Run) -> Done:
        """Run it; an error of the case is in the result, not raised."""
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            order = {**asdict(run), "device": self.device}
            (at / "order.json").write_text(json.dumps(order))
            first = "import hotfix.auto; " if run.hotfix else ""
            code = f"{first}import sys; from tools.studies.parity.child import main; main(sys.argv[1])"
            ended = _ended([sys.executable, "-c", code, folder], self.environment(run), at, self.timeout)
            if not (at / "result.json").exists():
                return Done({"error": ended, "report": None, "kernels": {}, "versions": {}, "seconds": None})
            import torch

            return Done(json.loads((at / "result.json").read_text()), torch.load(at / "tensors.pt", weights_only=True))

    def environment(self, run: Run) -> dict[str, str]:
        """The whole environment of a run: its releases, no network, no other HOTFIX_*."""
        folders = [self._overlay(name, release) for name, release in _packages(run)]
        if self.overlays is not None:
            folders.append(self.overlays / "needs")  # what hotfix itself needs
        chosen = {"HOTFIX_ONLY": run.hotfix} if run.hotfix else {}
        # The order of additions is fixed where it can be, and no other framework is looked at.
        steady = {"FLASH_ATTENTION_DETERMINISTIC": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        steady |= {"USE_TORCH": "1", "USE_TF": "0", "USE_FLAX": "0"}
        if self.device == "cpu":
            from tools.testbed.run import environment

            results = environment(folders, {**steady, **chosen})
            return {**results, "PYTHONPATH": os.pathsep.join([str(STAND_IN), results["PYTHONPATH"]])}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("HOTFIX", "TRITON_INTERPRET"))
        }
        kernels = [] if run.flash_attn is None else [self.kernels or STAND_IN]
        results = {}
        if self.kernels and (self.kernels / "VERSION").is_file():
            results["PARITY_KERNELS_VERSION"] = (self.kernels / "VERSION").read_text().strip()
        return {
            **kept,
            **steady,
            **chosen,
            **results,
            "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *kernels, *folders])),
            "PYTHONNOUSERSITE": "1",
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }

    def _overlay(self, name: str, release: str) -> Path:
        if self.overlays is not None:
            folder = self.overlays / f"{name}-{release}"
            if not folder.is_dir():
                raise FileNotFoundError(f"this bundle has no {name} {release}: {folder}")
            return folder
        from tools.testbed import overlay

        install = {"transformers": overlay.overlay, "flash-attn": overlay.flash_attn, "xformers": overlay.xformers}
        return install[name](release)


def examine(entry: Entry, place: Place) -> dict[str, Any]:
    """Carry out an entry.

    Returns:
        The entry in the file of results. ``problems`` is empty if the entry is right.
    """
    done: dict[str, Done] = {}
    for name, run in entry.runs().items():
        done[name] = place.run(run)
    off, on = done["off"], done["on"]
    problems = []
    if not re.search(entry.raises, off.error):
        problems.append(f"without hotfix: expected {entry.raises!r}, got {off.error or 'no error'!r}")
    elif not off.error and not any(_differences(entry.references["fixed"], off, done["fixed"], None)):
        problems.append("without hotfix: no error, and the same as fixed")
    if on.error:
        problems.append(f"with hotfix: {on.error}")
    states = [outcome for outcome in (on.results["report"] or {}).get("outcomes", ()) if outcome["fix"] == entry.fix]
    if not any(state["state"] == "applied" for state in states):
        problems.append(f"with hotfix: not applied: {states}")
    compared = {}
    for name, reference in entry.references.items():
        other = done[name]
        if other.error:
            problems.append(f"{name}: {other.error}")
        elif not on.error:
            beside = done.get(f"beside {name}")
            compared[name] = compare(on.tensors, other.tensors)
            if beside is not None and not beside.error:
                compared[name]["eager in the same dtype"] = compare(beside.tensors, other.tensors)["distance"]
            problems += [f"{name}: {problem}" for problem in _differences(reference, on, other, beside)]
            compared[name]["release"] = reference.run.transformers
            compared[name]["reason"] = reference.reason
    return {
        "fix": entry.fix,
        "target": entry.target,
        "dtype": entry.dtype,
        "given": dict(entry.off.given),
        "versions": on.results["versions"],
        "kernels": on.results["kernels"],
        "before": off.error,
        "after": {"error": on.error, "tensors": len(on.tensors), "peak_bytes": on.results.get("peak_bytes")},
        "against": compared,
        "problems": problems,
        "seconds": {name: run.results["seconds"] for name, run in done.items()},
    }


def compare(ours: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """How far two runs are from each other.

    Returns:
        ``bitwise``: whether all tensors are the same, bit by bit, and have the same names. ``max_abs``: the largest
        difference of two numbers; ``relative``: the same as part of the largest number in its tensor; ``distance``: the
        largest of norm(ours - theirs) / norm(theirs); ``worst``: the tensor with that distance; ``only``: names that
        one of the two does not have.
    """
    numbers = {name: _difference(ours[name], theirs[name]) for name in ours if name in theirs}
    only = sorted(set(ours) ^ set(theirs))
    worst = max(numbers, key=lambda name: _nan_last(numbers[name]["distance"]), default=None)
    return {
        "bitwise": bool(numbers) and not only and all(measured["bitwise"] for measured in numbers.values()),
        **{key: max((measured[key] for measured in numbers.values()), key=_nan_last, default=None) for key in _NUMBERS},
        "worst": worst,
        "only": only,
        "tensors": len(numbers),
    }


def machine(device: str) -> dict[str, Any]:
    """The device, the driver and the versions that all runs share; the date is that of this machine's clock."""
    import torch

    facts: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kind": device,
        "device": platform.processor() or platform.machine(),
        "driver": None,
        "versions": {
            "hotfix": hotfix.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "CUDA of torch": torch.version.cuda,
            "triton": _installed("triton"),
            "platform": f"{platform.system()} {platform.machine()}",
        },
    }
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        capability = f"{properties.major}.{properties.minor}"
        facts |= {"device": properties.name, "capability": capability, "memory": properties.total_memory}
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        if shutil.which(asked[0]):
            answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
            facts["driver"] = answer[0] if answer else None
    return facts


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    chosen = [
        entry for entry in entries(options.size or _size_for(options.device)) if _is_chosen(entry.name, options.only)
    ]
    if options.list:
        print("\n".join(entry.name for entry in chosen))
        return 0
    place = usual_place(options.device, options.overlays, options.kernels, options.timeout)
    book = _opened(options.out, place, options.fresh)
    todo = [entry for entry in chosen if not _is_right(book["entries"].get(entry.name))]
    print(f"{len(chosen)} entries, {len(chosen) - len(todo)} of them done; results in {options.out}", flush=True)
    _carry_out(todo, place, options, book)
    if options.cost:
        from tools.studies.parity.cost import measure

        book["cost"] = measure(place, options.size or _size_for(options.device))
        _write(options.out, book)
    wrong = [entry for entry in chosen if not _is_right(book["entries"].get(entry.name))]
    for entry in wrong:
        print(f"{entry.name}: {book['entries'].get(entry.name, {}).get('problems', 'not run')}")
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} entries are right.")
    return 1 if wrong else 0


def usual_place(device: str, overlays: Path | None = None, kernels: Path | None = None, timeout: float = 300) -> Place:
    """A place with the packages at hand: a bundle's releases or the CPU testbed's; compiled kernels if they were built.

    Args:
        device: as in `Place`, and so on.
        overlays: instead of the bundle's.
        kernels: instead of those in ``built/``.
        timeout: as in `Place`.
    """
    folder = overlays or unpacked(ARCHIVE, OVERLAYS)
    compiled = kernels or (BUILT if list(BUILT.glob("flash_attn_2_cuda*.so")) else None)
    return Place(device, folder and folder.resolve(), compiled and compiled.resolve(), timeout)


def unpacked(archive: Path, folder: Path) -> Path | None:
    """The releases that a bundle brings, unpacked on first use; None where there is no bundle."""
    if folder.is_dir():
        return folder
    if not archive.is_file():
        return None
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    with tarfile.open(archive) as tar:
        tar.extractall(partial, filter="data")
    partial.rename(folder)
    return folder


# ---------------------------------------------------------------------------------------------------------------------

_NUMBERS = ("max_abs", "relative", "distance")


def _carry_out(todo: list[Entry], place: Place, options: argparse.Namespace, book: dict[str, Any]) -> None:
    end = time.monotonic() + options.limit
    with ThreadPoolExecutor(options.jobs) as pool:

        def run_entry(entry: Entry) -> tuple[Entry, dict[str, Any] | None]:
            return entry, examine(entry, place) if time.monotonic() < end else None

        for future in as_completed([pool.submit(run_entry, entry) for entry in todo]):
            entry, result = future.result()
            if result is not None:
                book["entries"][entry.name] = result
                _write(options.out, book)
                print(f"{'WRONG' if result['problems'] else 'right'}  {entry.name}", flush=True)


def _packages(run: Run) -> Iterable[tuple[str, str]]:
    pairs = (("transformers", run.transformers), ("flash-attn", run.flash_attn), ("xformers", run.xformers))
    return [(name, release) for name, release in pairs if release is not None]


def _ended(command: list[str], env: Mapping[str, str], at: Path, timeout: float) -> list[str] | None:
    """Run a process to its end; what went wrong with it as type, message and output, or None."""
    with open(at / "output", "w+") as output:
        process = subprocess.Popen(
            command, cwd=at, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            status = process.wait(timeout)
        except BaseException as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
            return ["TimeoutExpired", f"after {timeout} seconds", ""]
        output.seek(0)
        text = output.read()
    return ["ProcessDied", f"status {status}: {text[-500:]}", text] if status else None


def _difference(tensor: torch.Tensor, other: torch.Tensor) -> dict[str, Any]:
    import torch

    if tensor.shape != other.shape:
        return {"bitwise": False, **dict.fromkeys(_NUMBERS, math.inf)}
    same = tensor.dtype == other.dtype and torch.equal(tensor, other)
    gap, size = (tensor.double() - other.double()), other.double()
    largest, norm = float(size.abs().amax() if size.numel() else 0), float(size.norm())
    furthest = float(gap.abs().amax() if gap.numel() else 0)
    return {
        "bitwise": same,
        "max_abs": furthest,
        "relative": furthest / largest if largest else furthest,
        "distance": float(gap.norm()) / norm if norm else float(gap.norm()),
    }


def _differences(reference: Reference, on: Done, other: Done, beside: Done | None) -> Iterable[str]:
    """The differences that are larger than the reference allows."""
    only = sorted(set(on.tensors) ^ set(other.tensors))
    if only and reference.bound == 0:
        yield f"only one of the two has {', '.join(only)}"
    if not set(on.tensors) & set(other.tensors):
        yield "nothing to compare"
    compiled = any("backward" in name and "extension" in words for name, words in on.results["kernels"].items())
    for name in sorted(set(on.tensors) & set(other.tensors)):
        difference = _difference(on.tensors[name], other.tensors[name])
        if reference.beside is not None:
            if beside is None or beside.error:
                yield f"eager attention: {beside.error if beside else 'not run'}"
                return
            yardstick = _difference(beside.tensors[name], other.tensors[name])["distance"]
            if not difference["distance"] <= 2 * yardstick:
                yield f"{name} is {difference['distance']:.2e} away, eager attention {yardstick:.2e}"
            continue
        bound = reference.bound
        if not bound and compiled and name.startswith("gradient"):
            # The compiled backward adds up the gradient of the queries in no fixed order, unless it is called with an
            # option that the vision encoders and VAR do not set.
            bound = 2e-2 if on.tensors[name].dtype.itemsize == 2 else 4e-3
        if not (difference["bitwise"] if bound == 0 else difference["relative"] <= bound):
            yield f"{name} differs by {difference['relative']:.2e} of its largest number, allowed are {bound}"


def _nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _installed(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _size_for(device: str) -> str:
    return "real" if device == "cuda" else "tiny"


def _is_chosen(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_right(result: Mapping[str, Any] | None) -> bool:
    return result is not None and not result["problems"]


def _opened(path: Path, place: Place, fresh: bool) -> dict[str, Any]:
    """The file of results, if it is of this machine and these versions; else a new one."""
    here = machine(place.device)
    if path.is_file() and not fresh:
        book: dict[str, Any] = json.loads(path.read_text())
        before = book["machine"]
        if (before["device"], before["versions"]) != (here["device"], here["versions"]):
            raise SystemExit(f"{path} is of another machine, or of other versions; --fresh starts it again")
        return book
    return {"format": 1, "machine": here, "entries": {}}


def _write(path: Path, book: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({**book, "entries": dict(sorted(book["entries"].items()))}, indent=1) + "\n")
    partial.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.studies.parity", description="Every fix on a device.")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--size", choices=("real", "tiny"), help="default: real on a GPU, tiny on a CPU")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="entries; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("result.json"))
    parser.add_argument(
        "--overlays", type=Path, help="folder of releases; default: those of the bundle, or the testbed's"
    )
    parser.add_argument("--kernels", type=Path, help="folder with flash-attn's compiled kernels; default: built/")
    parser.add_argument("--jobs", type=int, default=1, help="entries at a time")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for one run")
    parser.add_argument("--limit", type=float, default=math.inf, metavar="SECONDS", help="begin no entry after that")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--cost", action="store_true", help="measure tools.studies.parity.cost as well")
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    return parser
