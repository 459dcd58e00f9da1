"""`hotfix.versions.files`: a file that is known as a whole is judged as it is when its functions are parsed."""

from __future__ import annotations

import zipfile
from importlib.util import decode_source

import pytest
from packaging.version import Version

from hotfix.versions import files, installed, verdict
from hotfix.versions.judgement import Verdict
from tools import evidence, wheels

RELEASES = ("4.36.2", "4.57.6", "5.23.0")


def release_in(wheel):
    """A reader of the modules in a wheel."""
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())

    def read(module):
        stem = module.replace(".", "/")
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            if name in names:
                return decode_source(archive.read(name))
        return None

    return read


@pytest.fixture(scope="module")
def fixes():
    return evidence.discover(pytest.fail)


@pytest.fixture
def install(monkeypatch):
    """A function that makes a release the installed one, and returns the reader of its modules."""

    def installing(release):
        wheel = wheels.cached("transformers", wheels.default_cache()).get(Version(release))
        if wheel is None:
            pytest.skip(f"the wheel of {release} is not in {wheels.default_cache()}")
        read = release_in(wheel)
        monkeypatch.setattr(installed, "version", lambda package: Version(release))
        monkeypatch.setattr(installed, "find_spec", lambda module: None if read(module) is None else module)
        return read

    return installing


@pytest.mark.testbed
@pytest.mark.drawn(1)
@pytest.mark.parametrize("release", RELEASES)
def test_a_known_file_is_judged_as_its_functions_are(release, fixes, install, monkeypatch):
    read, quick, different = install(release), 0, []
    for fix in fixes.values():
        for target in fix.targets:
            judgement = verdict._by_file(fix, target, read)
            if judgement is None:
                continue
            quick += 1
            with monkeypatch.context() as changed:
                changed.setattr(files, "release_of", lambda modules, read: None)
                parsed = verdict.judge(fix, target, read, executed=target.module)
            if judgement != parsed:
                different.append((target.key, judgement, parsed))
    assert different == []
    assert quick > 200


def test_a_changed_file_is_parsed(fixes, install):
    """A build of a distribution may have the version of a release, and a function that is repaired in it."""
    read = install("4.48.0")
    fix = next(fix for fix in fixes.values() if fix.id == "hybrid-cache-window-hole")
    target = fix.targets[0]
    known = verdict._by_file(fix, target, read)
    assert known is not None
    assert known.verdict is verdict.judge(fix, target, read).verdict is Verdict.BROKEN
    assert verdict._by_file(fix, target, lambda module: f"{read(module)}\n# rebuilt\n") is None

    def repaired(module):
        return read(module).replace(f"def {target.qualname.rpartition('.')[2]}(", "def another(")

    assert verdict.judge(fix, target, repaired).verdict is Verdict.ABSENT


def test_a_damaged_record_only_costs_time(fixes, monkeypatch, tmp_path):
    for number, content in enumerate(("", "[]", '{"transformers": 3}', '{"transformers": {"releases": ["4.49.0"]}}')):
        path = tmp_path / f"{number}.json"
        path.write_text(content, encoding="utf-8")
        monkeypatch.setattr(files, "RECORDED", path)
        monkeypatch.setattr(installed, "version", lambda package: Version("4.49.0"))
        files._recorded.cache_clear()
        assert files.release_of(["transformers.trainer"], lambda module: "") is None
    files._recorded.cache_clear()
