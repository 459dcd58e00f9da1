"""The rehearsal of new releases: the rest after a cut, the differences, and one real release."""

from __future__ import annotations

import shutil

import pytest
from packaging.version import Version

from tools import evidence, rehearsal, results, wheels

FIX, TARGET = "one-fix", "transformers.one:function"


def copy_of_the_data(to):
    """The evidence, the matrix and the tables of the checkout, in a folder."""
    for path in [evidence.FOLDER, results.FOLDER, *rehearsal.TABLES]:
        copied = to / path.relative_to(rehearsal.ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, copied)
    return to


def test_a_cut_copy_ends_at_the_release_and_agrees_with_the_fixes(tmp_path):
    root = copy_of_the_data(tmp_path)
    folder = root / evidence.FOLDER.relative_to(rehearsal.ROOT)
    whole = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"))
    assert rehearsal.cut(root, whole[-3]) == whole[-2:]
    assert evidence.examined_releases(evidence.read(folder / "index.json")) == whole[:-2]
    modules = evidence.discover(pytest.fail)
    assert list(evidence.disagreements(modules, folder)) == []
    fixes = results.read(root / results.FOLDER.relative_to(rehearsal.ROOT))["fixes"]
    kept = {Version(release) for keys in fixes.values() for releases in keys.values() for release in releases}
    assert max(kept) <= whole[-3]
    differences = list(rehearsal.differences(rehearsal.ROOT, root))
    assert {f"{table.relative_to(rehearsal.ROOT)} is another one" for table in rehearsal.TABLES} <= set(differences)
    assert f"{folder.relative_to(root) / 'index.json'} is another one" in differences
    assert any(sentence.endswith(": not run") for sentence in differences)


def test_a_copy_that_is_the_same_differs_in_nothing_and_seconds_do_not_count(tmp_path):
    root = copy_of_the_data(tmp_path)
    path = root / results.FOLDER.relative_to(rehearsal.ROOT)
    data = results.read(path)
    cells = next(iter(next(iter(data["fixes"].values())).values()))
    release, entry = next(iter(cells.items()))
    entry["seconds"] += 100
    results.write(data, path)
    assert list(rehearsal.differences(rehearsal.ROOT, root)) == []
    entry["result"] = "failed"
    results.write(data, path)
    (sentence,) = rehearsal.differences(rehearsal.ROOT, root)
    assert f"{release}: ('failed'" in sentence
    names = root / rehearsal.TABLES[0].relative_to(rehearsal.ROOT)
    names.write_bytes(names.read_bytes() + b"\0")
    assert f"{names.relative_to(root)} is another one" in set(rehearsal.differences(rehearsal.ROOT, root, cells=False))


def test_a_release_that_was_not_examined_cannot_be_the_last_one(tmp_path):
    with pytest.raises(ValueError, match="not examined"):
        rehearsal.cut(copy_of_the_data(tmp_path), Version("4.0.0"))


@pytest.mark.slow
def test_the_last_release_is_brought_back_to_the_byte(tmp_path, capsys):
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"))
    lacking = set(examined) - set(wheels.cached("transformers", wheels.default_cache()))
    if lacking:
        pytest.skip(f"{len(lacking)} wheels of transformers are not in the cache")
    words = ["--after", str(examined[-2]), "--no-cells", "--jobs=1", "--folder", str(tmp_path)]
    status = rehearsal.main(words)
    assert status == 0, capsys.readouterr().out
