"""Settings reach every process that the start-up folder reaches, and an audit never repairs.

A launcher that passes PYTHONPATH on and drops the variables HOTFIX... (DeepSpeed's multi-node runner, `mpirun -x`)

- starts processes with the settings of the command: the guards, the record, the skipped fixes;
- under `hotfix audit` starts processes that observe: each is counted, and none is repaired, even if the launcher also
  drops the entry of PYTHONPATH that has the settings, sets `HOTFIX_MODE=repair`, or starts `hotfix run` in between;
- also with the start-up files of the wheel, and with the real launchers, over two nodes for which a substitute for
  pdsh or ssh starts each command in an empty environment.

A variable that is set in a process takes precedence, unless it would weaken a guard: `HOTFIX=0` and `HOTFIX_SKIP` do,
`HOTFIX_STRICT=0` and another pin do not, and all fixes that are required anywhere are required.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import sys
from pathlib import Path

import pytest

from hotfix.commands import launch
from hotfix.errors import HotfixError
from tests.cluster import environments, toy
from tests.engine.conftest import ROOT, _site_packages
from tools.testbed import overlay

pytestmark = pytest.mark.drawn(4)  # a process for each case

SHOW = "import os, json; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('HOTFIX')}))"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return environments.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module", params=["core", "core and autoload"])
def installed(request, tmp_path_factory, wheels):
    """An environment with the toy, with and without the start-up files of the wheel."""
    environment = environments.make(tmp_path_factory.mktemp("env") / "venv")
    environment.install(wheels["core"], *([wheels["autoload"]] if "autoload" in request.param else []))
    toy.plant(environment.site_packages)
    return environment


@pytest.fixture
def job(installed, tmp_path):
    """A job of two processes: one has all variables, and a launcher starts the other with a few."""
    script = tmp_path / "train.py"
    script.write_text(
        "import subprocess, sys, os\n" + toy.SAY + "\n"
        "if sys.argv[1:]:\n"
        "    path = 'PYTHONPATH=' + os.environ['PYTHONPATH']\n"
        "    sys.exit(subprocess.run(['env', '-i', path, *sys.argv[1:], sys.executable, __file__]).returncode)\n"
    )

    def run(*words: object, child: str = "A=1", **env: str):
        command = ["-m", "hotfix", *words, "--", installed.python, script, *shlex.split(child)]
        return installed.run(*command, env=env, check=False)

    return run


def processes(done) -> int:
    (number,) = re.findall(r"(\d+) process", done.stdout)
    return int(number)


@pytest.mark.parametrize("child", ["A=1", "HOTFIX_MODE=repair", "HOTFIX_RECORD=/nowhere"])
def test_a_child_that_has_lost_its_variables_is_audited_and_not_repaired(job, child):
    done = job("audit", child=child)
    assert done.stdout.splitlines()[:2] == ["broken", "broken"], done.stderr
    assert processes(done) == 2


def test_a_child_that_has_lost_the_settings_too_is_not_repaired(installed, tmp_path):
    code = "import subprocess, sys, os; path = os.environ['PYTHONPATH'].split(':')[0]\n" + toy.SAY
    code += (
        "\nif len(sys.argv) == 1: subprocess.run(['env', '-i', f'PYTHONPATH={path}', sys.executable, __file__, 'x'])"
    )
    script = tmp_path / "train.py"
    script.write_text(code)
    done = installed.run("-m", "hotfix", "audit", "--", installed.python, script)
    assert done.stdout.splitlines()[:2] == ["broken", "broken"]


def test_hotfix_run_inside_of_an_audit_repairs_nothing(installed):
    inner = ["-m", "hotfix", "run", "--", "env", "-u", "HOTFIX_MODE", installed.python, "-c", toy.SAY]
    done = installed.run("-m", "hotfix", "audit", "--", installed.python, *inner)
    assert done.stdout.splitlines()[0] == "broken"
    assert processes(done) == 1


REQUIRED = {"HOTFIX_REQUIRE": "toy-fixes:toy", "HOTFIX_SKIP": "toy-fixes:*"}


@pytest.mark.parametrize(
    ("switches", "child"),
    [
        (REQUIRED, "A=1"),
        ({"HOTFIX_PIN": "000000000000"}, "A=1"),
        ({"HOTFIX_PIN": "000000000000"}, "HOTFIX_PIN=111111111111"),
        ({"HOTFIX_REQUIRE": "toy-fixes:toy"}, "HOTFIX_SKIP=*"),
        ({"HOTFIX_REQUIRE": "toy-fixes:toy"}, "HOTFIX_REQUIRE= HOTFIX_SKIP=*"),
        ({"HOTFIX_STRICT": "1"}, "HOTFIX_SKIP=no-such-fix HOTFIX_STRICT=0"),
    ],
    ids=str,
)
def test_a_child_that_has_lost_its_variables_is_stopped_by_the_guards_of_the_command(job, installed, switches, child):
    """The command itself is a shell, and is not stopped."""
    inner = f"env -i PYTHONPATH=\"$PYTHONPATH\" {child} {installed.python} -c '{toy.SAY}'"
    done = installed.run("-m", "hotfix", "run", "--", "sh", "-c", inner, env=switches, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "fixed" not in done.stdout


def test_a_variable_that_a_child_has_is_stronger_where_no_guard_is_weaker(installed):
    values = {"HOTFIX_SKIP": "a 'b', $c!%;ü", "HOTFIX_LOG": "quiet", "HOTFIX_REQUIRE": "a,b", "HOTFIX_RECORD": "/r/x"}
    child = "HOTFIX_LOG=debug HOTFIX_REQUIRE=b,c HOTFIX_PADDING=warn"
    inner = f'env -i PYTHONPATH="$PYTHONPATH" {child} {installed.python} -c {shlex.quote(SHOW)}'
    done = installed.run("-m", "hotfix", "run", "--", "sh", "-c", inner, env=values)
    expected = {**values, "HOTFIX_LOG": "debug", "HOTFIX_REQUIRE": "a,b,c", "HOTFIX_PADDING": "warn"}
    assert json.loads(done.stdout) == expected


def test_hotfix_0_in_a_child_switches_it_off(installed):
    inner = f"env -i PYTHONPATH=\"$PYTHONPATH\" HOTFIX=0 {installed.python} -c '{toy.SAY}'"
    done = installed.run("-m", "hotfix", "run", "--", "sh", "-c", inner, env={"HOTFIX_STRICT": "1"})
    assert done.stdout == "broken\n"


def test_the_carrier_of_settings_is_safe_in_a_shell_and_off_the_path(installed):
    values = {"HOTFIX_SKIP": "a 'b', $c!%;:*ü~"}
    entry = launch.environment(values)["PYTHONPATH"].split(os.pathsep)[1]
    assert re.fullmatch(r"[\w/.+=-]+", entry, re.ASCII)
    code = "import sys; print([one for one in sys.path if 'startup' in one])"
    assert installed.run("-m", "hotfix", "run", "--", installed.python, "-c", code, env=values).stdout == "[]\n"


@pytest.mark.parametrize("flag", ["-S", "-I", "-E"])
def test_a_child_that_switches_hotfix_on_itself_is_part_of_the_audit(installed, flag):
    """Python ignores PYTHONPATH there, and the start-up files of the wheel have no other variable."""
    code = f"import sys; sys.path.append({str(installed.site_packages)!r}); import hotfix.auto\n{toy.SAY}"
    child = shlex.join([str(installed.python), flag, "-c", code])
    inner = f'env -i PYTHONPATH="$PYTHONPATH" {child}'
    done = installed.run("-m", "hotfix", "audit", "--", "sh", "-c", inner, check=False)
    assert done.stdout.splitlines()[0] == "broken", done.stderr
    assert installed.run("-m", "hotfix", "run", "--", "sh", "-c", inner).stdout == "fixed\n"


def test_a_variable_whose_name_is_no_word_is_not_carried():
    path = launch.environment({"HOTFIX_A:b/c": "1", "HOTFIX_SKIP": "x"})["PYTHONPATH"]
    assert "b/c" not in path
    assert "HOTFIX_SKIP=x" in path


@pytest.mark.parametrize("audit", [False, True])
def test_a_folder_that_pythonpath_cannot_have_is_an_error(monkeypatch, audit):
    monkeypatch.setattr(launch, "FOLDER", Path(f"/a{os.pathsep}b/hotfix/commands/startup"))
    with pytest.raises(HotfixError, match="PYTHONPATH cannot have"):
        launch.environment({}, audit=audit)


def test_another_module_that_is_called_hotfix_does_not_switch_a_guard_off(installed, tmp_path):
    (tmp_path / "hotfix.py").write_text("")
    inner = f"PYTHONPATH=\"$PYTHONPATH:{tmp_path}\" {installed.python} -c '{toy.SAY}'"
    command = ["-m", "hotfix", "run", "--", "sh", "-c", inner]
    done = installed.run(*command, env={"HOTFIX_STRICT": "1"}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert installed.run(*command).stdout == "broken\n"


# -- the launchers themselves ------------------------------------------------------------------------------------------

TRAIN = toy.SAY.replace("print(answer(), flush=True)", "import sys; sys.stdout.write(answer() + chr(10))") + "\n"
EMPTY = 'exec env -i PATH="$PATH" HOME="$HOME" bash -c'
PDSH = f"""#!/bin/bash
while [[ "$1" == -* ]]; do [[ $1 == -w ]] && hosts=$2; [[ $1 == -S ]] && shift || shift 2; done
for number in 0 1; do ({EMPTY} "${{*//%n/$number}}") & jobs+=($!); done
for job in "${{jobs[@]}}"; do wait "$job" || status=$?; done
exit "${{status:-0}}"
"""
AGENT = f"""#!/bin/bash
while [[ "$1" == -* ]]; do shift; done
shift
{EMPTY} "$*"
"""
LAUNCHERS = {
    "deepspeed": "{python} -m deepspeed.launcher.runner --hostfile hosts --master_addr 127.0.0.1 --master_port {port} "
    "--no_ssh_check --force_multi train.py",
    "mpirun": "mpirun --allow-run-as-root --oversubscribe -np 2 --host node1:1,node2:1 --mca plm_rsh_agent {agent} "
    "--mca oob_tcp_if_include lo --mca btl_tcp_if_include lo -x PYTHONPATH {python} train.py",
    "torchrun": "{python} -m torch.distributed.run --nproc-per-node 2 --master-port {port} train.py",
}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_starts_processes_with_the_settings(launcher: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = [str(tmp_path / "site"), str(ROOT), *_site_packages()]
    if launcher == "deepspeed":
        path.append(str(overlay.overlay("4.48.1", ("accelerate==1.1.1", "deepspeed==0.16.2"))))
    if launcher == "mpirun" and shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    toy.plant(tmp_path / "site")
    for name, text in (("bin/pdsh", PDSH), ("bin/agent", AGENT), ("train.py", TRAIN)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "hosts").write_text("localhost slots=1\n127.0.0.1 slots=1\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = LAUNCHERS[launcher].format(python=sys.executable, port=port, agent=tmp_path / "bin" / "agent").split()
    search = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(path)}

    def start(command: str, **switches: str):
        env = environments.clean_environment(OMP_NUM_THREADS="1", **search, **switches)
        return environments.call(
            sys.executable, "-m", "hotfix", command, "--", *words, env=env, cwd=tmp_path, check=False, timeout=600
        )

    audited = start("audit")
    assert audited.stdout.split().count("broken") == 2, audited.stderr
    assert "fixed" not in audited.stdout.split()
    assert processes(audited) >= 2
    stopped = start("run", **REQUIRED)
    assert stopped.returncode != 0
    assert "broken" not in stopped.stdout.split()
    assert "HOTFIX_REQUIRE=toy-fixes:toy" in stopped.stdout + stopped.stderr
