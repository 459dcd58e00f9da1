"""The page of transcripts: five stories of a new user, with the output and the processor time of each command.

    python -m tools.transcripts             writes docs/transcripts.md
    python -m tools.transcripts 2 5         runs the second and the fifth story again, and keeps the others
    python -m tools.transcripts --check     only checks that every screen of the command fits: 40 lines, no wide line

Each command runs in a pseudo-terminal of 80 columns, in an environment made for the story: a virtual environment with
torch and a release of transformers, in which hotfix is installed from a clone of the last commit. Only colours,
trailing spaces and the folders of this machine are edited, and `...` replaces lines that are left out. `--check` runs
`COMMANDS` on the releases of `STACKS` in terminals of two widths, and `hotfix status` without the extra.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import resource
import struct
import subprocess
import sys
import sysconfig
import tempfile
import termios
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.testbed import overlay

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "transcripts.md"
LINES = 40
WIDTHS = (80, 60)
STACKS = {
    "transformers 4.49.0 with flash-attn 2.7.4": ("4.49.0", "2.7.4.post1"),
    "transformers 4.54.0": ("4.54.0", ""),
    "transformers 5.3.0": ("5.3.0", ""),
    "a release without these bugs: transformers 5.23.0": ("5.23.0", ""),
    "no transformers": ("", ""),
}
ROTARY = "Input and cos/sin must have the same dtype"
COMMANDS = (
    ("status",),
    ("doctor", "--quick"),
    ("explain", "--error", ROTARY),
    ("explain", "--error", "cannot import name 'Qwen3VLForConditionalGeneration' from 'transformers'"),
    ("scan", "requirements.txt"),
    ("config",),
)


class Step(NamedTuple):
    """One command of a story.

    Attributes:
        command: as it is typed.
        before: a sentence above it.
        last: how many of its last lines are shown; 0: all.
    """

    command: str
    before: str = ""
    last: int = 0


class Story(NamedTuple):
    """The commands that a user types for one purpose.

    Attributes:
        title: the heading.
        about: a paragraph below it.
        packages: transformers, and what is installed with it.
        files: by name, and their text; the user's own.
        steps: the commands, in order.
        thought: where a reader stops to think, and the answer.
        installed: whether hotfix is there from the start.
    """

    title: str
    about: str
    packages: tuple[str, ...]
    files: Mapping[str, str]
    steps: tuple[Step, ...]
    thought: str = ""
    installed: bool = True


_TRAIN = """from transformers import TrainingArguments

arguments = TrainingArguments("run", eval_strategy="epoch", use_cpu=True, report_to=[])
print("evaluation after each", arguments.evaluation_strategy.value)
"""
_LOCK = 'version = 1\nrequires-python = ">=3.10"\n' + "".join(
    f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
    for name, version in (("accelerate", "1.9.0"), ("torch", "2.7.1"), ("transformers", "4.54.0"), ("trl", "0.20.0"))
)
_REVERT = """import hotfix.auto
import hotfix
import runpy

