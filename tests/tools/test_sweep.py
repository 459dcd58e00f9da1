"""The static sweep, on releases of a few lines that are made here; each of its failure modes is planted."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
import types
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from hotfix.fix import Fix
from tests.facts import lacking
from tools import evidence, sweep, wheels

if TYPE_CHECKING:
    # Names of the modules whose functions are replaced.
    kernel: Any = ...
    better_kernel: Any = ...

ROOT = Path(__file__).resolve().parents[2]
BROKEN = """
    def rotate(q, cos):
        '''Any docstring.'''
        return kernel(q.float(), cos)
"""
FIXED = """
    def rotate(q, cos):
        return kernel(q.float(), cos.float())
"""
HEAD = "from somewhere import kernel\n"
NAME = "transformers.models.{0}.modeling_{0}"


def modeling(model: str, text: str) -> dict[str, str]:
    return {f"transformers/models/{model}/modeling_{model}.py": HEAD + textwrap.dedent(text)}


def library(folder: Path, releases: dict[str, dict[str, str]]) -> wheels.Library:
    for release, files in releases.items():
        with zipfile.ZipFile(folder / f"transformers-{release}-py3-none-any.whl", "w") as archive:
            archive.writestr("transformers/__init__.py", f"__version__ = '{release}'\n")
            for name, text in files.items():
                archive.writestr(name, text)
    return wheels.catalogue("transformers", wheels.cached("transformers", folder))


def rotary_fix(releases: str = "==4.41.0", model: str = "one", **more: object) -> Fix:
    fix = Fix(id="rotary", title="It refuses.", kind="crash", prefilter="kernel(", **more)  # type: ignore[arg-type]

    @fix.replaces((f"{NAME.format(model)}:rotate", releases))
    def rotate(q, cos):
        return kernel(q.float(), cos.float())

    fix.recognises(looks_broken)
    return fix


def looks_broken(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return "kernel(q.float()" in text and "cos.float()" not in text


def problems(folder: Path, fix: Fix, releases: dict[str, dict[str, str]]) -> list[str]:
    return sweep.sweep([fix], library(folder, releases)).problems


@pytest.fixture
def three(tmp_path: Path) -> dict[str, dict[str, str]]:
    return {"4.40.0": {}, "4.41.0": modeling("one", BROKEN), "4.42.0": modeling("one", FIXED)}


def test_broken_fixed_and_absent_are_distinguished(tmp_path, three):
    fix = rotary_fix()
    releases = library(tmp_path, three)
    swept = sweep.sweep([fix], releases)
    assert swept.problems == []
    entry = swept.file(fix, {}, releases.releases)["targets"][f"{NAME.format('one')}:rotate"]
    assert entry["absent"] == ["4.40.0"]
    assert list(entry["broken"].values()) == [["4.41.0"]]
    assert list(entry["fixed"].values()) == [["4.42.0 and later"]]


def test_two_workers_find_the_same_as_one(tmp_path, three):
    fix, releases = rotary_fix(), library(tmp_path, three)
    assert sweep.sweep([fix], releases, jobs=2) == sweep.sweep([fix], releases, jobs=1)


def test_releases_that_are_broken_and_not_declared_are_a_problem(tmp_path, three):
    three["4.43.0"] = modeling("one", BROKEN)
    (problem,) = problems(tmp_path, rotary_fix("==4.41.0"), three)
    assert lacking(problem, "not declared", "4.43.0 and later") == []
    assert "'>=4.41.0,!=4.42.0'" in problem


def test_releases_that_are_declared_and_not_broken_are_a_problem(tmp_path, three):
    (problem,) = problems(tmp_path, rotary_fix(">=4.40.0,<=4.42.0"), three)
    assert lacking(problem, "absent, fixed: 4.40.0,", "4.42.0 and later") == []
    assert "'==4.41.0'" in problem


@pytest.mark.parametrize(
    ("model", "text", "qualname"),
    [
        ("two", BROKEN, "rotate"),
        ("two", "class Attention:\n" + textwrap.indent(textwrap.dedent(BROKEN), "    "), "Attention.rotate"),
        ("two", BROKEN.replace("rotate", "turn"), "turn"),
        ("one", BROKEN + BROKEN.replace("rotate", "turn"), "turn"),
    ],
    ids=["function", "method", "another name", "same file"],
)
def test_a_forgotten_copy_is_a_problem(tmp_path, three, model, text, qualname):
    three["4.41.0"].update(modeling(model, text))
    (problem,) = problems(tmp_path, rotary_fix(), three)
    assert f"forgotten copy {NAME.format(model)}:{qualname} in 4.41.0" in problem


def test_a_definition_that_many_files_have_is_judged_once(tmp_path, three):
    judged = []
    fix = rotary_fix()

    @fix.recognises
    def counting(node):
        judged.append(node.name)
        return looks_broken(node)

    for number, release in enumerate(three):
        three[release].update(
            modeling("two", f"number = {number}\n" + textwrap.dedent(FIXED).replace("rotate", "turn"))
        )
    assert problems(tmp_path, fix, three) == []
    assert judged.count("turn") == 1


def test_a_copy_in_a_file_that_nothing_imports_is_none(tmp_path, three):
    three["4.41.0"]["transformers/models/two/modular_two.py"] = HEAD + textwrap.dedent(BROKEN)
    assert problems(tmp_path, rotary_fix(), three) == []


def test_a_copy_may_be_exempt_with_a_reason(tmp_path, three):
    three["4.41.0"].update(modeling("two", BROKEN))
    assert problems(tmp_path, rotary_fix(exempt={f"{NAME.format('two')}:rotate": "It is never called."}), three) == []


def test_a_pattern_leaves_code_that_upstream_has_not_repaired(tmp_path, three):
    fix = rotary_fix(exempt={"transformers.*": "It has no oracle."})
    for release in "4.41.0", "4.42.0":
        three[release].update(modeling("two", BROKEN))
    assert problems(tmp_path, fix, three) == []
    three["4.42.0"].update(modeling("two", FIXED))
    (problem,) = problems(tmp_path, fix, three)
    assert f"forgotten copy {NAME.format('two')}:rotate in 4.41.0" in problem


def test_exempting_code_that_is_no_copy_is_a_problem(tmp_path, three):
    (problem,) = problems(tmp_path, rotary_fix(exempt={f"{NAME.format('two')}:rotate": "Gone."}), three)
    assert "no copy of" in problem


def test_a_prefilter_that_broken_source_does_not_contain_is_a_problem(tmp_path, three):
    fix = rotary_fix()
    object.__setattr__(fix, "prefilter", "flash_kernel(")
    (problem,) = problems(tmp_path, fix, three)
    assert "misses it" in problem
    assert problem.endswith("in 4.41.0")


def test_without_a_prefilter_copies_of_the_same_name_are_found(tmp_path, three):
    three["4.41.0"].update(modeling("two", BROKEN))
    fix = rotary_fix()
    object.__setattr__(fix, "prefilter", "")
    (problem,) = problems(tmp_path, fix, three)
    assert "forgotten copy" in problem


def test_a_matcher_that_raises_is_a_problem_and_not_a_traceback(tmp_path, three):
    fix = rotary_fix()

    @fix.recognises
    def demanding(node):
        return node.body[7]

    assert any("matcher raises IndexError" in problem for problem in problems(tmp_path, fix, three))


def test_a_replacement_with_another_signature_is_a_problem(tmp_path, three):
    three["4.41.0"] = modeling("one", BROKEN.replace("(q, cos)", "(q, cos, scale=None)"))
    (problem,) = problems(tmp_path, rotary_fix(), three)
    assert lacking(problem, "(q, cos, scale=None)", "(q, cos)") == []


def test_a_replacement_that_uses_a_name_the_module_lacks_is_a_problem(tmp_path, three):
    fix = Fix(id="rotary", title="It refuses.", kind="crash", prefilter="kernel(")

    @fix.replaces((f"{NAME.format('one')}:rotate", "==4.41.0"))
    def rotate(q, cos):
        return better_kernel(q, cos)

    fix.recognises(looks_broken)
    (problem,) = problems(tmp_path, fix, three)
    assert lacking(problem, "uses better_kernel") == []


# -- edits -------------------------------------------------------------------------------------------------------------


def edit_fix(edit, count: int = 1, id: str = "rotary", **more: object) -> Fix:
    fix = Fix(id=id, title="It refuses.", kind="crash", prefilter="kernel(", **more)  # type: ignore[arg-type]
    fix.edits((f"{NAME.format('one')}:rotate", "==4.41.0"), count=count)(edit)
    fix.recognises(looks_broken)
    return fix


def drop_return(node: ast.AST):
    return [] if isinstance(node, ast.Return) else None


def test_an_edit_that_matches_as_declared_is_fine(tmp_path, three):
    assert problems(tmp_path, edit_fix(drop_return), three) == []


@pytest.mark.parametrize("count", [0, 2])
def test_an_edit_that_matches_another_number_of_times_is_a_problem(tmp_path, three, count):
    (problem,) = problems(tmp_path, edit_fix(drop_return, count), three)
    assert lacking(problem, "matches 1 times", f"not {count}", "4.41.0") == []


def test_edited_source_that_does_not_compile_is_a_problem(tmp_path, three):
    def break_out(node: ast.AST):
        return ast.Break() if isinstance(node, ast.Return) else None

    (problem,) = problems(tmp_path, edit_fix(break_out), three)
    assert lacking(problem, "does not compile", "SyntaxError", "'break' outside loop") == []


def test_an_edit_that_raises_is_a_problem(tmp_path, three):
    def careless(node: Any):
        return [] if node.value.func.id == "kernel" else None

    (problem,) = problems(tmp_path, edit_fix(careless), three)
    assert "edit raises AttributeError" in problem


def test_two_edits_that_cannot_meet_in_one_function_are_a_problem(tmp_path, three):
    fixes = [edit_fix(drop_return), edit_fix(drop_return, id="second", order=1)]
    (problem,) = sweep.sweep(fixes, library(tmp_path, three)).problems
    assert lacking(problem, "rotary and second", "matches 0 times") == []


# -- verdicts that take more than one definition -----------------------------------------------------------------------

CALLER = "def attend(q, cos):\n    return rotate(q, cos)\n"
CASTING = "def attend(q, cos):\n    return rotate(q, cos.float())\n"


def pair_fix(*judged: str) -> Fix:
    fix = Fix(id="pair", title="It refuses.", kind="crash", prefilter="kernel(")

    @fix.replaces((f"{NAME.format('one')}:rotate", "==4.41.0"), fingerprint_of=judged)
    def rotate(q, cos):
        return kernel(q.float(), cos.float())

    @fix.recognises
    def both(rotate: ast.AST, attend: ast.AST) -> bool:
        return looks_broken(rotate) and "float" not in ast.unparse(attend)

    return fix


def test_a_verdict_may_take_two_definitions_of_one_module(tmp_path):
    text = textwrap.dedent(BROKEN)
    releases = {"4.41.0": modeling("one", text + CALLER), "4.42.0": modeling("one", text + CASTING)}
    assert problems(tmp_path, pair_fix("rotate", "attend"), releases) == []


def test_a_verdict_may_take_definitions_of_two_modules(tmp_path):
    other = "transformers/attention.py"
    releases = {
        "4.40.0": modeling("one", BROKEN),
        "4.41.0": modeling("one", BROKEN) | {other: CALLER},
        "4.42.0": modeling("one", BROKEN) | {other: CASTING},
    }
    assert problems(tmp_path, pair_fix("rotate", "transformers.attention:attend"), releases) == []


def test_a_forgotten_copy_of_two_definitions_is_a_problem(tmp_path):
    text = textwrap.dedent(BROKEN)
    releases = {"4.41.0": modeling("one", text + CALLER) | modeling("two", text + "\n\n" + CALLER)}
    (problem,) = problems(tmp_path, pair_fix("rotate", "attend"), releases)
    assert f"forgotten copy {NAME.format('two')}:rotate" in problem
    releases["4.41.0"].update(modeling("two", text + CASTING))
    assert problems(tmp_path, pair_fix("rotate", "attend"), releases) == []


# -- looking for the definition around a line --------------------------------------------------------------------------


TRICKY = """import os
@first
# a comment
@second(
    "x",
)
def decorated(): ...
x = {
    "def": 1,
}
class Plain:
    @property
    def value(self): ...
    @value.setter
    def value(self, to): ...
    def other(self):
        def inner(): ...
        return inner
