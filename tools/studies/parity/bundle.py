"""One folder with all that CUDA parity needs, for a machine that has a GPU, Python and torch, and no network.

    python -m tools.studies.parity.bundle                          build/cuda-bundle, for Python 3.12 on x86-64 Linux
    python -m tools.studies.parity.bundle --only 'wide/*' --zip    a part of the plan, and the folder as a zip file, too

Its contents:

    overlays.tar.xz   the releases that the plan runs on, each a folder with what it needs, but for torch, triton and
                      numpy, which are the machine's own; a file that several releases share is there once
    sources/          flash-attn's sources, for `tools/studies/parity/build_flash_attn.sh`
    hotfix/ tests/ benchmarks/   this repository's code, as far as the runner needs it
    manifest.json     what it was made for and of

There, ``python3 -m tools.studies.parity --out result.json`` runs the plan; see `tools.studies.parity.runner`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import hotfix
from tools.studies.parity import plan
from tools.testbed import overlay

ROOT = Path(__file__).resolve().parents[3]
NATIVE = "native"
SOURCES = ("2.7.4.post1", "2.8.3")
CODE = (
    "hotfix",
    "tools/testbed",
    "tools/studies/parity",
    "tools/__init__.py",
    "tools/studies/__init__.py",
    "tools/probes.py",
)
# The machine's own torch brings numpy; hf-xet speeds up downloads, and there are none.
ABSENT = ("torch", "triton", "numpy", "hf-xet")


@dataclass(frozen=True)
class Target:
    """The machine that a bundle is made for.

    Attributes:
        python: version, "3.12".
        platform: as uv names it, "x86_64-manylinux_2_28"; `NATIVE` is the machine and the Python that make it.
    """

    python: str
    platform: str

    def install(self, folder: Path, *requirements: str, dependencies: bool = True) -> None:
        """Install wheels for the target into a folder, without what is `ABSENT`."""
        overrides = folder.with_suffix(".overrides")
        overrides.write_text("".join(f"{name}; python_version < '0'\n" for name in ABSENT))
        command = [overlay._uv(), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder)]
        command += ["--only-binary", ":all:", "--override", str(overrides)]
        if self.platform != NATIVE:
            command += ["--python-version", self.python, "--python-platform", self.platform]
        command += [] if dependencies else ["--no-deps"]
        environment = dict(os.environ)
        environment.setdefault("UV_FIND_LINKS", environment.get("PIP_FIND_LINKS", ""))
        _checked([*command, *requirements], environment)
        overrides.unlink()


def make(out: Path, target: Target, only: Sequence[str], sources: Sequence[str], preset: int = 6) -> dict[str, object]:
    """Make a bundle.

    Args:
        out: the folder; its contents are replaced.
        target: the machine.
        only: patterns of names of entries; empty for the whole plan.
        sources: releases of flash-attn whose sources go along.
        preset: of the compression, 0 to 9.

    Returns:
        The manifest.
    """
    chosen = [
        entry for entry in plan.entries("real") if not only or any(fnmatchcase(entry.name, name) for name in only)
    ]
    if not chosen:
        raise SystemExit(f"no entry is called {' or '.join(only)}")
    releases = plan.releases(chosen)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as staging:
        folders = list(_overlays(Path(staging), target, releases))
        pack(out / "overlays.tar.xz", folders, preset)
    for name in CODE:
        _copy(ROOT / name, out / name)
    for release in sources:
        _fetch_source(release, out / "sources")
    manifest: dict[str, object] = {
        "hotfix": hotfix.__version__,
        "python": target.python,
        "platform": target.platform,
        "releases": releases,
        "sources": list(sources),
        "entries": [entry.name for entry in chosen],
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def pack(archive: Path, folders: Iterable[Path], preset: int) -> None:
    """Write folders into one archive; of equal files, all but the first are links to it.

    Files of one name are written one after the other: releases differ by little, and what compresses them sees that.
    """
    files = [(path.relative_to(folder), folder, path) for folder in folders for path in _files(folder)]
    first: dict[str, str] = {}
    with (
        lzma.open(archive, "wb", preset=preset) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for relative, folder, path in sorted(files, key=lambda entry: (str(entry[0]), entry[1].name)):
            name = f"{folder.name}/{relative}"
            info = tarfile.TarInfo(name)
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest in first:
                info.type, info.linkname = tarfile.LNKTYPE, first[digest]
                tar.addfile(info)
                continue
            first[digest] = name
            info.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(info, content)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    target = Target(options.python, options.platform)
    manifest = make(options.out, target, options.only, [] if options.no_sources else SOURCES, options.preset)
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    if options.zip:
        print(shutil.make_archive(str(options.out), "zip", options.out))
    print(f"{options.out}: {size / 2**20:.1f} MiB, {len(manifest['entries'])} entries, {manifest['releases']}")  # type: ignore[arg-type]
    if size > options.max * 2**20:
        print(f"That is more than {options.max} MiB: --no-sources or --only makes it smaller.")
        return 1
    return 0


# ---------------------------------------------------------------------------------------------------------------------


def _overlays(staging: Path, target: Target, releases: dict[str, list[str]]) -> Iterator[Path]:
    """Install each release in a folder named ``package-release``."""
    for release in releases["transformers"]:
        folder = staging / f"transformers-{release}"
        target.install(folder, f"transformers=={release}")
        yield folder
    for release in releases["flash-attn"]:
        # Its Python part is the same on every platform.
        folder = staging / f"flash-attn-{release}"
        shutil.copytree(overlay.flash_attn(release), folder)
        compiled = [str(path) for path in folder.rglob("*.so")]
        if compiled:
            raise SystemExit(f"flash-attn was to have no compiled part: {compiled}")
        yield folder
    for release in releases["xformers"]:
        folder = staging / f"xformers-{release}"
        target.install(folder, f"xformers=={release}", dependencies=False)
        yield folder
    folder = staging / "needs"  # of hotfix itself
    target.install(folder, "wrapt>=1.15", "packaging>=22")
    yield folder


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder, without caches, scripts and lists of files."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder).parts
        useless = "__pycache__" in inside or inside[0] == "bin" or path.name in ("RECORD", "overrides.txt", ".lock")
        if path.is_file() and not useless:
            yield path


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__", "results"))
    else:
        shutil.copy(source, to)


def _fetch_source(release: str, folder: Path) -> None:
    """The sources of flash-attn. pip asks them for their metadata, for which nothing has to be compiled."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--no-binary", ":all:", "--dest", str(folder), f"flash-attn=={release}"]
    _checked(command, {**os.environ, "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE"})


def _checked(command: Sequence[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.studies.parity.bundle", description="The bundle for a GPU machine."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "cuda-bundle")
    parser.add_argument("--python", default="3.12", help="version of the machine's Python")
    parser.add_argument("--platform", default="x86_64-manylinux_2_28", help=f"as uv names it, or {NATIVE!r}")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="entries; may be repeated")
    parser.add_argument("--no-sources", action="store_true", help="leave flash-attn's sources out")
    parser.add_argument("--preset", type=int, default=6, help="of the compression")
    parser.add_argument("--max", type=float, default=64, metavar="MIB", help="fail if it becomes larger")
    parser.add_argument("--zip", action="store_true", help="make a zip file of the folder, too")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
