"""The table of which release reads which file: the word of a cell, and the page."""

from __future__ import annotations

import pytest

from tools.studies import configurations, reading

UNKNOWN = "raises AttributeError: module transformers has no attribute Qwen3ForCausalLM (__getattr__)"


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ("equal", "equal", "right"),
        ("near 1.0e-07", "equal", "right"),
        ("differs by 2.0e-01", "near 3.0e-07", "repaired"),
        ("raises ValueError: no class (load)", "equal", "repaired"),
        ("differs by 2.0e-01", "differs by 2.0e-01", "wrong"),
        ("equal", "differs in ids", "wrong"),
        ("equal", "raises LookupError: 3 tensors of the file are nowhere in the model, a is one (logits)", "wrong"),
        (UNKNOWN, UNKNOWN, "cannot"),
        ("differs by 2.0e-01", "raises ValueError: rope_parameters (check)", "refused"),
    ],
)
def test_the_word_of_a_cell_describes_the_result(before, after, word):
    assert reading.verdict(before, after) == word
    assert word in reading.MEANING


def test_the_page_has_a_row_for_each_family_and_a_column_for_each_reader():
    cell = {"model": ["right", "equal", "equal"], "tokenizer": ["repaired", "raises", "equal"]}
    text = reading.page({"4.57.6": {"5.23.0/Llama": cell}, "4.9.0": {"5.23.0/Llama": cell, "5.23.0/Phi": cell}})
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert ["", "4.9.0", "4.57.6"] in rows
    assert ["Llama", "right", "right"] in rows
    assert ["Phi", "repaired", "-"] in rows


def test_two_ways_of_saying_the_same_base_are_no_difference():
    new = {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}, "hidden_size": 8}
    old = {"rope_theta": 500000, "rope_scaling": {"type": "linear", "factor": 2.0}, "hidden_size": 8}
    assert dict(configurations._differences(new, old, "")) == {}
    wrong = {**old, "rope_theta": 10000.0, "hidden_size": 9}
    assert set(dict(configurations._differences(new, wrong, ""))) == {"hidden_size", "rope.full base"}