if os:
    def either(): return 1
else:
    def either(): return 2
async def waits(
    a,
):
    return "@not"
class Again: ...
class Again:
    def method(self): ...
def text():
    return \"\"\"
@nothing
def quoted(): ...
\"\"\"
"""


def test_a_text_in_pieces_gives_the_same_matches_as_the_whole():
    text = sweep._Text(TRICKY.encode())
    assert "".join(piece.text for piece in text.pieces) == TRICKY
    assert text.pieces[1].text.startswith("@first\n# a comment\n@second(")
    assert [piece.name for piece in text.pieces] == [
        "",
        "decorated",
        "Plain",
        "waits",
        "Again",
        "Again",
        "text",
        "quoted",
    ]
    names = ["decorated", "Plain", "Plain.value", "Plain.other", "Plain.missing", "either", "waits", "Again", "missing"]
    names += ["Again.method", "Plain.other.inner", "text", "quoted", "inner"]
    for name in names:
        here, whole = text.find(name), sweep.source.find(TRICKY, name)
        assert (here is None) == (whole is None), name
        if here and whole:
            assert sweep.source.digest(here.node) == sweep.source.digest(whole.node), name
            assert here.text == whole.text, name


def test_a_text_with_form_feeds_is_read_as_a_whole():
    text = "def one(): ...\n\fclass Two:\n    def method(self): ...\n"
    assert sweep._Text(text.encode()).find("Two.method") is not None


def test_places_in_a_text_belong_to_the_definitions_that_the_whole_text_says():
    lines = TRICKY.splitlines(keepends=True)
    whole = {(name, lines[head]) for number in range(len(lines)) for name, head in sweep.enclosing(lines, number)}
    inside = set()
    for piece in sweep._Text(TRICKY.encode()).pieces:
        own = piece.text.splitlines(keepends=True)
        inside |= {(name, own[head]) for number in range(len(own)) for name, head in sweep.enclosing(own, number)}
    assert inside == whole


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (0, []),
        (2, ["A"]),
        (3, ["A", "A.method"]),
        (5, ["A", "A.method"]),
        (7, ["A", "A.method"]),
        (9, ["outer"]),
        (10, ["outer"]),
        (12, []),
    ],
)
def test_the_definitions_around_a_line(line, names):
    lines = [
        "import kernel",
        "class A:",
        "    kernel = 1",
        "    def method(self,",
        "        kernel=2,",
        "    ): return kernel(",
        "",
        "        3)",
        "def outer():",
        "    def inner():",
        "        kernel()",
        "",
        "kernel()",
    ]
    assert [name for name, _ in sweep.enclosing(lines, line)] == names


# -- files -------------------------------------------------------------------------------------------------------------

EXAMINED = [Version(name) for name in ("4.40.0", "4.41.0", "4.41.1", "4.42.0", "5.0.0")]


@pytest.mark.parametrize(
    ("numbers", "written", "specifier"),
    [
        ([], [], ""),
        ([0], ["4.40.0"], "==4.40.0"),
        ([1, 2], ["4.41.0 - 4.41.1"], ">=4.41.0,<=4.41.1"),
        ([0, 2, 3], ["4.40.0", "4.41.1 - 4.42.0"], ">=4.40.0,<=4.42.0,!=4.41.0"),
        ([4], ["5.0.0 and later"], ">=5.0.0"),
        ([0, 1, 2, 3, 4], ["4.40.0 and later"], ">=4.40.0"),
    ],
)
def test_runs_of_releases_are_written_and_read_back(numbers, written, specifier):
    versions = [EXAMINED[number] for number in numbers]
    assert evidence.runs(versions, EXAMINED) == written
    assert evidence.members(written, EXAMINED) == versions
    assert evidence.specifier(versions, EXAMINED) == specifier


@pytest.mark.parametrize("run", ["4.40.1", "4.42.0 - 4.41.0", "nonsense", ""])
def test_a_range_outside_the_examined_releases_is_refused(run):
    with pytest.raises(ValueError, match="is not a run"):
        evidence.members([run], EXAMINED)


class Command:
    """Runs the command line over the wheels in a folder, for fixes that a test puts into a list."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.output = folder / "wheels", folder / "evidence"
        self.cache.mkdir()
        self.fixes: dict[str, Fix] = {}

    def __call__(self, releases: dict[str, dict[str, str]], *options: str, fixes: tuple[Fix, ...] | None = None) -> int:
        library(self.cache, releases)
        if fixes is not None:
            self.fixes = {f"home.of.{fix.id}": fix for fix in fixes}
        return sweep.main(["--offline", "--jobs=1", f"--cache={self.cache}", f"--output={self.output}", *options])


