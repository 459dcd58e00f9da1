"""Restored members of classes in a forward that `torch.compile` traces: the same numbers, and no graph break."""

from __future__ import annotations

import pytest

from hotfix.patching import asked

torch = pytest.importorskip("torch")


def usable(self, factor):
    return self.keys * factor


def doubled(self, x):
    return x * 2


class Cache:
    seen = asked.Restored("seen", property(lambda self: self.keys.shape[0]))
    usable = asked.Restored("usable", usable)
    __getitem__ = asked.Subscript("__getitem__", lambda self, index: self.keys[index])

    def __init__(self):
        self.keys = torch.ones(3)


class Base(torch.nn.Module):
    doubled = asked.Restored("doubled", doubled)
    tripled = asked.Restored("tripled", doubled)


class Mixed:
    def tripled(self, x):
        return x * 3


class Remote(Base, Mixed):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x, cache):
        return self.layer(x) + cache.usable(2) + cache.seen + self.doubled(x) + self.tripled(x)


@pytest.mark.filterwarnings("ignore")
def test_a_forward_that_asks_for_restored_names_is_traced_as_a_whole():
    model, x, cache = Remote(), torch.randn(2, 3), Cache()
    expected = model(x, cache)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x, cache), expected)
    assert not hasattr(cache, "seen")
    assert not hasattr(cache, "__getitem__")
    assert torch.equal(model.tripled(x), x * 3)


@pytest.mark.filterwarnings("ignore")
def test_an_index_of_a_cache_breaks_the_graph_and_gives_the_same_numbers():
    x, cache = torch.randn(2, 3), Cache()

    def forward(x, cache):
        return x * 2 + cache[0] + cache.seen

    expected = forward(x, cache)
    assert torch.equal(torch.compile(forward, backend="eager")(x, cache), expected)
