"""How the tests are shared out: between the workers of one run, and between runs.

With ``--shard I/N`` each run has a part of all tests. With ``--drawn N`` it has N of those that try single fixes on
real releases, whose number grows with the fixes, and as many cases of a test as its mark ``drawn`` says; both are drawn
by the commit. It also has all of a file that the commit has changed; `nox -s full` has all of them.
"""

from __future__ import annotations

import collections
import hashlib

import pytest

from tests import drawn

OF_SINGLE_FIXES = ("tests/fixes/", "tests/working/")
OF_ALL_FIXES = "tests/working/test_lines_of_"  # hundreds of lines each: they see what no test of a single fix does


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--drawn", type=int, metavar="N", help="run N of the tests of single fixes, drawn by the commit")
    parser.addoption("--shard", default="1/1", metavar="I/N", help="run only the I-th of N parts, by the tests' names")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop what other runs have; mark those with children; leave what shares runs on the testbed with one worker.

    Those are the tests of a file, unless they say something else with the mark ``shares``.
    """
    number, count = map(int, config.getoption("shard").split("/"))
    if count > 1:
        _keep(config, items, {item.nodeid for item in items if _part(item.nodeid, count) == number - 1})
    if (size := config.getoption("drawn")) is not None:
        pools = [([item for item in items if _is_of_a_single_fix(item)], size), *_marked(items)]
        left_out = set[str]().union(*(_not_drawn(pool, count) for pool, count in pools))
        settled = {name for name in left_out if name.partition("::")[0] not in drawn.changed()}
        _keep(config, items, {item.nodeid for item in items} - settled)
    for item in items:
        if "world" in getattr(item, "fixturenames", ()):
            item.add_marker("child")
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        mark = item.get_closest_marker("shares")
        item.add_marker(pytest.mark.xdist_group(mark.args[0] if mark else item.nodeid.partition("::")[0]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Without their groups the tests are right and take half as long again: it would not be noticed."""
    shared_out = session.config.getoption("loadgroup", default=False)
    if shared_out and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("pytest-xdist has not taken up the groups of the tests: another pytest is needed")


def _is_of_a_single_fix(item: pytest.Item) -> bool:
    ours = item.nodeid.startswith(OF_SINGLE_FIXES) and not item.nodeid.startswith(OF_ALL_FIXES)
    takes_time = item.get_closest_marker("testbed") is not None  # those without run in milliseconds
    return ours and takes_time and not _is_slow(item)


def _marked(items: list[pytest.Item]) -> list[tuple[list[pytest.Item], int]]:
    """For each test with the mark ``drawn``: its cases that are not slow, and how many of them a run has.

    Tests whose marks have the same second argument are drawn from together.
    """
    cases = collections.defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("drawn")
        if mark and not _is_slow(item):
            count, pool = (*mark.args, item.nodeid.partition("[")[0])[:2]
            cases[count, pool].append(item)
    return [(drawn_from, count) for (count, _), drawn_from in cases.items()]


def _not_drawn(pool: list[pytest.Item], count: int) -> set[str]:
    names = {item.nodeid for item in pool}
    return names - drawn.sample(names, count, drawn.commit())


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _keep(config: pytest.Config, items: list[pytest.Item], names: set[str]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = [item for item in items if item.nodeid in names]


def _part(name: str, count: int) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % count
