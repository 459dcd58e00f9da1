"""The data distilled from the releases gives the same answers as their whole sources."""

from __future__ import annotations

import pytest

from hotfix.loading import forms
from hotfix.releases import by_release
from tools.by_release import distilled

CONFIGURATION = '''
"""Text."""
from ...configuration_utils import PretrainedConfig
from ..clip.configuration_clip import CLIPVisionConfig


class SmallConfig(PretrainedConfig):
    r"""
    A configuration.
    """

    model_type = "small"
    sub_configs = {"vision_config": CLIPVisionConfig}

    def __init__(self, hidden_size=64, rope_theta=10000.0, rope_scaling=None, **kwargs):
        self.hidden_size = hidden_size
        # The base.
        self.rope_theta = rope_theta
        self.rope_scaling = rope_scaling
        if self.rope_scaling is not None and len(self.rope_scaling) != 2:
            raise ValueError("two fields")
        super().__init__(**kwargs)


class EmptyConfig(SmallConfig):
    """Nothing but text."""
'''
MODELING = """
class SmallRotaryEmbedding:
    def __init__(self, config):
        self.rope_type = config.rope_scaling["rope_type"]
        self.scaling = ROPE_INIT_FUNCTIONS[self.rope_type]
        self.other = 1
"""
AUTO = 'CONFIG_MAPPING_NAMES = OrderedDict([("small", "SmallConfig")])\nOTHER = {"a": "b"}\n'
ROPE = '''
def _linear(config):
    """Text."""
    return config.rope_theta


ROPE_INIT_FUNCTIONS = {
    "linear": _linear,
}
'''
WHOLE = {
    "transformers.configuration_utils": 'KEYS = ("torch_dtype",)\n',
    "transformers.modeling_rope_utils": ROPE,
    "transformers.models.auto.configuration_auto": AUTO,
    "transformers.models.small.configuration_small": CONFIGURATION,
    "transformers.models.small.modeling_small": MODELING,
}


@pytest.mark.parametrize("kind", ["default", "linear", "yarn"])
def test_the_distilled_source_of_a_release_gives_the_answers_of_the_whole(kind):
    small = {name: text if name in forms.AUTO else distilled(name, text) for name, text in WHOLE.items()}
    config = {"model_type": "small", "rope_parameters": {"rope_type": kind, "rope_theta": 5e5, "factor": 2.0}}
    whole, other = (forms.configuration(config, forms.Release(texts.get)) for texts in (WHOLE, small))
    assert whole == other
    assert whole[1]


def test_messages_without_information_are_left_out():
    assert "A configuration" not in distilled("a.configuration_small", CONFIGURATION)
    assert "The base" not in distilled("a.configuration_small", CONFIGURATION)
    assert "self.hidden_size" not in distilled("a.configuration_small", CONFIGURATION)
    assert "self.other" not in distilled("a.modeling_small", MODELING)


def test_a_release_with_rope_parameters_keeps_only_the_needed_keys():
    assert "rope" not in distilled("a.configuration_small", CONFIGURATION, is_new=True)
    assert "class SmallConfig" in distilled("a.configuration_small", CONFIGURATION, is_new=True)
    assert distilled("a.modeling_small", MODELING, is_new=True) == ""
    assert distilled("a.modeling_small", "x = getattr(config, 'a', config.head_dim)", is_new=True) == "config.head_dim"


def test_the_tables_of_model_types_are_those_of_the_release():
    source = by_release.source_of(by_release.releases()[0])
    assert source.class_of("qwen3") is None
    llama = source.class_of("llama")
    assert llama is not None
    assert llama.name == "LlamaConfig"
    assert source.class_of("mctct") is not None, "one of models.deprecated"


def test_the_file_knows_every_examined_release_and_since_when_there_is_a_model():
    from hotfix.commands import bugs

    assert by_release.releases() == bugs.examined()
    first = {name: str(by_release.model_types()[name][0]) for name in ("llama", "qwen3", "gemma3", "deepseek_v3")}
    assert first == {"llama": "4.36.0", "qwen3": "4.51.0", "gemma3": "4.50.0", "deepseek_v3": "4.51.0"}


def test_a_release_of_which_nothing_is_known_is_an_error():
    from packaging.version import Version

    with pytest.raises(LookupError, match=r"4\.0\.0"):
        by_release.source_of(Version("4.0.0"))
    assert by_release.reader(Version("4.0.0")) is None
