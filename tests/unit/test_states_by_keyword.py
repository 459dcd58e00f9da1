"""Which layers get states by keyword, from the source of the module that calls them."""

from __future__ import annotations

import pytest

from hotfix.training.vision_lora_checkpointing_no_grad import _passes_by_keyword


class ByKeyword:
    def forward(self, layer, hidden_states, encoder_hidden_states):
        return layer(hidden_states, encoder_hidden_states=encoder_hidden_states)


class ByPosition:
    def forward(self, layer, hidden_states, encoder_hidden_states=None, output_hidden_states=None):
        return layer(hidden_states, encoder_hidden_states, output_hidden_states=output_hidden_states)


class OfItsOwn:
    def forward(self, layer, hidden_states):
        return layer(hidden_states=hidden_states)


@pytest.mark.parametrize(("kind", "by_keyword"), [(ByKeyword, True), (ByPosition, False), (OfItsOwn, False)])
def test_defaults_and_switches_are_no_arguments_of_a_call(kind, by_keyword):
    assert _passes_by_keyword(kind) is by_keyword