@pytest.fixture
def command(tmp_path, monkeypatch):
    made = Command(tmp_path)
    monkeypatch.setattr(evidence, "discover", lambda problem: dict(made.fixes))
    return made


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.json"))}


def test_a_second_run_changes_nothing(command, three, capsys):
    assert command(three, fixes=(rotary_fix(),)) == 0
    before = written(command.output)
    assert command({}) == 0
    assert written(command.output) == before
    assert capsys.readouterr().out.count("written:") == 2


def test_a_new_release_in_which_nothing_happens_changes_one_line_of_the_index(command, three):
    command(three, fixes=(rotary_fix(),))
    before = written(command.output)
    assert command({"4.43.0": modeling("one", FIXED)}) == 0
    after = written(command.output)
    assert after["rotary.json"] == before["rotary.json"]
    changed = set(after["index.json"].splitlines()) - set(before["index.json"].splitlines())
    (new,) = (line for line in changed if not line.strip().startswith('"digest"'))  # which is that of all lines
    assert new.startswith(' "examined": {')
    assert '"4.42.0", "4.43.0"]' in new


def test_report_new_says_which_fixes_change(command, three, capsys):
    command(three, fixes=(rotary_fix(),))
    assert command({"4.43.0": modeling("one", BROKEN)}, "--report-new") == 1
    out = capsys.readouterr().out
    assert "new releases: 4.43.0" in out
    assert "rotary changes:" in out
    assert lacking(out, f"{NAME.format('one')}:rotate", "4.43.0: fixed") == []
    assert command({"4.44.0": modeling("one", BROKEN)}, "--report-new") == 1
    assert "no fix changes" in capsys.readouterr().out


