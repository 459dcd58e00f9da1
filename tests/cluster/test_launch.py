"""`hotfix run`: the command replaces this process, and the `sitecustomize` of others still runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hotfix.commands import launch
from tests.cluster import environments, toy
from tests.cluster.environments import RELEASES

pytestmark = pytest.mark.drawn(4)  # a process for each case

LOADED = "import sys; print(any(getattr(one, 'is_hotfix', False) for one in sys.meta_path))"


def hotfix_run(environment):
    return [environment.python, "-m", "hotfix", "run", "--"]


def test_the_command_has_the_same_process_number_and_standard_input(plain):
    code = "import os, sys; print(os.getpid(), sys.stdin.read())"
    command = [*hotfix_run(plain), str(plain.python), "-c", code]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environments.clean_environment()
    )
    out, _ = process.communicate("hello", timeout=60)
    assert out.split() == [str(process.pid), "hello"]


@pytest.mark.parametrize("status", [0, 1, 77])
def test_the_exit_status_is_that_of_the_command(plain, status):
    done = plain.run("-c", f"raise SystemExit({status})", prefix=hotfix_run(plain), check=False)
    assert done.returncode == status


def test_on_windows_the_command_is_waited_for(monkeypatch):
    """Not tested on Windows itself, where exec does not replace the process."""
    monkeypatch.setattr(launch, "_WINDOWS", True)
    with pytest.raises(SystemExit) as ended:
        launch.run([sys.executable, "-c", "import sitecustomize, sys; sys.exit(77)"])
    assert ended.value.code == 77


def test_signals_go_to_the_command(plain):
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(42)); print('up', flush=True); time.sleep(60)"
    )
    command = [*hotfix_run(plain), str(plain.python), "-c", code]
    environment = environments.clean_environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 42


def test_a_command_that_ends_by_a_signal_ends_this_process_so(plain):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = plain.run("-c", code, prefix=hotfix_run(plain), check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("command", "status"), [((), 2), (("no-such-program-anywhere",), 127), (("/",), 126)])
def test_a_command_that_cannot_be_run_is_one_line(plain, command, status):
    done = plain.run("-m", "hotfix", "run", "--", *command, check=False)
    assert done.returncode == status
    assert done.stderr.startswith("hotfix: ")
    assert done.stderr.count("\n") == 1


def test_nested_it_is_on_the_path_once(plain):
    code = LOADED + "; import os; print(os.environ['PYTHONPATH'].count('startup'))"
    done = plain.run("-c", code, prefix=hotfix_run(plain) * 2)
    assert done.stdout == "True\n1\n"


def test_hotfix_0_loads_nothing(plain):
    done = plain.run("-c", LOADED, prefix=hotfix_run(plain), env={"HOTFIX": "0"})
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("place", ["PYTHONPATH", "site-packages"])
def test_the_users_own_sitecustomize_runs_too(place, release, of_release, tmp_path):
    environment = of_release(release)
    own = tmp_path / "own"
    own.mkdir()
    folder = own if place == "PYTHONPATH" else environment.site_packages
    # It sees the same as without hotfix: its own name and file, and a path without our folder.
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "armed = any(getattr(one, 'is_hotfix', False) for one in sys.meta_path)\n"
        "sys.own = (__name__, os.path.dirname(__file__), armed)\n"
        "sys.paths = [path for path in sys.path if 'startup' in path]\n"
    )
    code = "import sys, sitecustomize; print(sys.own, sys.paths, sitecustomize.__file__); " + toy.SAY
    env = {"PYTHONPATH": str(own), "HOTFIX_LOG": "quiet"}
    try:
        done = environment.run("-c", code, prefix=hotfix_run(environment), env=env)
    finally:
        (folder / "sitecustomize.py").unlink()
    first, second = done.stdout.splitlines()
    assert first == f"{('sitecustomize', str(folder), True)} [] {folder}/sitecustomize.py"
    assert second == "fixed"
    assert done.stderr == ""


def test_an_error_in_the_users_own_sitecustomize_is_reported_as_python_does(plain, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('mine')\n")
    env = {"PYTHONPATH": str(tmp_path)}
    alone = plain.run("-c", "print(1)", env=env)
    under = plain.run("-c", LOADED, env=env, prefix=hotfix_run(plain))
    assert "RuntimeError: mine" in under.stderr
    assert under.stderr == alone.stderr * 2  # `hotfix run` is a Python process too
    assert under.stdout == "True\n"


def test_a_missing_import_in_the_users_own_sitecustomize_is_reported_as_python_does(plain, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import nowhere_to_be_found\n")
    env = {"PYTHONPATH": str(tmp_path)}
    alone = plain.run("-c", "print(1)", env=env)
    assert "nowhere_to_be_found" in alone.stderr
    assert plain.run("-c", LOADED, env=env, prefix=hotfix_run(plain)).stderr == alone.stderr * 2


def test_other_tools_that_chain_are_chained(plain, tmp_path):
    """A tool inside `hotfix run` that puts its own folder first and runs the file that it hides, as ddtrace does."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "print('tool')\n"
        "sys.path.remove(os.path.dirname(__file__))\n"
        "own = sys.modules.pop('sitecustomize')\n"
        "import sitecustomize\n"
    )
    inner = ["env", f"PYTHONPATH={tmp_path}:{launch.FOLDER}"]
    assert plain.run("-c", LOADED, prefix=inner).stdout == "tool\nTrue\n"


def test_the_folder_goes_first_and_no_empty_entry_is_made():
    folder = str(launch.FOLDER)
    assert launch.environment({})["PYTHONPATH"].split(os.pathsep)[0] == folder
    results = launch.environment({"PYTHONPATH": os.pathsep.join(["/a", "", folder, "/b"])})["PYTHONPATH"].split(
        os.pathsep
    )
    assert results[:3] == [folder, "/a", "/b"]
    assert "" not in results


def test_a_hotfix_that_lies_in_a_folder_is_found_by_the_children(plain, tmp_path):
    """Nothing is installed: the command starts in the folder with the sources."""
    environment = environments.make(tmp_path / "venv")
    code = f"import os; os.chdir({str(environments.ROOT)!r}); import sys; sys.path.insert(0, ''); "
    code += f"from hotfix.commands import launch; launch.run([{str(environment.python)!r}, '-c', {LOADED!r}])"
    assert plain.run("-S", "-c", code).stdout == "True\n"


@pytest.mark.parametrize("tool", ["pytest"])
def test_tools_that_are_python_programs(tool, plain, tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it():\n    from transformers.models.toy import answer\n    assert answer() == 'fixed'\n"
    )
    pytest_home = str(os.path.dirname(os.path.dirname(pytest.__file__)))
    env = {"PYTHONPATH": pytest_home}
    done = plain.run("-m", tool, "-q", tmp_path, prefix=hotfix_run(plain), env=env, cwd=tmp_path, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
