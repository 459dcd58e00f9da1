"""Threads and forks: no hang, no lost repair, and no change to the state of the process beyond the repairs.

- Importing in many threads leaves the filters of `warnings` alone, and emits no warning of its own.
- A child that was forked while other threads held hotfix's locks can report, apply and revert.
- If two threads change one function, both changes are in place, and both can be reverted.
- Many threads import, apply, revert and report at once, and fork children: each holder of a handle sees the repair;
  when the last handle is gone, nothing is left.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import threading
import time
import warnings

import pytest

from hotfix._support import locks
from hotfix.patching import live
from hotfix.versions import source

from .conftest import FIX, TOY, Lab, World, handled

ESCAPES = 'def f(x):\n    return "\\d" + rb"\\d".decode() + x\n' * 20


def in_threads(number: int, work) -> list[BaseException]:
    failed: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(index,), daemon=True) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    return failed


def test_parsing_in_threads_leaves_the_filters_of_warnings_alone() -> None:
    before = list(warnings.filters), warnings.showwarning
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inside = list(warnings.filters)
        # A different source each time, because the last parsed one is cached.
        switched = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            assert in_threads(16, lambda index: [source.find(f"{ESCAPES}#{index}.{n}\n", "f") for n in range(30)]) == []
        finally:
            sys.setswitchinterval(switched)
        assert list(warnings.filters) == inside
    assert caught == []
    assert (list(warnings.filters), warnings.showwarning) == before


def test_a_sound_text_is_parsed_although_other_threads_parse_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [SystemError("AST constructor recursion depth mismatch (before=30, after=27)")] * 3
    parse = ast.parse

    def in_the_way(*arguments, **keywords):
        if refusals:
            raise refusals.pop()
        return parse(*arguments, **keywords)

    monkeypatch.setattr(ast, "parse", in_the_way)
    definition = source.find("def f(x):\n    return x\n", "f")
    assert definition is not None
    assert definition.lineno == 1


def test_importing_in_sixteen_threads_leaves_the_filters_of_warnings_alone(world: World) -> None:
    for number in range(16):
        name = f"transformers/toy{number}.py"
        world.write(name, TOY.replace("Scale x.", r"Scale \d."))
        fix = FIX.replace("toy:scale", f"toy{number}:scale").replace("toy-scale", f"toy-{number}")
        key = f"transformers.toy{number}:scale"
        world.plant(f"toy-{number}", fix, {key: "==1.0"}, {key: "scale"})
    code = """
    import hotfix.auto, importlib, sys, threading, warnings
    sys.setswitchinterval(1e-5)
    import transformers, hotfix
    before = list(warnings.filters)
    gate, seen = threading.Barrier(16), []
    def work(number):
        gate.wait()
        seen.append(importlib.import_module(f"transformers.toy{number}").scale(5))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    [one.start() for one in threads]; [one.join() for one in threads]
    print(set(seen), len(seen), warnings.filters == before)
    """
    assert world.run(code, PYTHONWARNINGS="ignore::SyntaxWarning").stdout == "{10} 16 True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_while_threads_held_our_locks_can_do_everything(lab: Lab) -> None:
    fix = lab.fix(scale=TOY)
    fix.edits("toys.toy:scale", old="x + factor", new="x * factor")
    toy = lab.module(text=TOY)
    session = lab.session(fix)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        every = list(locks._locks)
        for each_lock in every:
            each_lock.__enter__()
        held.set()
        done.wait(60)
        for each_lock in every:
            each_lock.__exit__(None, None, None)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        child = os.fork()
        if not child:
            status = 1
            try:
                handled(session)
                session.report()
                session.log.warn_once("from a child")
                assert toy.scale(5) == 10
                session.reset()
                assert toy.scale(5) == 7
                status = 0
            finally:
                os._exit(status)
        assert ended(child) == 0
    finally:
        done.set()
        thread.join()
    assert toy.scale(5) == 7


def ended(child: int, seconds: float = 30) -> int:
    """The exit status of a child; a child that hangs is killed and counts as failed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def test_two_threads_that_wrap_one_place_both_have_their_wrapper_there(lab: Lab, monkeypatch) -> None:
    toy = lab.module(text=TOY)
    original = toy.scale
    fixes = []
    for id in ("one", "two"):
        fix = lab.fix(id, scale=TOY)
        fix.wraps("toys.toy:scale")(lambda original: lambda x, factor=2: original(x, factor) + 100)
        fixes.append(fix)
    session = lab.session(*fixes)
    resolve, gate = live.resolve, threading.Barrier(2)

    def slowly(module, qualname):
        site = resolve(module, qualname)
        with contextlib.suppress(threading.BrokenBarrierError):
            gate.wait(0.3)  # without the lock, both would be here at once
        return site

    monkeypatch.setattr(live, "resolve", slowly)
    journal = session.journal
    failed = in_threads(2, lambda index: journal.install(fixes[index], fixes[index].targets[0], toy))
    monkeypatch.setattr(live, "resolve", resolve)
    assert failed == []
    assert toy.scale(5) == 207
    journal.uninstall()
    assert toy.scale is original