def test_check_needs_no_wheel_and_finds_a_stale_index(command, three, capsys):
    command(three, fixes=(rotary_fix(),))
    shutil.rmtree(command.output.parent / "wheels")
    (command.output.parent / "wheels").mkdir()
    assert command({}, "--check") == 0
    assert command({}, "--check", fixes=(rotary_fix(optin=True),)) == 1
    assert lacking(capsys.readouterr().out, "rotary: ", "index.json is stale") == []
    assert command({}, "--index") == 0
    assert command({}, "--check") == 0


def test_check_finds_a_range_that_was_changed_after_the_sweep(command, three, capsys):
    command(three, fixes=(rotary_fix(),))
    assert command({}, "--check", fixes=(rotary_fix("<=4.41.0"),)) == 1
    assert lacking(capsys.readouterr().out, "declares '<=4.41.0'", "says '==4.41.0'") == []


def test_check_finds_missing_stray_and_edited_files(command, three, capsys):
    command(three, fixes=(rotary_fix(),))
    stray = command.output / "gone.json"
    stray.write_text("{}")
    path = command.output / "rotary.json"
    path.write_text(path.read_text().replace("4.42.0 and later", "4.41.0 and later"))
    assert command({}, "--check") == 1
    out = capsys.readouterr().out
    assert lacking(out, "gone.json", "no fix") == []
    assert "does not cover" in out or "the evidence says" in out
    stray.unlink()
    path.unlink()
    assert command({}, "--check") == 1
    assert "has no evidence" in capsys.readouterr().out


