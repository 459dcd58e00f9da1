"""``hotfix scan-code`` on code as in real repositories: missing, guarded and restored names."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.commands.cli_runs import hotfix

REMOTE = """
    import transformers
    import transformers.models.llama.modeling_llama as llama
    from transformers import AdamW as Adam, LlamaConfig, PreTrainedModel, TrainingArguments
    from transformers.models.llama.modeling_llama import (
        LlamaFlashAttention2,
        LlamaRMSNorm,
    )
    from transformers.utils import is_flash_attn_2_available, logging

    try:
        from transformers.utils import is_torch_fx_available
    except ImportError:
        is_torch_fx_available = None

    try:
        from transformers.image_utils import VideoInput
    except ImportError:
        from transformers.video_utils import VideoInput

    if is_flash_attn_2_available():
        from transformers.modeling_flash_attention_utils import index_first_axis

    logger = logging.get_logger(__name__)


    class Model(PreTrainedModel):
        def forward(self, mask):
            return self.get_head_mask(mask, 2), self.config, self.own

        def own(self):
            return llama.LLAMA_ATTENTION_CLASSES, transformers.BeamSearchScorer


    def train():
        from transformers import shard_nothing_that_ever_was
        from transformers.deepspeed import is_deepspeed_zero3_enabled

        return TrainingArguments("out", evaluation_strategy="steps")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A repository: remote code, a file of Python 2, and folders that are skipped."""
    top = tmp_path_factory.mktemp("repository")
    (top / "modeling.py").write_text(textwrap.dedent(REMOTE))
    (top / "old.py").write_text("print 'transformers'\n")
    for hidden in (".git", "site-packages"):
        (top / hidden).mkdir()
        (top / hidden / "x.py").write_text("from transformers import AdamW\n")
    return top


@pytest.fixture(scope="module")
def scan(folder):
    return hotfix("scan-code", "--json", str(folder)).json["scans"][0]


def names_of(scan):
    return {finding["name"].removeprefix("transformers"): finding for finding in scan["findings"]}


def test_names_that_are_gone_are_found_with_the_fix_that_gives_them_back(scan):
    names = names_of(scan)
    flash = names[".models.llama.modeling_llama:LlamaFlashAttention2"]
    assert flash["gone"] == "from 4.48.0 on"
    assert flash["fix"] == "llama-flash-attention2-removed"
    assert flash["optin"] is False
    assert flash["needed_at_import"]
    assert [use["line"] for use in flash["uses"]] == [6]
    assert names[":AdamW"]["fix"] == "adamw-removed"
    assert names[".deepspeed"]["fix"] == "transformers-deepspeed-module-removed"
    assert not names[".deepspeed"]["needed_at_import"]


def test_attributes_members_and_arguments_are_found(scan):
    names = names_of(scan)
    assert names[".models.llama.modeling_llama:LLAMA_ATTENTION_CLASSES"]["gone"] == "from 4.48.0 on"
    assert names[":BeamSearchScorer"]["needed"]
    assert any(name.endswith(".get_head_mask") for name in names)
    assert names[":TrainingArguments(evaluation_strategy=)"]["gone"] == "from 4.51.0 on"


def test_guarded_names_are_marked(scan):
    names = names_of(scan)
    assert not names[".utils:is_torch_fx_available"]["needed"]
    assert not names[".image_utils:VideoInput"]["needed"]
    assert not any("index_first_axis" in name and entry["needed"] for name, entry in names.items())


def test_names_that_exist_everywhere_or_are_unknown_or_own_are_no_findings(scan):
    names = names_of(scan)
    for quiet in ("LlamaRMSNorm", "LlamaConfig", "shard_nothing", "own", "config", "logging", "PreTrainedModel"):
        assert not any(name.endswith((f":{quiet}", f".{quiet}")) for name in names), quiet


APPLICATION = """
    from transformers import pipeline as make
    import transformers.pipelines
    from transformers.tokenization_utils import PreTrainedTokenizer, TextInput

    make("summarization", model="t5-small")
    make(task="translation_en_to_fr")
    transformers.pipelines.pipeline("question-answering")
    make("text-generation")
    make(["translation"])
    make()


    def pipeline(task):
        return task


    pipeline("text2text-generation")
"""


def test_tasks_of_pipelines_and_names_of_a_module_that_is_an_alias_are_found(tmp_path):
    (tmp_path / "app.py").write_text(textwrap.dedent(APPLICATION))
    names = names_of(hotfix("scan-code", "--json", str(tmp_path)).json["scans"][0])
    assert {name: (entry["gone"], entry["uses"][0]["line"]) for name, entry in names.items()} == {
        ".pipelines:SummarizationPipeline": ("from 5.0.0 on", 6),
        ".pipelines:TranslationPipeline": ("from 5.0.0 on", 7),
        ".pipelines:QuestionAnsweringPipeline": ("from 5.3.0 on", 8),
        ".tokenization_utils:TextInput": ("from 5.0.0 on", 4),
    }
    assert {name["fix"] for name in names.values()} == {"pipelines-removed", "tokenization-utils-names-removed"}


def test_it_says_where_the_code_runs(scan):
    assert scan["newest"] == "4.45.2"  # transformers.deepspeed
    assert scan["imports_on"][-1] == "4.47.1"
    assert scan["files_with_names"] == 1
    assert any("old.py" in note for note in scan["notes"])


def test_the_exit_status_follows_fail_on(folder):
    path = str(folder / "modeling.py")
    assert hotfix("scan-code", path).status == 0
    assert hotfix("scan-code", path, "--release", "5.3.0", "--fail-on", "any").status == 1
    assert hotfix("scan-code", path, "--release", "4.41.2", "--fail-on", "any").status == 0
    wrong = hotfix("scan-code", path, "--release", "1.2")
    assert wrong.status == 2
    assert "examined release" in wrong.stderr


def test_sarif_names_the_lines(folder):
    log = json.loads(hotfix("scan-code", str(folder), "--format", "sarif").stdout)
    results = log["runs"][0]["results"]
    levels = {result["ruleId"].rpartition(":")[2]: result["level"] for result in results}
    assert levels["LlamaFlashAttention2"] == "warning"
    assert levels["LLAMA_ATTENTION_CLASSES"] == "warning"
    assert levels["is_torch_fx_available"] == "note"
    lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results]
    assert all(line > 0 for line in lines)


def test_a_name_that_nobody_gives_back_is_an_error(tmp_path):
    (tmp_path / "old.py").write_text("from transformers.trainer import ShardedDDPOption\n")
    log = json.loads(hotfix("scan-code", str(tmp_path), "--format", "sarif").stdout)
    assert [result["level"] for result in log["runs"][0]["results"]] == ["error"]


def test_added_names_are_missing_in_the_releases_of_the_table():
    """The table comes from the wheels, the fixes' ranges from the sweep: they must agree."""
    from hotfix.commands.scan_code import missing

    everywhere = frozenset(range(len(missing.releases())))
    compared = 0
    for full, (bug, releases) in missing._targets().items():
        module, _, name = full.partition(":")
        there = missing._table().with_name(module, name) if name.isidentifier() else None
        if there is None:
            continue
        lacking = {missing.releases()[release] for release in everywhere - there}
        declared = {release for release in missing.releases() if releases.contains(release)}
        compared += 1
        assert declared <= lacking, (bug.id, full, sorted(declared - lacking))
    assert compared > 60