runpy.run_path("hotfix/examples/first_run.py")
hotfix.revert()
runpy.run_path("hotfix/examples/first_run.py")
"""
STORIES = (
    Story(
        "From the top of README to a repaired run",
        "The environment has torch and transformers 5.2.0; the folder has the clone, `hotfix`.",
        ("transformers==5.2.0",),
        {},
        (
            Step("pip install './hotfix[cli]'", last=1),
            Step("hotfix status"),
            Step("python hotfix/examples/first_run.py", "The program, without hotfix: six tokens too many."),
            Step(
                "hotfix run -- python hotfix/examples/first_run.py",
                "The same program with hotfix. The last line is printed on stderr when a process exits, so a process "
                "that is killed prints none.",
            ),
            Step(
                "HOTFIX_LOG=info hotfix run -- python hotfix/examples/first_run.py 2>&1 | tail -n 5",
                "Each repair has a line of its own in the log, at the moment it is made.",
            ),
        ),
        "`hotfix status` calls the bugs broken and pending, although nothing is wrong with the installation: they stay "
        "until a program starts with hotfix, as the sentence below the list says.",
        installed=False,
    ),
    Story(
        "I have this error message",
        "`train.py` was written for a later release than transformers 4.40.2:\n\n```python\n" + _TRAIN + "```",
        ("transformers==4.40.2", "accelerate==0.30.1"),
        {"train.py": _TRAIN},
        (
            Step("python train.py", last=1),
            Step("python train.py 2>&1 | hotfix explain -"),
            Step("hotfix run -- python train.py"),
        ),
        "The report is longer than the answer: its last row, what to do, is the one to read first.",
    ),
    Story(
        "I have this lock file",
        "`uv.lock` pins transformers 4.54.0, torch 2.7.1, accelerate 1.9.0 and trl 0.20.0. Nothing of it has to be "
        "installed.",
        (),
        {"uv.lock": _LOCK},
        (
            Step("hotfix scan uv.lock"),
            Step("hotfix explain decoder-text-config-cache", "One of the crashes that hotfix does not repair:"),
            Step(
                "hotfix scan uv.lock --fail-on silent > /dev/null; echo $?",
                "In a continuous integration job, the exit status is what counts.",
            ),
        ),
        "Two releases are offered, and both have other bugs. hotfix cannot know which bugs a program meets, so the "
        "reader decides: `hotfix audit` shows which bugs a run triggers.",
    ),
    Story(
        "Was my run affected?",
        "`examples/sft.py` fine-tunes a small model on transformers 4.48.0. "
        "[Was my run affected?](audit.md) explains the answer.",
        ("transformers==4.48.0", "accelerate==1.15.0"),
        {"sft.py": (ROOT / "examples" / "sft.py").read_text(encoding="utf-8")},
        (
            Step("hotfix audit -- python sft.py"),
            Step("hotfix run -- python sft.py", "The same run, repaired:"),
        ),
        "A loss of 16.6 does not look wrong by itself. Only the repaired run shows that it is four times 4.2.",
    ),
    Story(
        "I want it off",
        "The environment has transformers 5.2.0 and hotfix. `revert.py` calls `hotfix.revert()` between two runs:\n\n"
        "```python\n" + _REVERT + "```",
        ("transformers==5.2.0",),
        {"revert.py": _REVERT},
        (
            Step("HOTFIX=0 hotfix run -- python hotfix/examples/first_run.py", "For one run:"),
            Step(
                "HOTFIX_SKIP=v5-model-max-length-extended hotfix run -- python hotfix/examples/first_run.py",
                "One fix alone:",
            ),
            Step("python revert.py", "Inside a program:"),
            Step("pip uninstall -y transformers-hotfix", "For good:", last=1),
            Step("python hotfix/examples/first_run.py"),
        ),
        "The package to uninstall is `transformers-hotfix`; `hotfix` on the package index is another project.",
    ),
)
_INTRO = """---
search: { exclude: true }  # the same reports as on the pages of the fixes, cut to a screen
---

# What it looks like

