"""HOTFIX_PIN and hotfix.lock: an experiment runs with its original patch set, or not at all."""

from __future__ import annotations

import json

import pytest

from tests.cluster import toy
from tests.cluster.environments import RELEASES
from tests.facts import lacking

HOTFIXED = "import hotfix.auto; "
DIGEST = "import hotfix.auto, hotfix; {}print(hotfix.digest())"


@pytest.fixture
def locked(plain, tmp_path):
    """A lock file for the plain environment, and the digest in it."""
    done = plain.run("-m", "hotfix", "lock", cwd=tmp_path)
    digest = json.loads((tmp_path / "hotfix.lock").read_text())["digest"]
    assert done.stdout == f"{digest} written to hotfix.lock\n"
    return digest


@pytest.mark.parametrize("imported", ["", "import transformers; ", "import transformers.models.toy; "])
def test_the_digest_does_not_depend_on_imported_modules(imported, plain, locked):
    assert plain.run("-c", DIGEST.format(imported)).stdout.strip() == locked


@pytest.mark.parametrize("release", RELEASES)
def test_the_digest_does_not_depend_on_the_python(release, of_release, locked):
    assert of_release(release).run("-c", DIGEST.format("import transformers.models.toy; ")).stdout.strip() == locked


def test_the_digest_changes_with_the_switches(plain, locked):
    done = plain.run("-c", DIGEST.format(""), env={"HOTFIX_SKIP": "toy-fixes:toy"})
    assert done.stdout.strip() != locked


def test_a_pin_that_is_kept_is_not_noticed(plain, locked):
    assert plain.run("-c", HOTFIXED + toy.SAY, env={"HOTFIX_PIN": locked}).stdout == "fixed\n"


@pytest.mark.parametrize(
    "env", [{"HOTFIX_SKIP": "toy-fixes:*"}, {"HOTFIX_PIN": "000000000000"}, {"HOTFIX_KINDS": "nonsense"}]
)
def test_another_patch_set_is_refused_at_the_import_of_transformers(env, plain, locked):
    done = plain.run(
        "-c", HOTFIXED + "import transformers; print('ran')", env={"HOTFIX_PIN": locked, **env}, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    error = done.stderr.splitlines()[-1]
    assert error.startswith("hotfix.errors.")
    assert "HOTFIX_PIN=" in error or "HOTFIX_KINDS=nonsense" in error


def test_a_repair_that_fails_at_its_import_breaks_the_pin(plain, locked):
    """The digest assumed the repair, but other code replaced the function before hotfix was imported."""
    foreign = "import transformers.models.toy as toy; toy.answer = lambda: 'foreign'; import hotfix.auto"
    done = plain.run("-c", foreign, env={"HOTFIX_PIN": locked}, check=False)
    assert done.returncode == 1
    assert "HOTFIX_PIN=" in done.stderr


def test_check_reports_the_changes(plain, locked, tmp_path):
    same = plain.run("-m", "hotfix", "lock", "--check", cwd=tmp_path)
    assert lacking(same.stdout, "is that of", "hotfix.lock") == []
    other = plain.run("-m", "hotfix", "lock", "--check", cwd=tmp_path, env={"HOTFIX_SKIP": "toy-fixes:*"}, check=False)
    assert other.returncode == 1
    assert lacking(other.stdout, "without toy-fixes:toy", "transformers.models.toy:answer") == []
    assert plain.run("-m", "hotfix", "lock", "--digest", cwd=tmp_path).stdout == f"{locked}\n"


def test_a_file_that_is_no_lock_file_is_not_replaced(plain, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("transformers==4.49.0\n")
    done = plain.run("-m", "hotfix", "lock", "requirements.txt", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "requirements.txt: not" in done.stderr
    assert "choose another name" in done.stderr
    assert file.read_text() == "transformers==4.49.0\n"
    for name in ("mine.lock", "mine.lock", "hotfix.lock"):
        (tmp_path / "hotfix.lock").write_text("<<<<<<< HEAD\n")
        assert plain.run("-m", "hotfix", "lock", name, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("content", [None, "", "[]", '{"digest": 1}', '{"digest": "x", "patches": [], "packages": 1}'])
def test_a_file_that_is_no_lock_file_is_named(content, plain, tmp_path):
    if content is not None:
        (tmp_path / "hotfix.lock").write_text(content)
    done = plain.run("-m", "hotfix", "lock", "--check", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "hotfix.lock: not" in done.stderr
