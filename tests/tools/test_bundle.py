"""The runner, the bundle and the page, without a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hotfix import session  # noqa: E402
from tests.facts import lacking  # noqa: E402
from tools.studies.parity import bundle as cuda_bundle  # noqa: E402
from tools.studies.parity import page as parity  # noqa: E402
from tools.studies.parity import plan, runner  # noqa: E402
from tools.testbed import overlay  # noqa: E402

pytestmark = pytest.mark.testbed

ENTRY = "wide/var/flash_attn_func/bfloat16"  # needs the fewest packages


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle of one entry, for this machine, unpacked from its zip file in an empty folder."""
    made = tmp_path_factory.mktemp("made") / "bundle"
    cuda_bundle.make(made, cuda_bundle.Target("", cuda_bundle.NATIVE), [ENTRY], sources=[], preset=0)
    unpacked = tmp_path_factory.mktemp("empty")
    shutil.unpack_archive(shutil.make_archive(str(made), "zip", made), unpacked)
    return unpacked


@pytest.fixture(scope="module")
def result(bundle, tmp_path_factory):
    """The result file of the bundle's own runner: no network, not this checkout, no cache but torch's bytecode."""
    cache = tmp_path_factory.mktemp("cache")
    packages = Path("bytecode", *Path(torch.__file__).parents[1].parts[1:])
    (overlay.cache() / packages).mkdir(parents=True, exist_ok=True)
    (cache / packages).parent.mkdir(parents=True)
    (cache / packages).symlink_to(overlay.cache() / packages)  # else each process compiles torch
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TESTBED_CACHE")}
    command = [
        sys.executable,
        "-m",
        "tools.studies.parity",
        "--device",
        "cpu",
        "--only",
        ENTRY,
        "--out",
        "out/result.json",
    ]
    done = subprocess.run(
        command, cwd=bundle, env={**env, "TESTBED_CACHE": str(cache)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((bundle / "out" / "result.json").read_text())


def test_a_bundle_runs_from_an_empty_folder_and_writes_one_file(result):
    [(name, entry)] = result["entries"].items()
    assert (name, entry["problems"]) == (ENTRY, [])
    assert entry["before"].startswith("RuntimeError: FlashAttention ")
    assert entry["against"]["fixed"]["bitwise"] is True
    assert result["machine"]["kind"] == "cpu"
    assert result["machine"]["date"].startswith("20")


def test_a_result_says_which_kernel_ran(result):
    [entry] = result["entries"].values()
    assert set(entry["kernels"]) == {"flash_attn_func", "flash_attn_func backward"}
    assert all("reference attention" in words for words in entry["kernels"].values())
    assert entry["versions"]["flash_attn"] == plan.FLASH_ATTN


def test_a_result_of_a_cpu_is_called_a_rehearsal(result):
    page = parity.render([result])
    assert "GPU: not run" in page
    assert "Rehearsal" in page


def test_the_page_matches_the_results():
    assert parity.main(["--check"]) == 0


def test_a_file_that_two_releases_share_is_packed_once(tmp_path):
    for name in ("a-1", "a-2"):
        (tmp_path / name / "a").mkdir(parents=True)
        (tmp_path / name / "a" / "same.py").write_text("same = 1\n")
        (tmp_path / name / "a" / "other.py").write_text(f"other = {name!r}\n")
        (tmp_path / name / "a" / "RECORD").touch()
    cuda_bundle.pack(tmp_path / "all.tar.xz", [tmp_path / "a-1", tmp_path / "a-2"], preset=0)
    with tarfile.open(tmp_path / "all.tar.xz") as tar:
        links = {member.name: member.linkname for member in tar if member.islnk()}
    assert links == {"a-2/a/same.py": "a-1/a/same.py"}
    folder = runner.unpacked(tmp_path / "all.tar.xz", tmp_path / "out")
    assert folder is not None
    assert (folder / "a-2" / "a" / "same.py").read_text() == "same = 1\n"
    assert (folder / "a-2" / "a" / "other.py").read_text() == "other = 'a-2'\n"
    assert not list(folder.rglob("RECORD"))


def test_a_difference_is_found_and_measured():
    expected = {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([0.0])}
    other = {"x": torch.tensor([1.0, 2.5]), "y": torch.tensor([0.0])}
    assert runner.compare(expected, expected)["bitwise"] is True
    comparison = runner.compare(expected, other)
    assert (comparison["bitwise"], comparison["max_abs"], comparison["relative"], comparison["worst"]) == (
        False,
        0.5,
        0.2,
        "x",
    )
    assert runner.compare(expected, {"x": other["x"]})["only"] == ["y"]
    assert runner.compare(expected, {"x": torch.tensor([1.0, float("nan")])})["bitwise"] is False


@pytest.mark.parametrize(("bound", "problems"), [(0.0, 1), (0.1, 1), (0.3, 0)])
def test_a_run_that_differs_by_more_than_its_bound_is_wrong(bound, problems):
    on = runner.Done({"kernels": {}}, {"x": torch.tensor([1.0, 2.0])})
    other = runner.Done({"kernels": {}}, {"x": torch.tensor([1.0, 2.5])})
    reference = plan.Reference(plan.Run("a:case"), bound)
    assert len(list(runner._differences(reference, on, other, None))) == problems


def test_nan_is_never_right():
    on = runner.Done({"kernels": {}}, {"x": torch.tensor([float("nan")])})
    for bound in (0.0, 1.0):
        assert list(runner._differences(plan.Reference(plan.Run("a:case"), bound), on, on, None))


FOUNDING = {"flash-rotary-dtype", "fa2-right-padding-check", "var-attention-dtype"}


def test_every_fix_of_models_is_in_the_plan():
    own = {id for id, entry in session.current().catalogue.entries.items() if entry.module.startswith("hotfix.models.")}
    assert {entry.fix for entry in plan.entries("real")} == own


def test_the_founding_fixes_are_in_the_plan_in_both_dtypes_and_every_target_has_a_case():
    planned = plan.entries("real")
    for id in FOUNDING:
        assert {entry.dtype for entry in planned if entry.fix == id} == {"bfloat16", "float16"}
        targets = {target.key for target in session.current().catalogue.entries[id].load().targets}
        assert {entry.target for entry in planned if entry.fix == id and entry.name.startswith("case/")} == targets


def test_a_silent_bug_must_give_something_else_without_hotfix(monkeypatch):
    entry = next(candidate for candidate in plan.entries("real") if candidate.fix == "fa2-posids-varlen-unpadded-batch")
    report = {"outcomes": [{"fix": entry.fix, "state": "applied"}]}
    results = {"error": None, "report": report, "kernels": {}, "versions": {}, "seconds": 1}
    right, wrong = {"x": torch.ones(2)}, {"x": torch.zeros(2)}

    def examined(before):
        monkeypatch.setattr(
            runner.Place, "run", lambda _, run: runner.Done(results, before if run == entry.off else right)
        )
        return runner.examine(entry, runner.Place("cpu"))["problems"]

    assert examined(wrong) == []
    assert [lacking(text, "without hotfix", "no error") for text in examined(right)] == [[]]


def test_building_flash_attn_is_followed_to_its_failure(tmp_path):
    """Without nvcc the build fails: it reports that, and exits with another status than a build that continues."""
    script = str(runner.ROOT / "tools" / "studies" / "parity" / "build_flash_attn.sh")
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    started = subprocess.run(["sh", script, "start", "broken.tar.gz"], cwd=tmp_path, capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    waited = subprocess.run(["sh", script, "wait", "30"], cwd=tmp_path, capture_output=True, text=True)
    assert waited.returncode == 1
    assert "failed: status" in waited.stdout


def test_without_a_cuda_device_the_parity_tests_name_the_missing_device():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    from tests.tools import test_parity

    assert "no CUDA device" in test_parity.pytestmark[1].kwargs["reason"]