def test_a_lookup_during_the_last_revert_gets_the_repair(lab: Lab, monkeypatch) -> None:
    fix = lab.fix(scale=TOY)
    fix.edits("toys.toy:scale", old="x + factor", new="x * factor")
    toy = lab.module(text=TOY)
    session = lab.session(fix)
    session.reset()
    first = session.request()
    session.module_imported("toys.toy", late=True)
    uninstall, leaving, asked = session.journal.uninstall, threading.Event(), threading.Event()

    def slowly(ids=None):
        leaving.set()
        asked.wait(0.5)
        return uninstall(ids)

    def work(index: int) -> None:
        if index == 0:
            session.release(first)
        else:
            leaving.wait(10)
            session.request()
            session.module_imported("toys.toy", late=True)
            asked.set()

    monkeypatch.setattr(session.journal, "uninstall", slowly)
    assert in_threads(2, work) == []
    assert toy.scale(5) == 10
    assert [outcome.state.value for outcome in session.outcomes().values()] == ["applied"]
    session.reset()
    assert toy.scale(5) == 7


STRESS = """
import importlib, itertools, json, os, random, sys, threading, time, warnings
sys.setswitchinterval(1e-5)
import hotfix
from hotfix import session
before = list(warnings.filters)
finders = list(sys.meta_path)
failed, forks, rounds = [], itertools.count(), itertools.count()
until = time.monotonic() + {seconds}
def child():
    import transformers.toy as toy
    status = 1
    try:
        with hotfix.apply():
            importlib.import_module(f"transformers.toy{{random.randrange(8)}}")
            hotfix.report()
            status = 0 if toy.scale(5) == 10 else 2
    finally:
        os._exit(status)
def ended(pid):
    for _ in range(6000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9); os.waitpid(pid, 0)
    return "hangs"
def once(luck):
    next(rounds)
    module = importlib.import_module(f"transformers.toy{{luck.randrange(8)}}")
    with hotfix.apply():
        if module.scale(5) != 10:
            failed.append((module.__name__, module.scale(5)))
        if luck.random() < 0.05:
            hotfix.report()
def fork():
    pid = os.fork()
    if not pid:
        child()
    status = ended(pid)
    if status:
        failed.append(("fork", status))
def work(index):
    luck = random.Random(index)
    try:
        if index < 2:
            # What is being imported by another thread at a fork stays locked in the child, in any program.
            with hotfix.apply():
                for name in ("", *range(8)):
                    importlib.import_module(f"transformers.toy{{name}}")
                hotfix.report()
            while next(forks) < {forks}:
                fork()
        while time.monotonic() < until:
            once(luck)
    except BaseException as error:
        failed.append((index, repr(error)))
threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(64)]
[one.start() for one in threads]
for one in threads:
    one.join({seconds} + 120)
print(json.dumps(dict(
    failed=failed[:5], hanging=sum(one.is_alive() for one in threads), filters=warnings.filters == before,
    finders=sys.meta_path == finders, forks=min(next(forks), {forks}),
    left={{sys.modules[name].scale(5) for name in list(sys.modules) if name.startswith("transformers.toy")}} == {{7}},
)))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_inherits_no_change_that_another_thread_has_begun() -> None:
    lock, begun, changes = locks.Lock(), threading.Event(), []

    def change() -> None:
        with lock:
            begun.set()
            time.sleep(0.3)
            changes.append("whole")

    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    child = os.fork()
    if not child:
        os._exit(0 if changes == ["whole"] else 3)
    _, status = os.waitpid(child, 0)
    thread.join()
    assert status == 0
    with lock:  # free in the parent, too
        pass


@pytest.mark.drawn(4, "long")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("seconds", "forks"), [(4, 10), pytest.param(100, 200, marks=pytest.mark.slow)], ids=["in short", "in full"]
)
def test_threads_that_import_apply_revert_and_report_and_forks_out_of_them(
    world: World, seconds: int, forks: int
) -> None:
    for number in range(8):
        world.write(f"transformers/toy{number}.py", TOY)
        fix = FIX.replace("toy:scale", f"toy{number}:scale").replace("toy-scale", f"toy-{number}")
        key = f"transformers.toy{number}:scale"
        world.plant(f"toy-{number}", fix, {key: "==1.0"}, {key: "scale"})
    done = world.run(
        STRESS.format(seconds=seconds, forks=forks), HOTFIX_LOG="quiet", PYTHONWARNINGS="ignore", check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result.pop("forks") == forks
    assert result == {"failed": [], "hanging": 0, "filters": True, "finders": True, "left": True}
