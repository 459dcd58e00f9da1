"""Whether the source of a loss of one's own shows that it divides by the number of micro-batches."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from hotfix.training import _divided, _passed_on

ACCUM_STEPS = 4


class Owner:
    def __init__(self, args):
        self.args, self.steps, self.weight = args, args.gradient_accumulation_steps, 0.5

    def by_the_argument(self, loss):
        loss = loss / self.args.gradient_accumulation_steps
        return loss, None

    def by_an_attribute(self, loss):
        loss /= self.steps
        return loss

    def by_a_variable(self, loss):
        count = max(self.args.gradient_accumulation_steps, 1)
        return {"loss": loss * (1 / count)}

    def in_place(self, loss):
        loss.div_(ACCUM_STEPS)
        return loss

    def by_a_method(self, loss):
        return self.share(loss, self.args.gradient_accumulation_steps)

    def share(self, loss, count):
        return loss / count

    def by_a_function(self, loss):
        return shared(loss, count=ACCUM_STEPS)

    def by_what_a_function_returns(self, loss):
        return loss / of_a_step(self)

    def by_a_lambda(self, loss):
        return BY_A_LAMBDA(self, loss)

    def in_the_output(self, outputs):
        outputs.loss = outputs.loss / self.steps
        return outputs

    def with_a_docstring(self, loss):
        """Gradient accumulation is up to the Trainer."""
        return loss * self.weight

    def with_a_metric(self, loss):
        self.loss_accum = loss.item() / self.args.gradient_accumulation_steps
        return loss * self.weight

    def with_a_second_metric(self, loss):
        mean = loss / self.steps
        print(mean)
        return loss * self.weight

    def multiplied(self, loss):
        return loss * self.args.gradient_accumulation_steps

    def by_another_number(self, loss):
        print("accumulation")
        return loss / (1 / self.weight)


BY_A_LAMBDA = lambda owner, loss: loss / of_a_step(owner)  # noqa: E731  # it is what is tested


def of_a_step(owner):
    return owner.args.gradient_accumulation_steps


def shared(loss, count):
    return loss / count


DIVIDING = [
    "by_the_argument",
    "by_an_attribute",
    "by_a_variable",
    "in_place",
    "by_a_method",
    "by_a_function",
    "by_what_a_function_returns",
    "by_a_lambda",
    "in_the_output",
]
OTHERS = ["with_a_docstring", "with_a_metric", "with_a_second_metric", "multiplied", "by_another_number"]


@pytest.mark.parametrize("name", DIVIDING + OTHERS)
def test_only_a_division_of_the_result_counts(name):
    owner = Owner(SimpleNamespace(gradient_accumulation_steps=4))
    assert _divided.divides_by_steps(getattr(owner, name), owner) is (name in DIVIDING)


class Module:
    training = True
    flag = True

    def __init__(self):
        self.given = True

    def train(self, mode=True):
        self.training = mode


@pytest.mark.parametrize(("text", "truth"), [("given", True), ("flag", True), ("training", None), ("missing", None)])
def test_an_attribute_that_is_absent_or_set_later_decides_nothing(text, truth):
    assert _passed_on._truth(ast.parse(f"self.{text}", mode="eval").body, "self", Module()) is truth