def test_one_fix_alone_leaves_the_others_as_they_are(command, three):
    other = edit_fix(drop_return, id="other")
    command(three, fixes=(rotary_fix(), other))
    before = written(command.output)
    (command.output / "rotary.json").unlink()
    assert command({}, "--fix=rotary") == 0
    assert written(command.output) == before


def test_evidence_that_is_written_by_hand_is_kept_and_its_form_is_checked(command, three, capsys):
    fix = Fix(id="var", title="It refuses.", kind="crash")
    fix.replaces("*.basic_var:rotate")(lambda q, cos: None)
    command.output.mkdir()
    entry = {"broken": {"0123456789abcdef0123": ["75ba1e2"]}, "fixed": {}}
    path = command.output / "var.json"
    evidence.write(path, {"fix": "var", "targets": {"*.basic_var:rotate": entry}})
    before = path.read_text()
    assert command(three, fixes=(fix,)) == 0
    assert path.read_text() == before
    assert command({}, "--check") == 0
    path.write_text(before.replace("0123456789abcdef0123", "too short"))
    assert command({}) == 1
    assert "'too short'" in capsys.readouterr().out


def test_the_written_evidence_agrees_with_the_fixes():
    """The checks of this repository that need no wheel; `nox -s sweep` tells the rest."""
    results: list[str] = []
    modules = evidence.discover(results.append)
    assert results + list(evidence.disagreements(modules)) == []


