"""Another module is called ``hotfix``: the project has a ``hotfix.py`` of its own, or one is on PYTHONPATH.

With the start-up file in the environment

- the project runs as before, with its own module, and nothing is reported as long as it does not import transformers;
- when it does, one line names the file that is in the way, and the program continues unrepaired;
- with a guard (``HOTFIX_STRICT``, ``HOTFIX_REQUIRE``, ``HOTFIX_PIN``) that import fails instead, each time;
- ``hotfix doctor`` reports the file as a problem.
"""

from __future__ import annotations

import json

import pytest

from tests.cluster import environments, toy

OWN = "def run():\n    return 'their own'\n"
USE = "import hotfix; print(hotfix.run()); "
AGAIN = """
for _ in range(2):
    try:
        from transformers.models.toy import answer
    except Exception as error:
        print(f"stopped: {error}")
    else:
        print(answer())
"""


@pytest.fixture(scope="module")
def armed(tmp_path_factory):
    """An environment with the core, the start-up file and a toy that it repairs."""
    wheels = environments.build(tmp_path_factory.mktemp("build"))
    environment = environments.make(tmp_path_factory.mktemp("armed") / "venv")
    environment.install(wheels["core"], wheels["autoload"])
    toy.plant(environment.site_packages)
    return environment


@pytest.fixture(params=["hotfix.py", "hotfix/__init__.py"])
def file(request, tmp_path):
    """The module of the project."""
    file = tmp_path / "project" / request.param
    file.parent.mkdir(parents=True)
    file.write_text(OWN)
    return file


@pytest.fixture(params=["working directory", "PYTHONPATH"])
def start(request, file, tmp_path, armed):
    """Starts a program that finds the module of the project first."""
    project = tmp_path / "project"

    def run(code, **env):
        if request.param == "PYTHONPATH":
            return armed.run("-c", code, env={"PYTHONPATH": str(project), **env}, check=False)
        return armed.run("-c", code, cwd=project, env=env, check=False)

    return run


def test_without_another_one_the_toy_is_repaired(armed):
    assert armed.run("-c", toy.SAY).stdout == "fixed\n"


def test_a_project_with_its_own_copy_gets_no_finding(start):
    done = start(USE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "their own\n", "")


def test_one_line_names_the_file_where_transformers_is_imported(start, file):
    for code, printed in ((toy.SAY, "broken\n"), (USE + toy.SAY, "their own\nbroken\n")):
        done = start(code)
        assert (done.returncode, done.stdout) == (0, printed)
        [line] = done.stderr.splitlines()
        assert line.startswith("hotfix: does nothing")
        assert str(file) in line


@pytest.mark.parametrize("guard", ["HOTFIX_STRICT=1", "HOTFIX_REQUIRE=toy-fixes:toy", "HOTFIX_PIN=0123456789ab"])
@pytest.mark.parametrize("first", ["", USE], ids=["", "theirs first"])
def test_a_guard_stops_it_each_time(start, file, guard, first):
    name, _, value = guard.partition("=")
    done = start(first + AGAIN, **{name: value})
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[-2:]] == ["stopped", "stopped"], done
    assert str(file) in done.stdout + done.stderr


def doctor(armed, folder):
    command = armed.folder / "bin" / "hotfix"
    return environments.call(command, "doctor", "--quick", "--json", cwd=folder, check=False)


def test_doctor_names_it(armed, file, tmp_path):
    done = doctor(armed, tmp_path / "project")
    said = [
        finding
        for finding in json.loads(done.stdout)["findings"]
        if (finding["subject"], finding["level"]) == ("hotfix", "problem")
    ]
    assert done.returncode == 1
    assert len(said) == 1
    assert "another `hotfix`" in said[0]["found"]


def test_doctor_has_nothing_to_say_of_ours(armed):
    done = doctor(armed, armed.folder)
    assert [finding for finding in json.loads(done.stdout)["findings"] if finding["subject"] == "hotfix"] == []
