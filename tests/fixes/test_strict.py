"""The everyday models and the Trainer of many releases are imported, and no repair fails."""

from __future__ import annotations

import pytest
from packaging.version import Version

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

RELEASES = (
    *("4.36.2", "4.38.2", "4.41.2", "4.44.2", "4.46.3", "4.48.3", "4.49.0", "4.51.3", "4.53.3", "4.55.4", "4.57.6"),
    *("5.0.0", "5.3.0", "5.10.1", "5.17.0", "5.23.0"),
)
EVERYDAY = """
import hotfix.auto
from transformers import (
    AutoModelForCausalLM, AutoTokenizer, BertModel, CLIPModel, GPT2LMHeadModel, LlamaForCausalLM, Qwen2VLProcessor,
    RobertaModel, T5ForConditionalGeneration, Trainer, WhisperForConditionalGeneration, pipeline,
)
import transformers.integrations.fsdp, transformers.processing_utils
"""


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("optin", ["", "removed-names"])
def test_no_repair_fails(release, optin):
    text = EVERYDAY
    if Version(release) < Version("4.45.0"):
        text = text.replace(" Qwen2VLProcessor,", "").replace("transformers.integrations.fsdp, ", "")
    env = {"HOTFIX_STRICT": "1", "HOTFIX_OPTIN": optin}
    done = run_script(
        "-c", [text], transformers=release, flash_attn=None, extras=["accelerate==1.10.1"], env=env
    ).require()
    assert "itself failed" not in done.stderr
