"""Names of weights in files of later releases."""

from __future__ import annotations

import pytest

from hotfix.loading.weight_forms import renamed

OLD = ["language_model.model.layers.0.w", "language_model.lm_head.w", "vision_tower.vision_model.encoder.w", "proj.w"]


@pytest.mark.parametrize(
    ("name", "expected", "wanted"),
    [
        ("vision_tower.encoder.w", OLD, OLD[2]),
        ("model.vision_tower.encoder.w", OLD, OLD[2]),
        ("model.language_model.layers.0.w", OLD, OLD[0]),
        ("model.language_model.model.layers.0.w", OLD, OLD[0]),
        (
            "model.language_model.model.layers.0.w",
            ["model.language_model.layers.0.w"],
            "model.language_model.layers.0.w",
        ),
        ("lm_head.w", OLD, OLD[1]),
        ("lm_head.w", ["embed_out.w", "gpt_neox.embed_in.w"], "embed_out.w"),
        ("model.visual.blocks.0.w", ["visual.blocks.0.w"], "visual.blocks.0.w"),
        ("encoder.layers.0.w", ["vision_model.encoder.layers.0.w"], "vision_model.encoder.layers.0.w"),
    ],
)
def test_a_name_of_a_later_release_is_the_one_that_the_model_has(name, expected, wanted):
    assert renamed({name: name}, expected) == {name: wanted}


def test_a_prefix_too_many_does_no_harm():
    names = {name: f"language_model.model.{name}" for name in ("model.language_model.model.layers.0.w", OLD[1])}
    assert list(renamed(names, OLD).values()) == [OLD[0], OLD[1]]


@pytest.mark.parametrize(
    "names",
    [
        {"proj.w": "proj.w"},
        {"nothing.like.it": "nothing.like.it"},
        {"vision_tower.encoder.w": "vision_tower.encoder.w", OLD[2]: OLD[2]},  # the file has it anyway
        {
            "vision_tower.encoder.w": "vision_tower.encoder.w",
            "model.vision_tower.encoder.w": "model.vision_tower.encoder.w",
        },
    ],
)
def test_known_unknown_and_repeated_keys_stay(names):
    assert renamed(names, OLD) == {}