# -- what users get ----------------------------------------------------------------------------------------------------

EXAMINE = """
import importlib.util, json, sys

class Editable:
    "What an editable install puts on sys.meta_path: it knows where the top package is, and no more."
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "transformers":
            return importlib.util.spec_from_file_location(name, sys.argv[1] + "/transformers/__init__.py")

if sys.argv[2] == "editable":
    sys.meta_path.append(Editable)
else:
    sys.path.insert(0, sys.argv[1])
from hotfix.engine.policy import Policy
from hotfix.session import Session
from hotfix.models.flash_rotary_dtype import FIX
from hotfix.versions import verdict
session = Session(Policy.lenient({}))
session.ensure_selected()
target = FIX.targets[0]
watched = session.root_imported("transformers")
print(json.dumps([verdict.judge_installed(FIX, target).verdict.value, target.module in watched]))
assert "transformers" not in sys.modules and "torch" not in sys.modules
"""


def modeling_file(release: str) -> str:
    cache = wheels.default_cache()
    version = Version(release)
    if version not in wheels.cached("transformers", cache):
        try:
            wheels.fetch("transformers", [version], cache)
        except wheels.CannotFetch as error:
            pytest.skip(f"the wheel of transformers {release} is missing: {error}")
    with zipfile.ZipFile(wheels.cached("transformers", cache)[version]) as archive:
        return archive.read("transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py").decode()


