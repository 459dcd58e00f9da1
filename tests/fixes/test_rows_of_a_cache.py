"""Rows of a cache that a program's own beam search chooses: the cache that it gives keeps its own."""

from hotfix.names._reordering import is_reordered, reordered


class Layer:
    """A layer of a cache, which replaces its keys and changes its states in place."""

    def __init__(self) -> None:
        self.keys, self.states = [1, 2], {0: 1}

    def reorder_cache(self, rows: list[int]) -> None:
        self.keys = [self.keys[row] for row in rows]
        self.states[0] += 10


class DynamicCache:
    def __init__(self) -> None:
        self.layers = [Layer()]
        self.kind = Layer  # a class is no layer

    def reorder_cache(self, rows: list[int]) -> None:
        for layer in self.layers:
            layer.reorder_cache(rows)


DynamicCache.__module__ = "transformers.cache_utils"


def test_the_given_cache_keeps_its_rows_and_states() -> None:
    given = DynamicCache()
    made = reordered(given, [1, 0])
    assert (made.layers[0].keys, made.layers[0].states) == ([2, 1], {0: 11})
    assert (given.layers[0].keys, given.layers[0].states) == ([1, 2], {0: 1})
    assert made.kind is Layer


def test_caches_of_the_program_are_left() -> None:
    assert is_reordered(DynamicCache())
    assert not is_reordered(type("Own", (DynamicCache,), {})())
    assert not is_reordered([])