Five things that a new user does, from a clone: each screen is what a command printed in a terminal of 80 columns, with
its seconds of processor time. `python -m tools.transcripts` runs them again and writes this page; `...` stands for
lines that are left out.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.transcripts", description="Write the page of transcripts.")
    parser.add_argument("stories", nargs="*", type=int, metavar="N", help="the stories to run (default: all)")
    parser.add_argument("--check", action="store_true", help="only check that every screen of the command fits")
    options = parser.parse_args(arguments)
    if options.check:
        screens = [(heading, *screen) for heading, all_of_it in transcripts() for screen in all_of_it]
        problems = [
            f"{heading}: {command}: {problem}"
            for heading, command, width, text in screens
            for problem in does_not_fit(text, width)
        ]
        print("\n".join(problems) or f"{len(screens)} screens, all of them fit")
        return int(bool(problems))
    before = {
        part.partition("\n")[0]: part for part in re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.M)
    }
    parts = [_INTRO]
    for number, story in enumerate(STORIES, 1):
        if options.stories and number not in options.stories:
            parts.append(before[f"## {story.title}"].rstrip("\n") + "\n")
        else:
            parts.append(run_story(story))
            print(f"{number}. {story.title}", flush=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    return 0


def run_story(story: Story) -> str:
    """The part of the page about one story: its commands are run now."""
    parts = [f"## {story.title}\n\n{story.about}\n"]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        environment = _environment(here, story)
        for step in story.steps:
            started = _seconds()
            text = _screen(["bash", "-c", step.command], here / "work", environment, WIDTHS[0])
            seconds = _seconds() - started
            text = text.replace(f"{here / 'work'}/", "").replace(str(here / "env"), "env")
            lines = text.split("\n")
            shown = ["...", *lines[-step.last :]] if 0 < step.last < len(lines) else lines
            before = f"{step.before}\n\n" if step.before else ""
            parts.append(
                f"{before}```console\n$ {step.command}\n" + "\n".join([*(shown if text else []), "```"]) + "\n"
            )
            parts.append(f"*{seconds:.1f} s*\n")
    if story.thought:
        parts.append(f"**Where one stops to think.** {story.thought}\n")
    return "\n".join(parts)


def _seconds() -> float:
    """The processor time of all commands so far; other programs on the machine do not change it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(here: Path, story: Story) -> dict[str, str]:
    """An environment with the packages of a story, in the folder `env`; its working folder is `work`."""
    (here / "work").mkdir()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(here / "work" / "hotfix")], check=True)
    for name, text in story.files.items():
        (here / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "work" / name).write_text(text, encoding="utf-8")
    venv.create(here / "env", with_pip=True)
    # The user's installed packages are those of this interpreter, without hotfix.
    packages = here / "packages"
    packages.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "hotfix" not in entry.name and not entry.name.startswith(("pip", "setuptools")):
            (packages / entry.name).symlink_to(entry)
    release = next(
        (package.partition("==")[2] for package in story.packages if package.startswith("transformers==")), ""
    )
    extras = [package for package in story.packages if not package.startswith("transformers==")]
    path = [overlay.overlay(release, extras)] if release else []
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX") and name != "COLUMNS"}
    environment = {
        **kept,
        "PATH": os.pathsep.join([str(here / "env" / "bin"), kept.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join(map(str, [*path, packages])),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TERM": "xterm-256color",
    }
    if story.installed:
        command = ["pip", "install", "--quiet", "./hotfix[cli]"]
        subprocess.run(command, cwd=here / "work", env=environment, check=True)
    return environment


def transcripts() -> Iterator[tuple[str, list[tuple[str, int, str]]]]:
    """For each stack: command, width and output."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "requirements.txt").write_text("transformers==4.54.0\n")
        for heading, (release, flash) in STACKS.items():
            path = [overlay.overlay(release), *([overlay.flash_attn(flash)] if flash else [])] if release else []
            screens = []
            for words in COMMANDS:
                command = "hotfix " + " ".join(f'"{word}"' if " " in word else word for word in words)
                screens += [(command, width, run(words, path, width, here)) for width in WIDTHS]
            plain = run(("status",), path, WIDTHS[0], here, bare=True)
            screens.append(("hotfix status   # without the extra", WIDTHS[0], plain))
            yield heading, screens


def run(words: Sequence[str], path: Sequence[Path], width: int, cwd: Path, bare: bool = False) -> str:
    """The output of a command on a screen.

    Args:
        words: the arguments of ``hotfix``.
        path: folders for PYTHONPATH.
        width: columns of the screen.
        cwd: where it runs.
        bare: whether only hotfix's requirements can be imported.
    """
    flags = []
    folders = [*map(str, path), str(ROOT)]
    if bare:
        import packaging
        import wrapt

        needed = cwd / ".needed"
        needed.mkdir(exist_ok=True)
        for module in (packaging, wrapt):
            folder = Path(str(module.__file__)).parent
            if not (needed / folder.name).exists():
                (needed / folder.name).symlink_to(folder)
        flags, folders = ["-S"], [*folders, str(needed)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX") and name != "COLUMNS"}
    environment = {**kept, "PYTHONPATH": os.pathsep.join(folders), "TERM": "xterm-256color"}
    return _screen([sys.executable, *flags, "-m", "hotfix", *words], cwd, environment, width)


def _screen(command: Sequence[str], cwd: Path, environment: Mapping[str, str], width: int) -> str:
    """The output of a command on a screen, without colours and without the folders of this machine."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, width, 0, 0))
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the error on Linux when the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait()
    os.close(ours)
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", b"".join(pieces).decode())
    homes = [place for place in sys.path if place and (Path(place) / "hotfix").is_dir()]
    for private, shown in ((str(cwd), "."), *((home, "…") for home in (str(ROOT), *homes)), (sys.executable, "python")):
        text = text.replace(private, shown)
    return "\n".join(line.rstrip() for line in text.replace("\r", "").strip("\n").split("\n"))


def does_not_fit(text: str, width: int) -> list[str]:
    """The errors of a screen, in sentences."""
    lines = text.split("\n")
    problems = [f"{len(lines)} lines"] if len(lines) > LINES else []
    return problems + [f"a line of {len(line)} columns" for line in lines if len(line) > width]


if __name__ == "__main__":
    sys.exit(main())
