"""How the tests are shared out between workers."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share runs on the testbed stay with one worker: those of a file, in the slice those of a fix."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        cell = item.callspec.params.get("cell") if hasattr(item, "callspec") else None
        item.add_marker(pytest.mark.xdist_group(cell.fix.id if cell else item.nodeid.partition("::")[0]))
