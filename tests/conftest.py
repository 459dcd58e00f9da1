"""How the tests are shared out: between the workers of one run, and, with ``--shard``, between runs."""

from __future__ import annotations

import hashlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", default="1/1", metavar="I/N", help="run only the I-th of N parts, by the tests' names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the tests of other shards; mark those with children; leave what shares runs on the testbed with one worker.

    Those are the tests of a file, unless they say something else with the mark ``shares``.
    """
    number, count = map(int, config.getoption("shard").split("/"))
    if count > 1:
        others = [item for item in items if _part(item.nodeid, count) != number - 1]
        items[:] = [item for item in items if _part(item.nodeid, count) == number - 1]
        config.hook.pytest_deselected(items=others)
    for item in items:
        if "world" in getattr(item, "fixturenames", ()):
            item.add_marker("child")
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        mark = item.get_closest_marker("shares")
        item.add_marker(pytest.mark.xdist_group(mark.args[0] if mark else item.nodeid.partition("::")[0]))


def _part(name: str, count: int) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % count
