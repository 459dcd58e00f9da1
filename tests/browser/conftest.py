"""A Chromium that speaks with nobody, and tabs that remember what went wrong in them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("background-networking", "component-update", "sync", "quic", "gpu", "default-apps")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing; `nox -s browser` has it")
    result = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if result is None:
        pytest.skip("no Chromium is here")
    flags = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=result, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium) -> Iterator[Callable[..., Any]]:
    """Opens an address in a tab of its own; at the end no script may have failed, and the console is empty.

    A request to another host, or for a file outside the address, is a failure as well.
    """
    faults, contexts = [], []

    def open_(address: str, **options: Any) -> Any:
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        home = address if address.startswith("file:") else "/".join(address.split("/")[:3]) + "/"

        def asked(request: Any) -> None:
            if not request.url.startswith((home, "data:", "blob:" + home)):
                faults.append(f"asked for {request.url}")

        def failed(request: Any) -> None:
            if request.failure != "net::ERR_ABORTED":  # the tab left the page meanwhile
                faults.append(f"{request.failure} {request.url}")

        tab.on("request", asked)
        tab.on("response", lambda value: faults.append(f"{value.status} {value.url}") if value.status >= 400 else None)
        tab.on("requestfailed", failed)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        tab.goto(address)
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert faults == []
