"""Code that reads an attribute is distinguished from code that tests whether it exists."""

from __future__ import annotations

import pytest

from hotfix.names.clip_tower_attributes_removed import inner


class _Parameter:
    def __init__(self, is_meta: bool) -> None:
        self.is_meta = is_meta


class _Tower:
    text_model = inner("text_model")
    config = "mine"

    def __init__(self, is_meta: bool = False) -> None:
        self._modules: dict[str, object] = {}
        self._is_meta = is_meta

    def parameters(self) -> list[_Parameter]:
        return [_Parameter(False), _Parameter(self._is_meta)]

    def modules(self) -> list[_Tower]:
        return [self]

    def reads(self) -> list[_Parameter]:
        parameters: list[_Parameter] = self.text_model.parameters()
        return parameters


def test_reading_the_attribute_returns_it_and_testing_for_it_does_not() -> None:
    tower = _Tower()
    assert tower.text_model is tower
    assert tower.text_model.config == "mine"
    assert len(tower.reads()) == 2
    assert [model.text_model for model in (tower,)] == [tower]
    for _ in range(20):  # also once the interpreter has specialized the instruction
        assert tower.text_model.text_model is tower
        assert not hasattr(tower, "text_model")
        assert getattr(tower, "text_model", None) is None


def test_a_replacement_is_visible_everywhere() -> None:
    tower = _Tower()
    tower._modules["text_model"] = other = object()
    assert tower.text_model is other
    assert getattr(tower, "text_model", None) is other


def test_a_tower_without_its_weights_has_none_unless_they_are_kept_elsewhere() -> None:
    tower = _Tower(is_meta=True)
    with pytest.raises(AttributeError):
        _ = tower.text_model
    vars(tower)["_hf_hook"] = object()  # as accelerate does
    assert tower.text_model is tower
