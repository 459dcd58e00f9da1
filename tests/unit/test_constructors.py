"""Constructors that leave traces outside of the model, and those of ordinary models, which leave none."""

import math
from typing import Any

import pytest

from hotfix.loading._constructors import leave_traces

REGISTRY: dict[Any, Any] = {}
MADE: list[Any] = []
LAST: Any = None


class Part:
    def __init__(self, size):
        self.size = size


class ByName:
    def __init__(self):
        REGISTRY["here"] = self


class OfParts:
    def __init__(self):
        self.part = Part(1)
        MADE.append(self.part)


class Counted:
    count = 0

    def __init__(self):
        Counted.count += 1


class CountedByType:
    count = 0

    def __init__(self):
        type(self).count += 1


class CountedByClass:
    count = 0

    def __init__(self):
        self.__class__.count += 1


class PassedOn:
    def __init__(self):
        print(self)


class Global:
    def __init__(self):
        global LAST
        LAST = self


class ByAMethod:
    def __init__(self):
        self._register()

    def _register(self):
        REGISTRY[id(self)] = self


class Made:
    def __new__(cls):
        made = super().__new__(cls)
        REGISTRY["made"] = made
        return made


class Ordinary(Part):
    def __init__(self, config, **options):
        super().__init__(config.size)
        Part.__init__(self, size=config.size)
        options.update(scale=math.sqrt(config.size))
        parts = []
        for number in range(3):
            parts.append(Part(number))
            parts[number].size += 1
        self.parts = [*parts, *self._more(len(parts))]
        self.kind = type(self).__name__
        self.parts.append(Part(4))
        setattr(self, *options.popitem())

    def _more(self, count):
        table = {"count": count}
        table["size"] = self.size
        return [Part(table["count"])]


@pytest.mark.parametrize(
    "kind", [ByName, OfParts, Counted, CountedByType, CountedByClass, PassedOn, Global, ByAMethod, Made]
)
def test_a_constructor_that_writes_elsewhere_leaves_a_trace(kind):
    assert leave_traces([object.__new__(kind)])


def test_an_ordinary_constructor_leaves_none():
    assert not leave_traces([object.__new__(Ordinary)])


def test_a_constructor_without_source_is_taken_for_one_that_leaves_a_trace():
    names: Any = {"__name__": "somewhere"}
    exec("class Unread:\n    def __init__(self): self.size = 1", names)
    assert leave_traces([names["Unread"]()])
