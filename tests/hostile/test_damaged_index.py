"""A guard does not trust a damaged installation of hotfix.

- With HOTFIX_STRICT, HOTFIX_REQUIRE or HOTFIX_PIN, an index of the fixes that is incomplete or was changed stops a
  program before its first step, and the message names the file.
- Without a guard, the remaining entries of the index are applied as before, and the program continues.
"""

from __future__ import annotations

import pytest

from hotfix.engine.catalogue import INDEX
from hotfix.engine.index import Index

from .conftest import World

RUN = "import hotfix.auto, transformers.toy as toy\nprint('step 0', toy.scale(5))\n"
DAMAGE = {
    "without the line of a module": ('  "transformers.toy": ["toy-scale"]', ""),
    "with another module": ('"transformers.toy": [', '"transformers.tox": ['),
    "with fewer targets": ('"targets": {"transformers.toy:scale": "==1.0"}', '"targets": {}'),
    "with another range": ("==1.0", "==2.0"),
    "with another kind": ('"kind": "silent"', '"kind": "crash"'),
    "off by default": ('"optin": false', '"optin": true'),
    "examined": ('"examined": {"transformers": []}', '"examined": {"transformers": ["1.0"]}'),
    "without its digest": ('"digest"', '"no digest"'),
}


@pytest.mark.parametrize("guard", ["HOTFIX_STRICT", "HOTFIX_REQUIRE", "HOTFIX_PIN"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_an_index_that_is_not_whole_stops_a_guarded_program(world: World, damage: str, guard: str) -> None:
    digest = world.run("import hotfix.auto, hotfix, transformers.toy\nprint(hotfix.digest())\n").stdout.strip()
    value = {"HOTFIX_STRICT": "1", "HOTFIX_REQUIRE": "toy-scale", "HOTFIX_PIN": digest}[guard]
    assert world.run(RUN, **{guard: value}).stdout == "step 0 10\n"
    file = world.folder / "evidence" / "index.json"
    text = file.read_text()
    assert DAMAGE[damage][0] in text
    file.write_text(text.replace(*DAMAGE[damage]))
    done = world.run(RUN, check=False, **{guard: value})
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert str(file) in done.stderr
    assert world.run(RUN).stdout.startswith("step 0")


def test_the_index_of_this_checkout_is_whole() -> None:
    Index(INDEX).check()
