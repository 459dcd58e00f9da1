"""A place that has received a name from a module: what happens there later.

Each program is a process of its own: below a test runner, which handles errors, no place is known.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import types
from hotfix.patching import restoring

restoring.prepare()
module = types.ModuleType("library")
descriptor = restoring.Restored("gone", "restored")
restoring.put(module, "gone", descriptor)

def use():
    return module.gone

def prepared():
    try:
        return use()
    except AttributeError:
        return "own"

class Own(type(module)):
    def __getattr__(self, name):
        return f"of the class: {name}"

for change in ("", "", CHANGES):
    exec(change)
    assert descriptor._known or not change
    print(use())
print(prepared())
print(len(descriptor._known))
"""


def printed(*changes: str) -> list[str]:
    """What the program prints after each change, by a caller that is prepared, and the number of known places."""
    text = PROGRAM.replace("CHANGES", ", ".join(map(repr, changes)))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[2:-1]


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ("pass", "restored"),
        ("module.__getattr__ = lambda name: f'own {name}'", "own gone"),
        ("module.gone = 7", "7"),
        ("module.__class__ = Own", "of the class: gone"),
    ],
)
def test_what_comes_later_takes_precedence(change, result):
    assert printed(change)[0] == result


def test_a_caller_that_handles_the_error_gets_it():
    assert printed("pass")[1] == "own"


def test_a_hook_that_is_removed_no_longer_answers():
    assert printed("module.__getattr__ = lambda name: 'own'", "del module.__getattr__")[:2] == ["own", "restored"]


def test_the_number_of_places_is_limited():
    many = "for number in range(300): exec(compile('module.gone', f'program{number}.py', 'exec'))"
    assert 1 <= int(printed(many)[-1]) <= 64
