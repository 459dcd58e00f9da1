"""``hotfix doctor`` finds every planted problem."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.commands.cli_runs import ROOT, hotfix
from tests.facts import lacking


def write(file, text=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def findings(*words, **options):
    done = hotfix("doctor", "--json", *words, **options)
    assert done.stderr == ""
    said = done.json["findings"]
    assert done.status == int(any(finding["level"] == "problem" for finding in said))
    return said


def reported(said, subject, level):
    texts = [
        f"{finding['found']} {finding['advice']}"
        for finding in said
        if (finding["subject"], finding["level"]) == (subject, level)
    ]
    assert texts, f"no {level} about {subject} in {said}"
    return " ".join(texts)


def release(folder, version, metadata=""):
    write(folder / "transformers" / "__init__.py", f'__version__ = "{version}"\n')
    (folder / f"transformers-{metadata or version}.dist-info").mkdir()
    return folder


def test_an_environment_without_anything_has_nothing_to_complain_about():
    said = findings("--quick")
    assert {finding["level"] for finding in said} <= {"ok", "note"}
    assert hotfix("doctor", "--quick").status == 0


def test_two_copies_of_transformers_are_found(tmp_path):
    folders = [release(tmp_path / name, version) for name, version in (("a", "4.49.0"), ("b", "4.57.6"))]
    text = reported(findings("--quick", path=folders), "transformers", "warning")
    assert str(folders[0]) in text
    assert "2 copies" in text


def test_metadata_that_is_not_of_the_code_is_found(tmp_path):
    text = reported(findings("--quick", path=[release(tmp_path / "a", "4.49.0", "4.50.0")]), "transformers", "warning")
    assert "4.49.0" in text
    assert "4.50.0" in text


def test_a_release_that_was_not_examined_is_found(tmp_path):
    text = reported(findings("--quick", path=[release(tmp_path / "a", "4.49.1.dev0")]), "transformers", "warning")
    assert "4.49.1.dev0" in text


def test_the_release_to_upgrade_to_is_named_for_unrepaired_bugs(tmp_path):
    release(tmp_path, "4.39.2")
    text = reported(findings("--quick", path=[tmp_path]), "known bugs", "note")
    ends = re.search(r"(\d+) that hotfix does not repair; .* transformers==([\d.]+) fixes \d+", text)
    assert ends, text
    write(tmp_path / "requirements.txt", "transformers==4.39.2\n")
    [scanned] = hotfix("scan", str(tmp_path / "requirements.txt"), "--json").json["scans"]
    assert ends[2] == scanned["upgrade"]


def test_a_release_without_sources_is_found(tmp_path):
    release(tmp_path, "4.49.0")
    module = tmp_path / "transformers" / "models" / "qwen2"
    write(tmp_path / "transformers" / "models" / "__init__.py")
    write(module / "__init__.py")
    source = write(module / "modeling_qwen2.py", "class Qwen2Model: pass\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-b", str(module)], check=True)
    source.unlink()
    text = reported(findings("--quick", path=[tmp_path]), "sources", "problem")
    assert "modeling_qwen2 cannot be" in text


def test_the_package_of_2016_is_found(tmp_path):
    write(tmp_path / "hotfix" / "__init__.py", "version = 1\n")
    (tmp_path / "hotfix-0.7.dist-info").mkdir()
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    said = findings("--quick", env=env)
    assert "of 2016" in reported(said, "hotfix", "problem")
    assert str(tmp_path) in reported(said, "hotfix", "warning")


def test_switches_that_cannot_be_read_or_match_nothing_are_found():
    assert "HOTFIX_LOG=loud" in reported(findings("--quick", env={"HOTFIX_LOG": "loud"}), "switches", "problem")
    said = findings("--quick", env={"HOTFIX_SKIP": "no-such-fix"})
    assert "HOTFIX_SKIP=no-such-fix" in reported(said, "switches", "warning")


def test_lazy_imports_and_flags_of_the_interpreter_are_found():
    text = reported(findings("--quick", env={"PYTHON_LAZY_IMPORTS": "all"}), "lazy imports", "warning")
    assert "never runs" in text
    text = reported(findings("--quick", flags=["-S"], path=_site()), "python -S", "warning")
    assert "start-up files" in text


def _site():
    import packaging

    return [os.path.dirname(os.path.dirname(packaging.__file__))]


def test_another_sitecustomize_is_named(tmp_path):
    write(tmp_path / "sitecustomize.py", "pass\n")
    assert str(tmp_path) in reported(findings("--quick", path=[tmp_path]), "sitecustomize", "note")


def test_other_packages_that_replace_functions_are_named(tmp_path):
    write(tmp_path / "liger_kernel" / "__init__.py", '__version__ = "0.5.8"\n')
    text = reported(findings("--quick", path=[tmp_path]), "replaced by others", "note")
    assert "Liger-Kernel 0.5.8" in text


def test_every_way_to_arm_an_interpreter_is_measured():
    assert "no start-up file" in reported(findings(), "switched on", "note")
    text = reported(findings(path=[ROOT / "hotfix" / "commands" / "startup"]), "switched on", "ok")
    assert lacking(text, "`hotfix run`: python;", "not python -I,", "python -S") == []
    assert "HOTFIX=0" in reported(findings(env={"HOTFIX": "0"}), "switched on", "warning")


def test_a_start_up_file_that_arms_nothing_is_a_problem(tmp_path):
    write(tmp_path / "hotfix_autoload.pth", "import hotfix_autoload; hotfix_autoload.start()\n")
    text = reported(findings(path=[tmp_path]), "switched on", "problem")
    assert str(tmp_path) in text


def test_a_flash_attn_that_cannot_be_imported_is_found(tmp_path):
    write(tmp_path / "flash_attn" / "__init__.py", '__version__ = "2.7.4"\nimport kernels_that_are_not_there\n')
    write(tmp_path / "torch" / "__init__.py", '__version__ = "2.5.1"\n')
    text = reported(findings(path=[tmp_path]), "flash-attn", "problem")
    assert lacking(text, "2.7.4", "ModuleNotFoundError") == []


@pytest.mark.parametrize("shadow", ["transformers.py", "transformers/notes.txt"])
def test_something_else_that_is_called_transformers_is_no_crash(tmp_path, shadow):
    write(tmp_path / shadow)
    for words in (
        ("status",),
        ("doctor", "--quick"),
        ("diff", "flash-rotary-dtype"),
        ("explain", "flash-rotary-dtype"),
    ):
        done = hotfix(*words, path=[tmp_path])
        assert done.status in (0, 1), done
        assert done.stderr == ""