@pytest.mark.parametrize("install", ["plain", "editable"])
@pytest.mark.parametrize(
    ("called", "source_of", "verdict"),
    [
        ("4.50.0.dev0", "4.49.0", "broken"),
        ("4.49.0.dev0", "4.50.0", "fixed"),
        ("4.50.0+local.1", "4.49.0", "broken"),
        ("4.49.0+g1a2b3c", "4.50.0", "fixed"),
    ],
)
def test_a_git_like_version_gets_the_verdict_of_its_source(tmp_path, install, called, source_of, verdict):
    model = tmp_path / "transformers" / "models" / "qwen2_5_vl"
    model.mkdir(parents=True)
    (model / "modeling_qwen2_5_vl.py").write_text(modeling_file(source_of))
    for folder in (model, model.parent):
        (folder / "__init__.py").touch()
    (tmp_path / "transformers" / "__init__.py").write_text(f'__version__ = "{called}"\n')
    flash = tmp_path / "site" / "flash_attn"  # the bug needs one before 2.8
    flash.mkdir(parents=True)
    (flash / "__init__.py").write_text('__version__ = "2.7.4.post1"\n')
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(flash.parent)])}
    done = subprocess.run(
        [sys.executable, "-c", EXAMINE, str(tmp_path), install], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [verdict, True]


def test_the_wheel_carries_the_evidence_and_stays_small(tmp_path):
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is missing beside this Python")
    done = subprocess.run(
        [uv, "build", "--wheel", "--quiet", "--out-dir", tmp_path, ROOT], capture_output=True, text=True
    )
    if "Failed to resolve requirements" in done.stderr:
        pytest.skip("hatchling is missing and cannot be fetched")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    limits = re.findall(r"^WHEEL_(\w+) = ([\d_]+)$", (ROOT / "noxfile.py").read_text(), re.M)
    bytes_of = {name: int(number) for name, number in limits}
    index = json.loads((evidence.FOLDER / "index.json").read_text())
    releases = len(index["examined"]["transformers"])
    largest = bytes_of["WITHOUT_FIXES"] + bytes_of["PER_FIX"] * len(index["fixes"])
    largest += bytes_of["PER_RELEASE"] * (releases - 120)
    assert wheel.stat().st_size <= largest, "see WHEEL_PER_FIX in noxfile.py"
    with zipfile.ZipFile(wheel) as archive:
        carried = {Path(name).name for name in archive.namelist() if name.startswith("hotfix/versions/evidence/")}
    assert carried == {path.name for path in evidence.FOLDER.glob("*.json")}


def test_the_readme_of_a_package_index_has_absolute_links_once_the_repository_has_an_address(monkeypatch):
    class Hook:  # in the place of hatchling's, which is there only while a wheel is built
        root = str(ROOT)

    interface = types.SimpleNamespace(MetadataHookInterface=Hook)
    monkeypatch.setitem(sys.modules, "hatchling", types.ModuleType("hatchling"))
    for name in ("hatchling.metadata", "hatchling.metadata.plugin", "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, name, interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["CustomMetadataHook"]()
    without: dict[str, Any] = {"urls": {}}
    later: dict[str, Any] = {"urls": {"Source": "https://example.org/source/"}}
    hook.update(without)
    hook.update(later)
    assert without["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*)\)", later["readme"]["text"])
    pictures = re.findall(r'\bsrc(?:set)?="([^"]*)"', later["readme"]["text"])
    assert links
    assert pictures
    links += pictures
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


# -- the package index -------------------------------------------------------------------------------------------------


class Pip:
    """Answers like pip."""

    def __init__(self, monkeypatch, listed: str = "", said: str = "", wheel: bool = True) -> None:
        self.listed, self.said, self.wheel = listed, said, wheel
        self.asked: list[str] = []
        monkeypatch.setattr(wheels, "_pip", self)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.asked.append(arguments[-1])
        if arguments[0] == "index":
            return subprocess.CompletedProcess(arguments, 0, self.listed, "")
        folder = Path(arguments[arguments.index("-d") + 1])
        if self.wheel:
            (folder / f"{arguments[-1].replace('==', '-')}-py3-none-any.whl").touch()
        return subprocess.CompletedProcess(arguments, 0 if self.wheel else 1, "", self.said)


def test_releases_are_those_of_the_index_from_the_first_swept_one_on(monkeypatch):
    Pip(monkeypatch, "transformers (5.0.0)\nAvailable versions: 5.0.0, 5.0.0rc1, 4.36.0, 4.35.2\n  INSTALLED: 4.36.0\n")
    assert wheels.published("transformers") == [Version("4.36.0"), Version("5.0.0")]


def test_an_index_that_does_not_answer_is_reported(monkeypatch):
    Pip(monkeypatch, "")
    with pytest.raises(wheels.CannotFetch, match="cannot list the releases of transformers"):
        wheels.published("transformers")


def test_one_fix_is_examined_in_the_releases_of_the_index(monkeypatch, tmp_path):
    pip = Pip(monkeypatch, "transformers (4.43.0)\nAvailable versions: 4.43.0, 4.42.0\n")
    (tmp_path / "transformers-4.43.0-py3-none-any.whl").touch()  # published since
    options = sweep._parser().parse_args(["--cache", str(tmp_path), "--fix", "rotary"])
    wanted = [Version("4.42.0")]
    assert list(sweep._wheels("transformers", options, wanted)) == wanted
    assert pip.asked == ["transformers==4.42.0"]


def test_missing_wheels_are_fetched_once(monkeypatch, tmp_path):
    pip = Pip(monkeypatch)
    assert wheels.fetch("transformers", [Version("4.36.0")], tmp_path) == []
    assert pip.asked == ["transformers==4.36.0"]
    assert list(wheels.cached("transformers", tmp_path)) == [Version("4.36.0")]
    assert [path.name for path in tmp_path.iterdir()] == ["transformers-4.36.0-py3-none-any.whl"]


def test_a_withdrawn_release_is_left_out(monkeypatch, tmp_path):
    pip = Pip(
        monkeypatch, said="WARNING: The candidate selected for download or install is a yanked version: 'transformers'"
    )
    assert wheels.fetch("transformers", [Version("4.46.0")], tmp_path) == [Version("4.46.0")]
    assert wheels.fetch("transformers", [Version("4.46.0")], tmp_path) == [Version("4.46.0")]
    assert wheels.cached("transformers", tmp_path) == {}
    assert pip.asked == ["transformers==4.46.0"], "it is downloaded once"


def test_a_failed_download_is_reported_and_leaves_nothing(monkeypatch, tmp_path):
    Pip(monkeypatch, said="no such release", wheel=False)
    with pytest.raises(wheels.CannotFetch, match=r"transformers 4\.36\.0 cannot be downloaded: no such release"):
        wheels.fetch("transformers", [Version("4.36.0")], tmp_path)
    assert list(tmp_path.iterdir()) == []
