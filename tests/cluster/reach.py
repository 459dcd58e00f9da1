"""Which way of injection reaches which kind of process. Each cell is asserted by a test; docs/reach.md is the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

AUTOLOAD, RUN, IMPORT, RAY_ENV, RAY_HOOK = "autoload", "run", "import", "env_vars", "hook"

WAYS = {
    AUTOLOAD: "`transformers-hotfix-autoload`",
    RUN: "`hotfix run --`",
    IMPORT: "`import hotfix.auto` in the main script",
}

RAY_WAYS = {
    AUTOLOAD: "`transformers-hotfix-autoload`",
    RUN: "`hotfix run --`",
    IMPORT: "`import hotfix.auto` in the driver",
    RAY_ENV: "`runtime_env`, `env_vars`",
    RAY_HOOK: "`runtime_env`, `worker_process_setup_hook`",
}

# One character for each way, in the order of WAYS: + is reached, - is not.
LIGHT = {
    "python script.py": "+++",
    "python -m module": "+++",
    "python -c": "+++",
    "python -E": "+-+",
    "python -I": "+-+",
    "python -S": "--+",
    "a zipapp": "+++",
    "multiprocessing, fork": "+++",
    "multiprocessing, spawn": "+++",
    "multiprocessing, forkserver": "+++",
    'multiprocessing, spawn, import under `if __name__ == "__main__"`': "++-",
    "a subprocess": "++-",
    "a subprocess with an emptied environment": "+--",
    "a subprocess under python -I": "+--",
    "the Python of a venv made from the venv": "---",
}

HEAVY = {
    "a DataLoader worker, spawn": "+++",
    "a rank of torchrun": "+++",
    "a rank of accelerate launch": "+++",
    "a rank that imports hotfix only in the launching script": "++-",
}

RAY = {
    "a Ray task": "++-++",
    "a Ray actor": "++-++",
}


def expected(kind: str, way: str) -> bool:
    """Whether a way of injection reaches a kind of process."""
    for rows, ways in ((LIGHT, WAYS), (HEAVY, WAYS), (RAY, RAY_WAYS)):
        if kind in rows:
            return rows[kind][list(ways).index(way)] == "+"
    raise KeyError(kind)


def cells() -> Iterator[tuple[str, str]]:
    """Every cell: the kind of process and the way."""
    for rows, ways in ((LIGHT, WAYS), (HEAVY, WAYS), (RAY, RAY_WAYS)):
        for kind in rows:
            for way in ways:
                yield kind, way


def render(seen: Mapping[tuple[str, str], bool]) -> str:
    """The page for the docs."""
    words = {True: "yes", False: "no"}
    lines = [INTRODUCTION]
    for ways, kinds in ((WAYS, [*LIGHT, *HEAVY]), (RAY_WAYS, [*RAY])):
        lines += ["", f"| process | {' | '.join(ways.values())} |", "| --- " * (len(ways) + 1) + "|"]
        lines += [f"| {kind} | {' | '.join(words[seen[kind, way]] for way in ways)} |" for kind in kinds]
    return "\n".join([*lines, REMARKS])


INTRODUCTION = """\
# Which way reaches which process

Every cell is a test (`tests/cluster`); this page is written by the test run.
A process is reached if a function with a known bug is repaired in it when it imports the module.
"""

REMARKS = """
Remarks.

- `python -S` reads no start-up files and does not look into site-packages; only a program that finds hotfix by itself
  and imports it first is repaired.
- A venv that was made from the venv has site-packages of its own. Install hotfix there too.
- With spawn and forkserver the child executes the main script again, so an `import hotfix.auto` at its top is executed
  there, and one under `if __name__ == "__main__":` is not.
- `hotfix run` works through `PYTHONPATH`: it ends where the environment does, and where `-E` or `-I` says not to look.
- A process that cannot be reached is not a silent risk: it leaves no record (`hotfix fleet` names its rank), and
  `hotfix.assert_uniform()` fails on every rank.
"""


if __name__ == "__main__":
    print(render({cell: expected(*cell) for cell in cells()}), end="")
