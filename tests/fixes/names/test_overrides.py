"""Classes of others around whose methods several fixes act, and tables that give their keys only."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hotfix.names import overrides
from hotfix.names.model_attention_classes_removed import Table
from hotfix.names.remote_supports_flash_property import says_yes
from hotfix.names.v5_check_attn_override_signature import checked, takes_no_kernels
from hotfix.processing.colpali_size_keys import without_limits


def says(word: str) -> overrides.Behaviour:
    def behaviour(model: Any, prepare: Any, *args: Any, **kwargs: Any) -> Any:
        return [word, *prepare(*args, **kwargs)]

    return behaviour


class Base:
    def prepare_inputs_for_generation(self, tokens: Any, past: Any = None, **kwargs: Any) -> list[Any]:
        return [tokens, past]


class Heir(Base):
    pass


@pytest.mark.parametrize("order", list(itertools.permutations(("a", "b"))))
@pytest.mark.parametrize("cls", [Base, Heir])
def test_repairs_around_a_class_are_reverted_in_any_order(cls: type[Base], order: tuple[str, ...]) -> None:
    own = dict(vars(cls))
    for name in ("a", "b", "a"):
        overrides.around(cls, name, says(name))
    try:
        assert cls().prepare_inputs_for_generation(3, past=4) == ["b", "a", 3, 4]
        assert overrides.takes(cls.prepare_inputs_for_generation, "past"), "its signature is that of the original"
        overrides.forget(order[0])
        assert cls().prepare_inputs_for_generation(3) == [order[1], 3, None]
    finally:
        overrides.forget(order[0])
        overrides.forget(order[1])
    assert dict(vars(cls)) == own


def test_a_signature_with_kwargs_takes_any_argument() -> None:
    assert overrides.takes(lambda **kwargs: 0, "cache_position")
    assert overrides.takes(lambda cache_position: 0, "cache_position")
    assert not overrides.takes(lambda *args: 0, "cache_position")


def test_a_table_has_its_keys_and_nothing_behind_them() -> None:
    table = Table("LLAMA_ATTENTION_CLASSES", "LlamaAttention")
    assert list(table) == ["eager", "flash_attention_2", "sdpa"]
    assert "sdpa" in table
    assert len(table) == 3
    ways: list[Any] = [
        lambda: table["sdpa"],
        lambda: table.get("sdpa"),
        lambda: table.__setitem__("sdpa", None),
        lambda: table.update(sdpa=None),
        lambda: table | {},
        lambda: {**table},
        lambda: list(table.items()),
        lambda: list(table.values()),
        table.copy,
    ]
    for way in ways:
        with pytest.raises(
            NotImplementedError, match=r"LLAMA_ATTENTION_CLASSES is gone .* LlamaAttention is the class"
        ):
            way()


def test_an_override_that_takes_the_argument_gets_it() -> None:
    def old(implementation: Any, is_init_check: bool = False) -> Any:
        return implementation, is_init_check

    def new(implementation: Any, is_init_check: bool = False, allow_all_kernels: bool = False) -> Any:
        return implementation, is_init_check, allow_all_kernels

    def any_(implementation: Any, **kwargs: Any) -> Any:
        return implementation, kwargs

    assert [takes_no_kernels(function) for function in (old, new, any_)] == [True, False, False]
    called: Any = checked
    assert called(old, "sdpa", is_init_check=True, allow_all_kernels=True) == ("sdpa", True)


def test_a_flag_of_old_counts_and_a_property_until_it_can_be_read() -> None:
    class Property:
        inner: Any

        @property
        def _supports_flash_attn_2(self) -> bool:
            return bool(self.inner.flag)

    model = Property()
    assert says_yes(model)
    model.inner = type("Inner", (), {"flag": False})
    assert not says_yes(model)
    assert says_yes(type("Flag", (), {"_supports_flash_attn_2": True})())
    assert not says_yes(object())


def test_only_limits_that_stand_beside_a_size_are_left_out_of_it() -> None:
    edges = {"shortest_edge": 1, "longest_edge": 2}
    for kwargs in (
        {"size": edges},
        {"size": {**edges, "min_pixels": 1}},
        {"min_pixels": 1},
        {"size": 3, "min_pixels": 1},
    ):
        assert without_limits(kwargs) is kwargs
    given = {"size": {**edges, "min_pixels": 1, "max_pixels": 2}, "min_pixels": 1}
    assert without_limits(given)["size"] == {**edges, "max_pixels": 2}
    assert given["size"] == {**edges, "min_pixels": 1, "max_pixels": 2}
