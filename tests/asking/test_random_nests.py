"""Random nests of try, with and loops, run for real: is the fate of an error in them predicted correctly?

`nox -s asking` tests ten thousand of them; ``ASKING_NESTS`` sets the number.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import random
import sys
from typing import Any, Optional

from hotfix.asking import _frames
from hotfix.asking._handlers import Fate

COUNT = int(os.environ.get("ASKING_NESTS", "400"))
SEED = int(os.environ.get("ASKING_SEED", "1"))
CLASSES = (
    *("ImportError", "ModuleNotFoundError", "AttributeError", "KeyError", "Exception", "BaseException"),
    *("(KeyError, ImportError)", "Alias", "RuntimeError", "builtins.OSError"),
)
MANAGERS = (
    *("contextlib.suppress(ImportError)", "suppress(KeyError)", "suppress(Alias, RuntimeError)", "Manager()"),
    *("suppress(*()) if 0 else Manager()", "passing()", "catching()", "open(os.devnull)"),
)
ENDINGS = (
    *(["w = 1"], ["w = 1"], ["w = 1"], ["len('a')"], ["raise"], ["raise RuntimeError('a') from None"]),
    *(["raise KeyError(1)"], ["return 5"], ["try:", "    raise KeyError", "except KeyError:", "    pass"]),
    *(["try:", "    len('a')", "finally:", "    q = 1"], ["with Manager():", "    s = 2"]),
    ["for n in (1, 2):", "    if n == 1:", "        continue", "    m = n"],
)


@contextlib.contextmanager
def passing():
    yield


@contextlib.contextmanager
def catching():
    try:
        yield
    except ImportError:
        print("caught")


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class Nest:
    """The lines of a random nest, with the call `ask()` at one point."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    def lines(self, depth: int) -> list[str]:
        kind = self.random.randrange(12)
        if depth <= 0 or kind == 0:
            return ["ask()"]
        if kind <= 5:
            return self.trying(depth)
        body = indented(self.body(depth))
        if kind <= 7:
            second = self.random.choice(["", ", Manager() as c", ", suppress(KeyError)"])
            return [f"with {self.random.choice(MANAGERS)}{second}:", *body]
        if kind == 8:
            return ["for n in (1,):", *body]
        if kind == 9:
            return ["if True:", *body, "else:", "    pass"]
        return ["while True:", *body, "    break"] if kind == 10 else ["v = 1", *self.body(depth)]

    def body(self, depth: int, asks: bool = True) -> list[str]:
        before = [f"x{self.random.randrange(9)} = 1"] if self.random.random() < 0.5 else []
        inside = self.lines(depth - 1) if asks else ["pass"]
        after = [self.random.choice(["y = f'{1}'", "len('a')", "z = [n for n in (1,)]"])]
        return [*before, *inside, *(after if self.random.random() < 0.3 else [])]

    def trying(self, depth: int) -> list[str]:
        where = self.random.choice(["body"] * 7 + ["handler", "else", "finally"])
        lines = ["try:", *indented(self.body(depth, where == "body"))]
        if where == "handler":
            lines.append("    raise KeyError('k')")
            lines += ["except KeyError:", *indented(self.body(depth))]
        for _ in range(self.random.randrange(1, 3)):
            keeps, ending = self.random.random() < 0.4, self.random.choice(ENDINGS)
            if keeps and ending == ["raise"] and self.random.random() < 0.5:
                ending = ["raise e"]
            lines += [f"except {self.random.choice(CLASSES)}{' as e' if keeps else ''}:", *indented(ending)]
        if where == "else" or self.random.random() < 0.2:
            lines += ["else:", *indented(self.body(depth, where == "else"))]
        if where == "finally" or self.random.random() < 0.35:
            lines += ["finally:", *indented(self.body(depth, where == "finally"))]
            if self.random.random() < 0.25:
                lines.append("    return 7")
        return lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def foreseen_and_real(text: str) -> Optional[tuple[Fate, Optional[type]]]:
    """The prediction for the first error that a program raises in `ask()`, and the error that left the program."""
    foreseen: list[Fate] = []

    def ask() -> None:
        if not foreseen:
            foreseen.append(_frames._fate(sys._getframe(1), ImportError))
        raise ImportError

    names: dict[str, Any] = {"builtins": builtins, "contextlib": contextlib, "suppress": contextlib.suppress, "os": os}
    names.update(ask=ask, Manager=Manager, passing=passing, catching=catching, Alias=ImportError, __name__="a_nest")
    raised: Optional[type] = None
    try:
        exec(compile(text, "a_nest", "exec"), names)
    except BaseException as error:
        raised = type(error)
    return (foreseen[0], raised) if foreseen else None


def test_the_outcome_of_an_error_is_predicted_in_random_nests() -> None:
    asked = certain = 0
    for number in range(COUNT):
        dice = random.Random(SEED * 1000003 + number)
        lines = Nest(dice).lines(dice.randrange(1, 6))
        if dice.random() < 0.6:
            text = "\n".join(["def nest():", *indented(lines), "nest()"])
        else:
            text = "\n".join(line.replace("return ", "w = ") for line in lines)
        try:
            result = foreseen_and_real(text)
        except SyntaxError:
            continue
        if result is None:
            continue
        fate, raised = result
        asked += 1
        assert fate.escapes or fate.caught, text
        if not fate.caught:
            certain += 1
            assert raised in fate.escapes or (raised and None in fate.escapes), (fate, raised, text)
        elif not fate.escapes:
            certain += 1
            assert raised is not ImportError or "raise" in text, (fate, text)
    assert certain > asked * 0.9
    assert asked > COUNT * 0.9
