"""Samples of tests have their size, come in groups of a release, and in time have every test."""

from __future__ import annotations

from tests import drawn

NAMES = [f"tests/a.py::test_it[{case}-4.{minor}.0]" for minor in range(20) for case in "abcdef"]


def test_a_sample_has_its_size_and_is_of_few_releases():
    sample = drawn.sample(NAMES, 12, "a")
    assert sample == drawn.sample(NAMES, 12, "a") != drawn.sample(NAMES, 12, "b")
    assert sample < {*NAMES}
    assert len(sample) == 12
    assert len({name.rpartition("-")[2] for name in sample}) <= 6


def test_each_test_has_its_turn():
    alone = [f"tests/b.py::test_{number}" for number in range(7)]
    every = [*NAMES, *alone]
    times = dict.fromkeys(every, 0)
    for seed in range(600):
        for name in drawn.sample(every, 12, str(seed)):
            times[name] += 1
    usual = 600 * 12 / len(every)
    assert all(0.5 * usual < count < 1.7 * usual for count in times.values()), times
