"""Which reads of ``config.rope_scaling`` would end in a KeyError: by the bytecode of this Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from hotfix.names.rope_scaling_never_none import as_read
from hotfix.patching import restoring

restoring.prepare()

class Config:
    def __init__(self, **parameters):
        self.parameters = parameters
    rope_scaling = property(as_read(lambda self: self.parameters))

class Layer:
    def __init__(self, **parameters):
        self.config = Config(**parameters)
        self.scaled = False

plain = Layer(rope_type="default", rope_theta=10000.0)
linear = Layer(rope_type="linear", rope_theta=10000.0, factor=2.0)
"""

# Name, the body of a function of a layer, and what it returns for `plain` and for `linear`.
FAILING = {
    "is None": (
        """
        if self.config.rope_scaling is None:
            return "plain"
        else:
            kind = self.config.rope_scaling["type"]
            return kind, self.config.rope_scaling["factor"]
        """,
        ["plain", ("linear", 2.0)],
    ),
    "is not None": (
        """
        factor = 1.0
        if self.config.rope_scaling is not None:
            depth = self.config.rope_scaling.get("depth", 0)
            factor = self.config.rope_scaling["factor"]
            if depth:
                factor *= depth
        return factor
        """,
        [1.0, 2.0],
    ),
    "ternary": ('return 1.0 if self.config.rope_scaling is None else self.config.rope_scaling["factor"]', [1.0, 2.0]),
}
WORKING = {
    "the key is stored first": (
        """
        if self.config.rope_scaling is not None:
            self.config.rope_scaling["type"] = self.config.rope_scaling.get("rope_type", "default")
            return self.config.rope_scaling["type"]
        return "None"
        """,
        ["default", "linear"],
    ),
    "a method stores the key": (
        """
        if self.config.rope_scaling is None:
            return "None"
        self.config.rope_scaling.setdefault("factor", 1.0)
        return self.config.rope_scaling["factor"]
        """,
        [1.0, 2.0],
    ),
    "a function stores the key": (
        """
        def complete(scaling):
            scaling["factor"] = 1.0
        if self.config.rope_scaling is None:
            return "None"
        complete(self.config.rope_scaling)
        return self.config.rope_scaling["factor"]
        """,
        [1.0, 1.0],
    ),
    "another key": (
        """
        if self.config.rope_scaling is None:
            return "plain"
        return self.config.rope_scaling["rope_type"]
        """,
        ["default", "linear"],
    ),
    "a default": (
        """
        if self.config.rope_scaling is None:
            return "plain"
        return self.config.rope_scaling.get("type", "none")
        """,
        ["none", "none"],
    ),
    "asks before": (
        """
        if self.config.rope_scaling is not None and "type" in self.config.rope_scaling:
            return self.config.rope_scaling["type"]
        return "none"
        """,
        ["none", "none"],
    ),
    "under a condition": (
        """
        if self.config.rope_scaling is not None:
            result = "there"
            if self.scaled:
                result = self.config.rope_scaling["type"]
            return result
        return "none"
        """,
        ["there", "there"],
    ),
    "a handler around the subscript": (
        """
        if self.config.rope_scaling is not None:
            try:
                return self.config.rope_scaling["type"]
            except KeyError:
                return "none"
        return "None"
        """,
        ["none", "none"],
    ),
    "a handler further up": (
        """
        def kind():
            if self.config.rope_scaling is None:
                return "None"
            return self.config.rope_scaling["type"]

        try:
            return kind()
        except KeyError:
            return "none"
        """,
        ["none", "none"],
    ),
    "a variable": (
        """
        scaling = self.config.rope_scaling
        return scaling is None, sorted(scaling)[0]
        """,
        [(False, "rope_theta"), (False, "factor")],
    ),
}


def printed(body: str) -> str:
    """What a function with this body returns for a configuration without scaling, and for one with it."""
    lines = [f"    {line}" for line in body.strip("\n").split("\n")]
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip()) - 4
    function = "\n".join(["def read(self):", *(line[indent:] for line in lines)])
    text = f"{PROGRAM}\n{function}\nprint([read(plain), read(linear)])\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="there the release's own result is kept")
@pytest.mark.parametrize("name", FAILING)
def test_code_that_would_fail_gets_what_it_expects(name: str) -> None:
    body, expected = FAILING[name]
    assert printed(body) == repr(expected)


@pytest.mark.parametrize("name", WORKING)
def test_code_that_works_gets_what_the_release_has(name: str) -> None:
    body, expected = WORKING[name]
    assert printed(body) == repr(expected)
