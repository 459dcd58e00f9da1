"""Checkpoints that 5.23.0 really writes, read by a release of 4.x as its users do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotfix.proofs.loading import _written
from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FAMILIES = ("Llama 3.1", "Gemma 3", "LLaVA")

READ = """
import hotfix.auto, json, logging, sys
from pathlib import Path
said = []
class Hears(logging.Handler):
    def emit(self, record):
        said.append((record.levelname, record.getMessage()))
logging.getLogger("hotfix").addHandler(Hears())
import transformers
from tools.studies.reading_child import comparisons
armed = [text for level, text in said if level == "INFO" and "loading" not in text]
assert not any("rope" in text or "tokenizer" in text or "dtype" in text for text in armed), armed
folder, families = Path(sys.argv[1]), sys.argv[2:]
results = {name: dict(comparisons(folder / name)) for name in families}

# What the caller passes wins; what is built in code is not touched; saved again it is a file of this release.
from transformers import AutoConfig, LlamaConfig
llama = folder / "Llama 3.1"
assert AutoConfig.from_pretrained(llama).rope_theta == 5e5
assert AutoConfig.from_pretrained(llama, rope_theta=77.0).rope_theta == 77.0
assert LlamaConfig(rope_parameters={"rope_theta": 5e5}).rope_theta == 10000.0
given = {"model_type": "llama", "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}
assert LlamaConfig.from_dict(given).rope_theta == 5e5 and "rope_theta" not in given
AutoConfig.from_pretrained(llama).save_pretrained(folder / "again")
again = json.loads((folder / "again" / "config.json").read_text())
assert again["rope_theta"] == 5e5 and again["rope_scaling"]["rope_type"] == "llama3", again
assert again["torch_dtype"] == again["dtype"] and again["rope_parameters"]["rope_theta"] == 5e5

# What this release cannot compute is one line that names the file and the key, and one line alone.
said.clear()
given = {"model_type": "llama", "rope_parameters": {"rope_type": "proportional", "rope_theta": 5e5}}
for _ in range(2):
    LlamaConfig.from_dict(dict(given))
[line] = [text for level, text in said if level == "ERROR"]
assert "config.json" in line and "rope_parameters.rope_type" in line and "proportional" in line
print(json.dumps(results))
"""

READ_BEFORE_LLAMA_3_1 = """
import os, sys
os.environ["HOTFIX_SKIP"] = sys.argv[2]
import hotfix.auto, json, logging
from pathlib import Path
errors = []
class Hears(logging.Handler):
    def emit(self, record):
        errors.append(record.getMessage()) if record.levelno >= logging.WARNING else None
logging.getLogger("hotfix").addHandler(Hears())
import transformers
from tools.studies.reading_child import comparisons
print(json.dumps([dict(comparisons(Path(sys.argv[1])))["model"], errors]))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    command = ["tools.studies.reading_child", "write", str(folder), *FAMILIES]
    run_script("-m", command, transformers=_written.WRITER, flash_attn=None).require()
    return folder


def test_a_checkpoint_of_5x_is_read_as_its_writer_reads_it(written):
    arguments, dtype = [READ, str(written), *FAMILIES], {"HOTFIX_OPTIN": "torch-dtype-key-dtype-in-v4"}
    result = run_script("-c", arguments, transformers="4.51.3", flash_attn=None, env=dtype).require()
    read = json.loads(result.stdout.splitlines()[-1])
    for name, parts in read.items():
        assert parts["tokenizer"] == "equal", name
        assert parts["model"].startswith(("equal", "near")), (name, parts)


@pytest.mark.parametrize(("without", "is_right"), [("", True), ("rope-scaling-validation-llama31", False)])
def test_scaling_that_is_computed_with_another_fix_is_no_error_where_that_is_in_place(written, without, is_right):
    arguments = [READ_BEFORE_LLAMA_3_1, str(written / "Llama 3.1"), without]
    result = run_script("-c", arguments, transformers="4.41.2", flash_attn=None).require()
    outcome, errors = json.loads(result.stdout.splitlines()[-1])
    assert outcome.startswith(("equal", "near")) is is_right, outcome
    assert [("rope_parameters.rope_type" in error and "llama3" in error) for error in errors] == (
        [] if is_right else [True]
    )


def test_the_cases_read_files_of_the_real_release(written):
    settings = json.loads((written / "Llama 3.1" / "tokenizer_config.json").read_text())
    assert settings == _written.SETTINGS
    config = json.loads((written / "Llama 3.1" / "config.json").read_text())
    for recorded in _written.CONFIGURATIONS.values():
        assert isinstance(recorded["rope_parameters"], dict)
    assert set(_written.CONFIGURATIONS["LlamaForCausalLM"]) <= set(config)
