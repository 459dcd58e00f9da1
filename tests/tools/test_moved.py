"""`tools.moved`: results whose digest has changed and whose code has not."""

import json

from tools import moved


def test_a_result_is_moved_where_its_digest_is_the_old_one(tmp_path):
    matrix, deviations = tmp_path / "matrix", tmp_path / "deviations"
    for folder in (matrix, deviations):
        folder.mkdir()
    (matrix / "a.json").write_text(json.dumps({"m:f": {"1": {"fix": "old"}, "2": {"fix": "older"}}}))
    (matrix / "b.json").write_text(json.dumps({"m:f": {"1": {"fix": "old"}}}))
    (deviations / "a.json").write_text(
        json.dumps({"1": {"plain": {"digest": "old 7"}, "other": {"digest": "older 7"}}})
    )
    assert moved.move({"a": ("old", "new")}, tmp_path) == 2
    assert json.loads((matrix / "a.json").read_text()) == {"m:f": {"1": {"fix": "new"}, "2": {"fix": "older"}}}
    assert json.loads((matrix / "b.json").read_text()) == {"m:f": {"1": {"fix": "old"}}}
    load = json.loads((deviations / "a.json").read_text())["1"]
    assert load == {"plain": {"digest": "new 7"}, "other": {"digest": "older 7"}}


def test_the_results_of_draws_are_moved_with_the_digest_of_their_draw(tmp_path):
    file = tmp_path / "agreement.json"
    file.write_text(json.dumps({"a": {"1": {"text": "old"}, "2": {"text": "older"}}, "old": {"1": {"text": "other"}}}))
    assert moved.move({f"{moved.DRAWS}a": ("old", "new")}, tmp_path) == 1
    assert json.loads(file.read_text()) == {
        "a": {"1": {"text": "new"}, "2": {"text": "older"}},
        "old": {"1": {"text": "other"}},
    }
