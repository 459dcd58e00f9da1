"""Restored members of classes in a forward that `torch.compile` traces: the same numbers, and no graph break."""

from __future__ import annotations

import types

import pytest

from hotfix.patching import restoring

torch = pytest.importorskip("torch")
restoring.prepare()


@pytest.fixture(scope="module", autouse=True)
def compiler():
    """Imported when the first test runs: it takes seconds, and a run has few of these tests, or none."""
    pytest.importorskip("torch._dynamo.testing")


def usable(self, factor):
    return self.keys * factor


def doubled(self, x):
    return x * 2


class Cache:
    seen = restoring.Restored("seen", property(lambda self: self.keys.shape[0]))
    usable = restoring.Restored("usable", usable)
    __getitem__ = restoring.Subscript("__getitem__", lambda self, index: self.keys[index])

    def __init__(self):
        self.keys = torch.ones(3)


class Base(torch.nn.Module):
    doubled = restoring.Restored("doubled", doubled)
    tripled = restoring.Restored("tripled", doubled)


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


# ---------------------------------------------------------------------------------------------------------------------
# Code that handles a missing name also does so when it is traced.


def by_hasattr(x, cache):
    return x * cache.seen if hasattr(cache, "seen") else x + 1


def by_a_default(x, cache):
    return x * getattr(cache, "seen", 5)


def by_a_method(x, cache):
    return x * cache.usable(2) if hasattr(cache, "usable") else x + 1


def by_an_index(x, cache):
    return x * cache[0] if hasattr(cache, "__getitem__") else x + 1


def by_a_handler(x, cache):
    try:
        return x * cache.seen
    except AttributeError:
        return x + 10


def further_up(x, cache):
    def asks():
        return cache.seen

    try:
        return x * asks()
    except AttributeError:
        return x + 20


def of_a_module(x, cache):
    return x * 2 if hasattr(gone, "name") else x + 30


gone = types.ModuleType("gone")
restoring.put(gone, "name", restoring.Restored("name", 3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "forward", [by_hasattr, by_a_default, by_a_method, by_an_index, by_a_handler, further_up, of_a_module]
)
def test_code_that_does_without_a_name_does_so_when_it_is_traced(forward):
    torch._dynamo.reset()
    x, cache = torch.ones(2), Cache()
    expected = forward(x, cache)
    assert torch.equal(torch.compile(forward, fullgraph=True, backend="eager")(x, cache), expected)


@pytest.mark.filterwarnings("ignore")
def test_a_handler_around_the_call_of_compiled_code_counts():
    torch._dynamo.reset()
    cache = Cache()

    @torch.compile(backend="eager")
    def forward(x):
        return x * cache.seen

    try:
        result = forward(torch.ones(2))
    except AttributeError:
        result = None
    assert result is None


@pytest.mark.filterwarnings("ignore")
def test_names_received_by_traced_code_are_recorded(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(restoring.receipts, "_received", {})
    gone_too = types.ModuleType("gone_too")
    restoring.put(gone_too, "name", restoring.Restored("name", 3, target="gone_too:name", fix="a-fix"))

    def forward(x):
        return x * gone_too.name

    compiles = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(forward, fullgraph=True, backend=compiles)
    assert all(torch.equal(compiled(torch.ones(2)), torch.ones(2) * 3) for _ in range(3))
    assert compiles.frame_count == 1
    assert not hasattr(gone_too, "name")
    place = f"test_compiled_names.py:{forward.__code__.co_firstlineno + 1}"
    assert restoring.received() == {"gone_too:name": restoring.Received("a-fix", place)}


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = Cache()

    def forward(self, x):
        more = 100 if hasattr(self.cache, "seen") else 1
        return x + self.cache.seen + more + self.cache.usable(2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strict", [True, False])
def test_an_exported_program_has_the_numbers_of_the_model(strict):
    torch._dynamo.reset()
    x, model = torch.ones(3), Exported()
    exported = torch.export.export(model, (x,), strict=strict).module()
    assert torch.equal(exported(x), model(x))
