"""A function that only reads ``shift_labels`` does not pass them on: such as the accuracy in TRL's compute_loss."""

from __future__ import annotations

from typing import Any

import pytest

from hotfix.training import _labels


class Reads:
    def chosen(self, inputs: Any, logits: Any) -> Any:
        if "shift_labels" in inputs:
            return logits, inputs["shift_labels"]
        return logits[..., :-1, :], inputs["labels"][..., 1:]

    def without(self, inputs: Any) -> Any:
        return inputs["labels"] if "shift_labels" not in inputs else None

    def parameter(self, logits: Any, shift_labels: Any = None) -> Any:
        return logits if shift_labels is None else shift_labels


class PassesOn:
    def keyword(self, model: Any, inputs: Any) -> Any:
        return model(**inputs, shift_labels=inputs["labels"])

    def stored(self, inputs: Any) -> Any:
        inputs["shift_labels"] = inputs["labels"]
        return inputs

    def literal(self, inputs: Any) -> Any:
        return {**inputs, "shift_labels": inputs["labels"]}

    def updated(self, inputs: Any) -> Any:
        inputs.setdefault("shift_labels", inputs["labels"])
        return inputs

    def read_and_stored(self, inputs: Any) -> Any:
        if "shift_labels" not in inputs:
            inputs["shift_labels"] = inputs["labels"]
        return inputs["shift_labels"]

    def by_another(self, inputs: Any) -> Any:
        return self.stored(inputs)

    def compared(self, inputs: Any) -> Any:
        return {name: value for name, value in inputs.items() if name == "shift_labels"}


def functions(owner: Any) -> list[Any]:
    return [pytest.param(owner, name, id=name) for name in vars(owner) if not name.startswith("__")]


@pytest.mark.parametrize(("owner", "name"), functions(Reads))
def test_a_function_that_reads_them_passes_nothing_on(owner: Any, name: str) -> None:
    assert not _labels.gives_shifted_labels(getattr(owner(), name), owner())


@pytest.mark.parametrize(("owner", "name"), functions(PassesOn))
def test_a_function_that_passes_them_on_is_seen(owner: Any, name: str) -> None:
    assert _labels.gives_shifted_labels(getattr(owner(), name), owner())


def test_without_source_a_text_is_enough() -> None:
    space: dict[str, Any] = {}
    exec("def reads(inputs): return inputs['shift_labels']", space)
    assert _labels.gives_shifted_labels(space["reads"])
