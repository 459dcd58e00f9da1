"""The shared environments of the tests in this folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cluster import environments, reach, toy


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Both wheels, built once."""
    return environments.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="session")
def armed(tmp_path_factory, wheels):
    """An environment with the core, the autoload wheel and the toy."""
    environment = environments.make(tmp_path_factory.mktemp("armed") / "venv")
    environment.install(wheels["core"], wheels["autoload"])
    toy.plant(environment.site_packages)
    return environment


@pytest.fixture(scope="session")
def plain(tmp_path_factory, wheels):
    """An environment with the core and the toy, but no start-up file."""
    environment = environments.make(tmp_path_factory.mktemp("plain") / "venv")
    environment.install(wheels["core"])
    toy.plant(environment.site_packages)
    return environment


@pytest.fixture(scope="session")
def of_release(tmp_path_factory, wheels):
    """Takes a release line of Python and returns an environment with the core and the toy; tests must not change it."""
    made: dict[str, environments.Environment] = {}

    def environment(release):
        if release not in made:
            python = environments.interpreter(release)
            made[release] = environments.make(tmp_path_factory.mktemp(f"python{release}") / "venv", python)
            made[release].install(wheels["core"])
            toy.plant(made[release].site_packages)
        return made[release]

    return environment


@pytest.fixture(scope="session")
def pip(tmp_path_factory):
    """The start of a pip command line, for any environment; environments made by uv have no pip of their own."""
    home = environments.make(tmp_path_factory.mktemp("pip") / "venv")
    home.install("pip<26")  # the last line that works on Python 3.9
    return [home.python, "-m", "pip", "--python"]


@pytest.fixture(scope="session")
def seen():
    """The cells of the reach table that this run has seen; written to $REACH_TABLE at the end, if it is complete."""
    cells: dict[tuple[str, str], bool] = {}
    yield cells
    if os.environ.get("REACH_TABLE") and set(cells) == set(reach.cells()):
        Path(os.environ["REACH_TABLE"]).write_text(reach.render(cells), encoding="utf-8")
