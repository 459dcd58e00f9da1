"""Harms that are planted in the attention of OPT, after a right repair: what the table of deviations has to catch.

Each is the manner of a harm that a real fix has done. None has a test or a deviation of its own.
"""

from __future__ import annotations

import functools
import os
from typing import Any

MODULE = "transformers.models.opt.modeling_opt"


def _planted(harm: Any) -> None:
    """Let `harm` run around the attention's forward; it takes the original, the attention and the arguments."""
    from importlib import import_module

    attention: Any = import_module(MODULE).OPTAttention
    original = attention.forward

    @functools.wraps(original)
    def forward(self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        return harm(original, self, hidden_states, *arguments, **options)

    attention.forward = forward


def nothing() -> None:
    """A wrapper that does no harm."""
    _planted(lambda original, *arguments, **options: original(*arguments, **options))


def contiguous_arguments_wanted() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        hidden_states = hidden_states.view(-1).view(hidden_states.shape)
        return original(self, hidden_states, *arguments, **options)

    _planted(harm)


def optional_argument_wanted() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        options.setdefault("attention_mask", options["attention_mask"])
        return original(self, hidden_states, *arguments, **options)

    _planted(harm)


def flash_by_a_part_of_its_name() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        output, *others = original(self, hidden_states, *arguments, **options)
        return (output * (2 if "flash" in self.config._attn_implementation else 1), *others)

    _planted(harm)


def subclasses_changed() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        output, *others = original(self, hidden_states, *arguments, **options)
        return (output * (1 if type(self).__name__ == "OPTAttention" else 2), *others)

    _planted(harm)


def arguments_written_to() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("attention_mask") is not None and options["attention_mask"].is_floating_point():
            options["attention_mask"].clamp_(min=-1e30)
        return original(self, hidden_states, *arguments, **options)

    _planted(harm)


def one_row_squeezed() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        assert hidden_states.squeeze(0).ndim == 3
        return original(self, hidden_states, *arguments, **options)

    _planted(harm)


def forgets_after_many_calls() -> None:
    calls: list[int] = []

    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(1)
        output, *others = original(self, hidden_states, *arguments, **options)
        return (output * (2 if len(calls) > 8 else 1), *others)

    _planted(harm)


def attribute_added() -> None:
    from importlib import import_module

    import_module(MODULE).OPTAttention.my_repair = 1


def environment_changed() -> None:
    os.environ["PLANTED"] = "1"


def forward_on_the_instance_refused() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        if "forward" in vars(self):
            raise KeyError(0)
        return original(self, hidden_states, *arguments, **options)

    _planted(harm)


def half_precision_computed_otherwise() -> None:
    def harm(original: Any, self: Any, hidden_states: Any, *arguments: Any, **options: Any) -> Any:
        output, *others = original(self, hidden_states, *arguments, **options)
        return (output * 1.5 if output.element_size() == 2 else output, *others)

    _planted(harm)


HARMS = (
    arguments_written_to,
    attribute_added,
    contiguous_arguments_wanted,
    environment_changed,
    flash_by_a_part_of_its_name,
    forgets_after_many_calls,
    forward_on_the_instance_refused,
    half_precision_computed_otherwise,
    one_row_squeezed,
    optional_argument_wanted,
    subclasses_changed,
)
