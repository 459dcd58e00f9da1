"""Names of the table on releases that have lost them: who gets them, who does not, and a clean revert."""

from __future__ import annotations

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")

GIVEN = """
import hotfix.auto, sys, types
import transformers
from transformers.modeling_utils import PretrainedConfig, ModelOutput
from transformers.models.bert.modeling_bert import _CHECKPOINT_FOR_DOC, BERT_START_DOCSTRING
from transformers.models.bert.modeling_bert import BERT_PRETRAINED_MODEL_ARCHIVE_LIST as listed
from transformers.models.bart.modeling_bart import BartAttention, BartFlashAttention2
from transformers.models.bert.tokenization_bert import BasicTokenizer
from transformers.trainer import distributed_concat
import transformers.models.bert.modeling_bert as bert
from transformers.generation_utils import GenerationMixin

assert PretrainedConfig is transformers.PretrainedConfig
assert GenerationMixin is transformers.GenerationMixin
assert _CHECKPOINT_FOR_DOC == "google-bert/bert-base-uncased"
assert (bert._CONFIG_FOR_DOC, BERT_START_DOCSTRING) == ("BertConfig", "")
assert len(listed) == 22 and bert.BERT_PRETRAINED_MODEL_ARCHIVE_LIST is listed
assert issubclass(BartFlashAttention2, BartAttention) and not isinstance(BartAttention(8, 2), BartFlashAttention2)
for wrong in (lambda: BartFlashAttention2(8, 2), lambda: setattr(BartFlashAttention2, "forward", None)):
    try:
        wrong()
    except NotImplementedError as error:
        assert "BartAttention is the class" in str(error), error
    else:
        raise AssertionError(wrong)
assert BasicTokenizer().tokenize("Ab, c") == ["ab", ",", "c"]
assert distributed_concat.__module__ == "transformers.trainer_pt_utils"
received = {one.partition(":")[2] for one in hotfix.report().restored}
assert {"_CHECKPOINT_FOR_DOC", "BartFlashAttention2", "BasicTokenizer", "generation_utils"} <= received, received
hotfix.revert()
assert type(bert) is types.ModuleType, type(bert).__mro__
assert "transformers.generation_utils" not in sys.modules
try:
    from transformers.models.bert.modeling_bert import _CHECKPOINT_FOR_DOC
except ImportError:
    print("gone")
"""

EMPTY = """
import hotfix.auto, abc, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from transformers.onnx import OnnxConfig
    from transformers.onnx import OnnxConfig as again
    from transformers.onnx.utils import get_preprocessor
    from transformers import MMBTModel, SquadExample
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLCausalLMOutputWithPast
import transformers

class Mine(OnnxConfig, abc.ABC):
    @property
    def inputs(self):
        return 1

lines = [(warning.lineno, warning.category.__name__) for warning in caught]
assert lines == [(5, "UserWarning"), (7, "UserWarning"), (8, "UserWarning"), (8, "UserWarning")], lines
assert again is OnnxConfig and issubclass(Mine, OnnxConfig) and not isinstance(1, MMBTModel)
assert not hasattr(OnnxConfig, "from_model_config") and not hasattr(MMBTModel, "from_pretrained")
uses = (Mine, MMBTModel, SquadExample, lambda: get_preprocessor("x"), lambda: MMBTModel.from_pretrained("x"))
for use in (*uses, lambda: setattr(MMBTModel, "forward", None)):
    try:
        use()
    except NotImplementedError as error:
        assert "last release" in str(error), error
    else:
        raise AssertionError(use)
output = Qwen2VLCausalLMOutputWithPast(logits=1, rope_deltas=2)
assert isinstance(output, transformers.modeling_outputs.CausalLMOutputWithPast) and output.to_tuple() == (1, 2)
try:
    from transformers.onnx.config import OnnxConfigWithPast
    from transformers import TransfoXLModel
except ImportError:
    print("handled")
"""

PROBES = """
import hotfix.auto, importlib.util, inspect, operator, contextlib
import transformers.models.bert.modeling_bert as bert
import transformers.modeling_utils as modeling
import transformers

names = {"_CHECKPOINT_FOR_DOC": bert, "BERT_START_DOCSTRING": bert, "BERT_PRETRAINED_MODEL_ARCHIVE_LIST": bert,
         "PretrainedConfig": modeling, "ModelOutput": modeling}
for name, module in names.items():
    assert not hasattr(module, name) and getattr(module, name, None) is None
    assert name not in dir(module) and name not in vars(module) and name not in dict(inspect.getmembers(module))
    try:
        exec(f"from {module.__name__} import {name}")
        raise SystemExit(name)
    except ImportError as error:
        assert f"cannot import name {name!r} from {module.__name__!r}" in str(error), error
    try:
        getattr(module, name)
        raise SystemExit(name)
    except AttributeError as error:
        assert str(error) == f"module {module.__name__!r} has no attribute {name!r}", error
    with contextlib.suppress(AttributeError):
        operator.attrgetter(name)(module)
        raise SystemExit(name)
    with contextlib.suppress(Exception):
        exec(f"from {module.__name__} import {name}")
        raise SystemExit(name)
    space = {}
    exec(f"from {module.__name__} import *", space)
    assert name not in space
assert importlib.util.find_spec("transformers.generation_utils") is None
try:
    from transformers.generation_utils import GenerationMixin
except ImportError:
    GenerationMixin = None
assert GenerationMixin is None and not hasattr(transformers, "generation_utils")

def compat():
    try:
        from transformers.modeling_utils import PretrainedConfig
    except ImportError:
        from transformers import PretrainedConfig as found
        return found
    return None
assert compat() is transformers.PretrainedConfig
assert not hotfix.report().restored
for missing in ("__no_such__", "no_such"):
    assert not hasattr(bert, missing)
print("nothing")
"""


@pytest.mark.drawn(1)
@pytest.mark.parametrize("release", ["5.0.0", "5.23.0"])
def test_code_that_would_end_gets_the_old_meaning(release: str) -> None:
    assert run_script("-c", [GIVEN], transformers=release, flash_attn=None).require().stdout == "gone\n"


@pytest.mark.drawn(1)
@pytest.mark.parametrize("release", ["5.0.0", "5.23.0"])
def test_code_that_probes_sees_the_release(release: str) -> None:
    assert run_script("-c", [PROBES], transformers=release, flash_attn=None).require().stdout == "nothing\n"


def test_a_name_without_anything_behind_it_warns_and_refuses() -> None:
    assert run_script("-c", [EMPTY], transformers="5.23.0", flash_attn=None).require().stdout == "handled\n"


@pytest.mark.drawn(1)
@pytest.mark.parametrize("switch", [{"HOTFIX_SKIP": "removed-names"}, {"HOTFIX": "0"}])
def test_a_switch_takes_them_out(switch: dict[str, str]) -> None:
    script = "import hotfix.auto\nfrom transformers.models.bert.modeling_bert import _CHECKPOINT_FOR_DOC"
    result = run_script("-c", [script], transformers="5.23.0", flash_attn=None, env=switch)
    assert "cannot import name '_CHECKPOINT_FOR_DOC'" in result.stderr
