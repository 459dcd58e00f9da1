"""`hotfix audit PATH`: the verdict on folders that the real Trainer has written, and on invalid folders."""

from __future__ import annotations

import json
import os
import re
import shutil
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from hotfix import session, trigger
from hotfix.commands import bugs
from hotfix.commands.audit import from_files, run_folder
from hotfix.commands.audit.from_files import Group
from hotfix.engine.entry import folder_of
from hotfix.errors import HotfixError
from hotfix.reports.digest import patch_set_digest
from hotfix.trigger import Trigger
from tests.commands.cli_runs import hotfix
from tests.commands.schemas import check

DROPPED = "trainer-ga-num-items-dropped"
MULTIPLIED = "trainer-ga-multiplied-loss"
WINDOW = "fa-sliding-window-off-by-one"
SCALED = "opt-double-scaling"
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "torch_dtype": "bfloat16",
    "transformers_version": "4.48.0",
}
ENTRIES = session.current().catalogue.entries
STATE = {"global_step": 8, "train_batch_size": 2, "log_history": []}
CARD = """---
library_name: transformers
---
# tiny
## Training procedure
### Training hyperparameters

The following hyperparameters were used during training:
- learning_rate: 5e-05
- train_batch_size: 2
- eval_batch_size: 8
{more}
### Framework versions

- Transformers {release}
- Pytorch 2.5.1+cu124
- Datasets 3.2.0
"""
ACCUMULATED = "- gradient_accumulation_steps: 4\n- total_train_batch_size: 8\n"


def written(folder, card="", **files):
    """A folder; `files` are JSON, by name without the suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    if card:
        (folder / "README.md").write_text(card)
    return folder


def card(release="4.48.0", more=ACCUMULATED):
    return CARD.format(release=release, more=more)


def groups(folder):
    """The group of every bug that is found, by its id. Checks that the JSON output always matches the schema."""
    outcome = from_files.examine(folder)
    check("audit-path", json.loads(json.dumps(outcome.to_dict())))
    return {finding.bug.id: finding.group for finding in outcome.findings}


def notes_of(folder):
    """The notes, and the files that were not read, as one text."""
    outcome = from_files.examine(folder)
    return " | ".join([*outcome.notes, *(f"{file}: {why}" for file, why in outcome.run.unread.items())])


# -- what the files prove ------------------------------------------------------------------------------------------


def test_accumulation_on_4_48_0_has_its_condition_by_the_model_card(tmp_path):
    folder = written(tmp_path, card(), config=LLAMA, trainer_state=STATE)
    assert groups(folder)[DROPPED] is Group.MET
    [finding] = [finding for finding in from_files.examine(folder).findings if finding.bug.id == DROPPED]
    assert finding.releases == ("4.48.0",)
    assert "accumulation steps: 4 (README.md)" in finding.known
    assert "architecture: LlamaForCausalLM (config.json)" in finding.known


def test_one_micro_batch_a_step_in_one_process_excludes_it(tmp_path):
    folder = written(tmp_path, card(more=""), config=LLAMA, trainer_state=STATE)
    assert groups(folder)[DROPPED] is Group.OPEN  # another process may have had labels, too
    (folder / "rng_state.pth").touch()
    assert groups(folder)[DROPPED] is Group.EXCLUDED


def test_without_the_card_it_cannot_be_told_and_says_what_is_missing(tmp_path):
    folder = written(tmp_path, config=LLAMA, trainer_state=STATE)
    [finding] = [finding for finding in from_files.examine(folder).findings if finding.bug.id == DROPPED]
    assert finding.group is Group.OPEN
    assert "accumulation steps" in finding.unknown


def test_the_class_decides_who_divides(tmp_path):
    bert = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "transformers_version": "4.46.3"}
    outcome = groups(written(tmp_path / "bert", card("4.46.3"), config=bert, trainer_state=STATE))
    assert (outcome[MULTIPLIED], DROPPED in outcome) == (Group.MET, False)
    llama = {**LLAMA, "transformers_version": "4.46.3"}
    assert (
        groups(written(tmp_path / "llama", card("4.46.3"), config=llama, trainer_state=STATE))[MULTIPLIED] is Group.OPEN
    )
    own = {**bert, "architectures": ["OurBertWithAHead"]}
    assert groups(written(tmp_path / "own", card("4.46.3"), config=own, trainer_state=STATE))[MULTIPLIED] is Group.OPEN
    bert = {**bert, "transformers_version": "4.48.0"}
    assert groups(written(tmp_path / "later", card(), config=bert, trainer_state=STATE))[DROPPED] is Group.EXCLUDED


def test_deepspeed_divides_by_itself(tmp_path):
    folder = written(tmp_path, card(), config=LLAMA, trainer_state=STATE)
    (folder / "zero_to_fp32.py").touch()
    assert groups(folder)[DROPPED] is Group.EXCLUDED


def test_accumulation_under_5_2_divides_twice(tmp_path):
    config = {**LLAMA, "transformers_version": "5.3.0"}
    double = "v5-trainer-ga-double-division"
    assert groups(written(tmp_path / "a", card("5.3.0"), config=config, trainer_state=STATE))[double] is Group.MET
    once = written(tmp_path / "b", card("5.3.0", ""), config=config, trainer_state=STATE)
    assert groups(once)[double] is Group.EXCLUDED
    swallows = {**config, "model_type": "mamba", "architectures": ["MambaForCausalLM"]}
    assert groups(written(tmp_path / "c", card("5.3.0"), config=swallows))[double] is Group.OPEN


def config(name, model_type, release, **more):
    return {"architectures": [name], "model_type": model_type, "transformers_version": release, **more}


def llama(release):
    return config("LlamaForCausalLM", "llama", release)


MET, OPEN, EXCLUDED = Group.MET, Group.OPEN, Group.EXCLUDED
DEEPSPEED, PLAIN = "zero_to_fp32.py", "optimizer.pt"
RANKS = "- distributed_type: multi-GPU\n- num_devices: 8\n"
# By bug: the content of config.json, that of the model card, empty files, and the report on the bug's condition.
TOLD: dict[str, list[tuple[Any, ...]]] = {
    "deepspeed-double-gas-scaling": [
        (llama("4.48.2"), ACCUMULATED, (DEEPSPEED,), MET),
        (llama("4.46.3"), ACCUMULATED, (DEEPSPEED,), OPEN),
        (llama("4.48.2"), ACCUMULATED, (), OPEN),
        (llama("4.48.2"), ACCUMULATED, (PLAIN,), EXCLUDED),
        (llama("4.48.2"), "", (DEEPSPEED,), EXCLUDED),
    ],
    "ga-loss-kwargs-swallowed-vlm": [
        (config("MambaForCausalLM", "mamba", "4.50.0"), ACCUMULATED, (), MET),
        (config("MambaForCausalLM", "mamba", "4.50.0"), "", (), EXCLUDED),
        (config("MambaForCausalLM", "mamba", "4.50.0"), ACCUMULATED, (DEEPSPEED,), EXCLUDED),
        (config("MambaModel", "mamba", "4.50.0"), ACCUMULATED, (), EXCLUDED),
        (config("OurMamba", "mamba", "4.50.0"), ACCUMULATED, (), OPEN),
    ],
    "ga-loss-kwargs-swallowed-seq2seq-v5": [
        (config("T5ForConditionalGeneration", "t5", "5.8.0"), ACCUMULATED, (), MET),
        (config("T5ForConditionalGeneration", "t5", "5.8.0"), "", (), EXCLUDED),
    ],
    "vision-lora-checkpointing-no-grad": [
        (
            {**config("LlavaForConditionalGeneration", "llava", "4.50.0"), "vision_config": {"hidden_size": 8}},
            "",
            (),
            OPEN,
        ),
        (llama("4.50.0"), "", (), EXCLUDED),
    ],
    "num-items-off-by-one": [
        (llama("4.51.0"), "", (), OPEN),
        (llama("4.48.0"), "", (), EXCLUDED),
        (config("BertForSequenceClassification", "bert", "4.51.0"), "", (), EXCLUDED),
        (config("T5ForConditionalGeneration", "t5", "4.51.0", is_encoder_decoder=True), "", (), EXCLUDED),
    ],
    "trainer-ddp-no-sync-inverted": [
        (llama("4.46.2"), RANKS, (PLAIN,), MET),
        (llama("4.46.2"), RANKS, (DEEPSPEED,), EXCLUDED),
        (llama("4.46.2"), RANKS, (), OPEN),
        (llama("4.46.2"), "", ("rng_state.pth",), EXCLUDED),
    ],
    "trainer-dp-loss-mean-num-items": [
        (llama("4.48.3"), "", ("rng_state.pth",), OPEN),
        (llama("4.48.3"), RANKS, (), EXCLUDED),
        (config("BertForMaskedLM", "bert", "4.47.1"), "", (), EXCLUDED),
    ],
    "v5-num-items-undercount-seq2seq": [
        (llama("5.12.0"), "", (), EXCLUDED),
        (config("X", "t5", "5.12.0", is_encoder_decoder=True), "", (), OPEN),
    ],
    "fa-sliding-window-off-by-one": [
        (config("MistralForCausalLM", "mistral", "4.48.3", sliding_window=4096), "", (), OPEN),
        (config("MistralForCausalLM", "mistral", "4.48.3", sliding_window=None), "", (), EXCLUDED),
        (llama("4.48.3"), "", (), EXCLUDED),
        (
            config("Qwen2ForCausalLM", "qwen2", "4.48.3", sliding_window=4096, use_sliding_window=False),
            "",
            (),
            EXCLUDED,
        ),
        (
            config("MistralForCausalLM", "mistral", "4.48.3", sliding_window=4096, _attn_implementation="sdpa"),
            "",
            (),
            EXCLUDED,
        ),
    ],
    "fa2-varlen-kwargs-ignored": [
        (llama("4.48.3"), "", (), OPEN),
        (config("A", "llama", "4.48.3", attn_implementation="eager"), "", (), EXCLUDED),
    ],
    "glm4v-bool-mask": [
        (config("A", "glm4v", "4.53.0"), "", (), OPEN),
        (config("A", "glm4v", "4.53.0", attn_implementation="sdpa"), "", (), EXCLUDED),
    ],
    "gemma2-sliding-layer-parity": [
        (config("Gemma2ForCausalLM", "gemma2", "4.42.2"), "", (), OPEN),
    ],
    "gemma2-cohere2-window-crash": [
        (config("Cohere2ForCausalLM", "cohere2", "4.48.1"), "", (), OPEN),
    ],
    "trainer-last-accumulation-remainder": [
        (llama("4.48.2"), ACCUMULATED, (), OPEN),
        (llama("4.48.2"), "", (), EXCLUDED),
    ],
    "llama-gemma-rope-autocast": [
        (config("GemmaForCausalLM", "gemma", "4.38.1", max_position_embeddings=8192), "", (), OPEN),
    ],
    "gemma4-kv-share-no-cache": [
        (config("A", "gemma4_text", "5.5.0", num_kv_shared_layers=2), "", (), OPEN),
        (config("A", "gemma4_text", "5.5.0", num_kv_shared_layers=0), "", (), EXCLUDED),
    ],
    "shift-labels-dropped-by-heads": [
        (config("Qwen3VLForConditionalGeneration", "qwen3_vl", "5.4.0"), "", (), OPEN),
    ],
    "flex-block-mask-batch": [
        (config("A", "llama", "4.51.0", attn_implementation="flex_attention"), "", (), OPEN),
        (config("A", "llama", "4.51.0", attn_implementation="sdpa"), "", (), EXCLUDED),
    ],
    "opt-double-scaling": [
        (config("OPTForCausalLM", "opt", "4.52.3", hidden_size=32, num_attention_heads=4), "", (), MET),
        (config("OPTForCausalLM", "opt", "4.52.3"), "", (), OPEN),
    ],
    "gptbigcode-inverse-scale": [
        (config("A", "gpt_bigcode", "4.54.0", scale_attn_weights=True, n_embd=32, n_head=4), "", (), MET),
        (config("A", "gpt_bigcode", "4.54.0", scale_attn_weights=False), "", (), EXCLUDED),
    ],
    "llama4-moe-score-order": [
        (config("A", "llama4", "4.55.0", text_config={"num_local_experts": 16}), "", (), MET),
        (config("A", "llama4", "4.55.0", text_config={"num_local_experts": 1}), "", (), EXCLUDED),
    ],
    "qwen2vl-image-processor-size-discarded": [
        (config("A", "qwen2_vl", "4.57.6"), "", (), OPEN),
    ],
    "v5-rope-parameters-ignored-by-v4": [
        (config("A", "llama", "4.48.0", rope_parameters={"rope_theta": 5e5}, rope_theta=1e4), "", (), MET),
        (config("A", "llama", "4.48.0", rope_parameters={"rope_theta": 5e5}, rope_theta=5e5), "", (), OPEN),
        (config("A", "llama", "4.48.0", rope_parameters=[]), "", (), OPEN),
        (config("A", "llama", "4.48.0", rope_theta=1e4), "", (), EXCLUDED),
    ],
    "v5-gpt-neox-rotary-pct-lost": [
        (config("A", "gpt_neox", "5.3.0", rope_parameters={"partial_rotary_factor": 1.0}), "", (), MET),
        (config("A", "gpt_neox", "5.3.0", rope_parameters={"partial_rotary_factor": 0.25}), "", (), OPEN),
        (config("A", "gpt_neox", "5.3.0", rope_parameters=3), "", (), OPEN),
    ],
    "torch-dtype-key-dtype-in-v4": [
        (config("A", "llama", "4.48.0", dtype="bfloat16", torch_dtype="float32"), "", (), MET),
        (config("A", "llama", "4.48.0", dtype="bfloat16"), "", (), OPEN),
        (config("A", "llama", "4.48.0", torch_dtype="float32"), "", (), EXCLUDED),
    ],
    "vlm-checkpoint-key-layout-new-to-old": [
        (config("A", "llava", "4.48.0", vision_config={}), "", (), OPEN),
        (config("A", "llama", "4.48.0"), "", (), EXCLUDED),
    ],
    "lfm2vl-layernorm-though-off": [
        (config("A", "lfm2_vl", "4.57.1", projector_use_layernorm=False), "", (), MET),
        (config("A", "lfm2_vl", "4.57.1", projector_use_layernorm=True), "", (), EXCLUDED),
        (config("A", "lfm2_vl", "4.57.1"), "", (), EXCLUDED),
    ],
    "vision-hidden-states-post-ln": [
        (config("A", "blip", "4.57.1", output_hidden_states=True), "", (), MET),
        (config("A", "blip", "4.57.1"), "", (), OPEN),
    ],
}


@pytest.mark.parametrize(
    ("bug", "configuration", "more", "empty", "group"),
    [pytest.param(bug, *row, id=f"{bug}-{number}") for bug, rows in TOLD.items() for number, row in enumerate(rows)],
)
def test_what_the_files_tell_of_a_condition(tmp_path, bug, configuration, more, empty, group):
    text = card(configuration["transformers_version"], more)
    folder = written(tmp_path, text, config=configuration, trainer_state=STATE)
    for name in empty:
        (folder / name).touch()
    assert groups(folder)[bug] is group


def test_the_size_in_the_configuration_of_a_processor_is_read(tmp_path):
    bug = "qwen2vl-image-processor-size-discarded"
    folder = written(tmp_path, config=config("Qwen2VLForConditionalGeneration", "qwen2_vl", "4.57.6"))
    for size, group in (
        ({"shortest_edge": 65536, "longest_edge": 16777216}, MET),
        ({"shortest_edge": 3136, "longest_edge": 1003520}, OPEN),
        ({"shortest_edge": 3136}, OPEN),
        (7, OPEN),
    ):
        written(tmp_path, preprocessor_config={"size": size})
        assert groups(folder)[bug] is group
    written(
        tmp_path,
        preprocessor_config={"size": {"shortest_edge": 3137, "longest_edge": 6272}, "min_pixels": 1, "max_pixels": 2},
    )
    assert groups(folder)[bug] is OPEN
    written(folder, config=config("Glm4vForConditionalGeneration", "glm4v", "4.54.0"))
    assert groups(folder)[bug] is MET  # GLM-4V knows no limits, so nothing takes the place of the size


def test_special_tokens_beside_an_empty_key_are_lost_when_they_are_read(tmp_path):
    bug = "v5-additional-special-tokens-lost"
    folder = written(tmp_path, config=llama("5.3.0"))
    for settings, group in (
        ({"additional_special_tokens": ["<a>"], "extra_special_tokens": {}}, MET),
        ({"additional_special_tokens": ["<a>"]}, OPEN),
        ({}, OPEN),
    ):
        written(tmp_path, tokenizer_config=settings)
        assert groups(folder)[bug] is group


def test_what_was_seen_to_strike_is_said(tmp_path):
    record = {"packages": {"transformers": "4.48.0"}, "patches": [], "observed": [{"fix": DROPPED, "struck": 7}, 3, {}]}
    folder = written(tmp_path, config=LLAMA)
    assert groups(folder)[DROPPED] is OPEN
    for host in "ab":
        (folder / f"{host}-17-0123abcd.json").write_text(json.dumps(record))
    [finding] = [finding for finding in from_files.examine(folder).findings if finding.bug.id == DROPPED]
    assert finding.group is MET
    assert "14 calls (a-17-0123abcd.json)" in finding.why


def test_every_trigger_with_a_question_for_files_is_asked_above():
    asked = {id for id, entry in ENTRIES.items() if (loaded := trigger.load(id, entry.module)) and loaded.files}
    same = {DROPPED, MULTIPLIED, "v5-trainer-ga-double-division"} | {"v5-additional-special-tokens-lost"} | set(TOLD)
    flash = {"fa2-posids-varlen-unpadded-batch", "gpt2-fa2-padding-loses-causality"}  # as fa2-varlen-kwargs-ignored
    window = {"fa2-sliding-window-mask-slicing", "gemma2-fa2-no-window"}  # as fa-sliding-window-off-by-one
    assert asked - flash - window == same


def test_a_trigger_that_stumbles_is_one_that_cannot_tell(tmp_path, monkeypatch):
    broken = Trigger(DROPPED, when="never", wrong="nothing")
    broken.in_files(lambda run: run.nothing.of_the_kind)
    monkeypatch.setattr(from_files, "_trigger", lambda bug: broken if bug.id == DROPPED else None)
    assert groups(written(tmp_path, card(), config=LLAMA))[DROPPED] is Group.OPEN


# -- which bugs are the model's --------------------------------------------------------------------------------------


def test_bugs_of_other_models_are_not_named(tmp_path):
    outcome = groups(written(tmp_path, config={**LLAMA, "transformers_version": "4.52.3"}))
    assert SCALED not in outcome
    opt = {"model_type": "opt", "architectures": ["OPTForCausalLM"], "transformers_version": "4.52.3"}
    assert SCALED in groups(written(tmp_path / "opt", config=opt))
    assert SCALED not in groups(written(tmp_path / "later", config={**opt, "transformers_version": "4.53.0"}))


def test_the_parts_of_a_model_count(tmp_path):
    config = {"model_type": "llava", "transformers_version": "4.52.3", "text_config": {"model_type": "opt"}}
    assert SCALED in groups(written(tmp_path, config=config))


def test_the_processor_of_another_model_counts(tmp_path):
    bug = "qwen2vl-image-processor-size-discarded"
    folder = written(tmp_path, config=config("A", "qwen3_vl", "4.57.6"))
    assert bug not in groups(folder)
    processor = {
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "size": {"shortest_edge": 3137, "longest_edge": 6272},
    }
    written(tmp_path, preprocessor_config=processor)
    assert groups(folder)[bug] is Group.MET


def test_a_fix_of_a_model_that_changes_shared_functions_too_stays_one_of_that_model(tmp_path):
    gemma = "gemma3-mask-image-distance-heuristic"
    assert gemma not in groups(written(tmp_path / "llama", config={**LLAMA, "transformers_version": "4.53.1"}))
    config = {"model_type": "gemma3", "transformers_version": "4.53.1", "text_config": {"model_type": "gemma3_text"}}
    assert gemma in groups(written(tmp_path / "gemma", config=config))


def test_a_shared_function_with_copies_in_models_is_one_for_all_where_it_is_shared(tmp_path):
    assert WINDOW in groups(written(tmp_path / "shared", config={**LLAMA, "transformers_version": "4.44.0"}))
    assert WINDOW not in groups(written(tmp_path / "copies", config={**LLAMA, "transformers_version": "4.41.0"}))


def test_the_folder_of_a_part_is_that_of_its_model():
    release = Version("4.57.1")
    wanted = {
        "siglip_vision_model": "siglip",
        "qwen2_5_vl_text": "qwen2_5_vl",
        "kosmos-2": "kosmos2",
        "nobodys": "nobodys",
    }
    for model_type, folder in wanted.items():
        assert from_files.folders_of([model_type], release) == {folder}


def test_every_silent_bug_belongs_to_some_model_or_to_all():
    silent = [bug for bug in bugs.known().values() if bug.kind == "silent"]
    nowhere = []
    for bug in silent:
        modules = [key.partition(":")[0] for key in bug.where]
        folders = frozenset(folder_of(module) for module in modules if module.count("."))
        if not any(from_files.has(bug, release, folders) for release in bugs.examined()):
            nowhere.append(bug.id)
    assert (nowhere, len(silent) > 90) == ([], True)


# -- sources of the release ------------------------------------------------------------------------------------------


def test_two_releases_are_both_shown_and_nothing_is_certain_then(tmp_path):
    folder = written(tmp_path, card("4.48.0"), config={**LLAMA, "transformers_version": "4.49.0"}, trainer_state=STATE)
    outcome = from_files.examine(folder)
    assert {(release.release, release.file) for release in outcome.run.releases} == {
        ("4.48.0", "README.md"),
        ("4.49.0", "config.json"),
    }
    assert "4.48.0 (README.md: the training ran with it)" in notes_of(folder)
    assert "4.49.0 (config.json: it was written with it)" in notes_of(folder)
    [finding] = [finding for finding in outcome.findings if finding.bug.id == DROPPED]
    assert (finding.group, finding.releases) == (Group.OPEN, ("4.48.0",))
    assert "4.48.0" in finding.why


def test_pins_name_the_release_and_what_is_not_installed(tmp_path):
    folder = written(tmp_path, config={key: value for key, value in LLAMA.items() if key != "transformers_version"})
    (folder / "requirements.txt").write_text("transformers==4.48.0\n")
    assert "deepspeed-double-gas-scaling" in groups(folder)
    assert groups(folder)["deepspeed-double-gas-scaling"] is not Group.EXCLUDED
    (folder / "requirements.txt").unlink()
    package = '[[package]]\nname = "transformers"\nversion = "4.48.0"\n'
    (folder / "uv.lock").write_text(package)
    assert groups(folder)["deepspeed-double-gas-scaling"] is Group.EXCLUDED
    (folder / "uv.lock").write_text(package + '[[package]]\nname = "deepspeed"\nversion = "0.16.0"\n')
    assert groups(folder)["deepspeed-double-gas-scaling"] is not Group.EXCLUDED


def test_a_range_is_no_release(tmp_path):
    (tmp_path / "requirements.txt").write_text("transformers>=4.45\n")
    assert groups(tmp_path) == {}
    assert "requirements.txt: it allows transformers>=4.45" in notes_of(tmp_path)


@pytest.mark.parametrize("release", ["4.20.0", "6.0.0", "4.46.0"])
def test_a_release_that_was_never_examined_is_one_line(tmp_path, release):
    folder = written(tmp_path, config={**LLAMA, "transformers_version": release})
    assert groups(folder) == {}
    assert notes_of(folder).count("was never examined") == 1


def test_a_version_before_a_release_counts_as_that_and_says_so(tmp_path):
    folder = written(tmp_path, config={**LLAMA, "transformers_version": "4.48.0.dev0"})
    assert DROPPED in groups(folder)
    assert "4.48.0.dev0 (config.json) counts as 4.48.0 here" in notes_of(folder)


def test_what_hotfix_had_repaired_is_excluded(tmp_path):
    patches = [f"{DROPPED} transformers.trainer:Trainer.training_step abc def"]
    content = {
        "digest": patch_set_digest(patches),
        "hotfix": "0.1.0",
        "packages": {"transformers": "4.48.0", "torch": "2.5.1"},
        "patches": patches,
    }
    folder = written(tmp_path, card(), config=LLAMA, trainer_state=STATE)
    assert groups(folder)[DROPPED] is Group.MET
    (folder / "hotfix.lock").write_text(json.dumps(content))
    assert groups(folder)[DROPPED] is Group.EXCLUDED
    (folder / "hotfix.lock").write_text(json.dumps({**content, "digest": "0" * 12}))
    assert groups(folder)[DROPPED] is Group.MET  # edited by hand: it excludes nothing
    assert "edited since it was written" in run_folder.read(folder).unread["hotfix.lock"]
    (folder / "hotfix.lock").unlink()
    (folder / "host-17-0123abcd.json").write_text(json.dumps({**content, "format": 1}))
    assert groups(folder)[DROPPED] is Group.EXCLUDED


def test_an_adapter_says_of_its_base_what_it_can(tmp_path):
    mapping = {"base_model_class": "LlamaForCausalLM", "parent_library": "transformers.models.llama.modeling_llama"}
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "meta/llama", "auto_mapping": mapping}
    folder = written(tmp_path / "a", card(), adapter_config=adapter)
    assert groups(folder)[DROPPED] is Group.MET
    folder = written(tmp_path / "b", card(), adapter_config={**adapter, "auto_mapping": None})
    assert groups(folder)[DROPPED] is Group.OPEN
    assert "its base meta/llama " in notes_of(folder)


def test_cards_of_trl_and_arguments_of_swift_are_read(tmp_path):
    text = "### Framework versions\n\n- TRL: 0.15.2\n- Transformers: 4.49.0\n- Pytorch: 2.5.1\n"
    run = run_folder.read(written(tmp_path, text, args={"gradient_accumulation_steps": 8, "attn_impl": "flash_attn"}))
    assert run.files.releases == ("4.49.0",)
    assert run.files.packages["trl"] == "0.15.2"
    assert (run.files.accumulation_steps, run.files.attention) == (8, "flash_attn")


def test_files_that_do_not_agree_are_both_shown(tmp_path):
    folder = written(tmp_path, card(), config=LLAMA, args={"gradient_accumulation_steps": 8})
    assert run_folder.read(folder).files.accumulation_steps is None
    assert "do not agree on accumulation steps: 8 (args.json), 4 (README.md)" in notes_of(folder)


# -- invalid folders ---------------------------------------------------------------------------------------------------


def test_a_folder_that_is_none_is_one_error(tmp_path):
    (tmp_path / "file").touch()
    for path, why in ((tmp_path / "none", "no such folder"), (tmp_path / "file", "a file; name the folder")):
        with pytest.raises(HotfixError, match=why):
            from_files.examine(path)


def test_an_empty_folder_is_one_line(tmp_path):
    assert groups(tmp_path) == {}
    assert "no file names a release of transformers" in notes_of(tmp_path)
    assert "\n" not in notes_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("config.json", b"{", "not JSON"),
        ("config.json", b"[" * 100_000, "nested too deeply|not JSON"),
        ("config.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        ("config.json", b"[1]", "a list where a dictionary was expected"),
        ("config.json", b'{"transformers_version": 4.48}', "config.json: its transformers_version"),
        ("config.json", b'{"transformers_version": "four"}', "'four' .config.json. "),
        ("config.json", b"\xff\xfe\x00", "not a text file in UTF-8"),
        ("README.md", b"\x00\x01", "not a text file in UTF-8"),
        ("README.md", bytes([0x80, 0x81]), "not a text file in UTF-8"),
        ("trainer_state.json", b"null", "a NoneType where a dictionary was expected"),
        ("hotfix.lock", b"{}", "not a lock file of hotfix"),
        ("adapter_config.json", b'{"auto_mapping": 3}', "adapter_config.json: "),
        ("requirements.txt", b"transformers @@", "requirements.txt"),
        ("uv.lock", b"[", "uv.lock"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path, name, content, why):
    written(tmp_path, generation_config={"transformers_version": "4.48.0"})
    (tmp_path / name).write_bytes(content)
    assert DROPPED in groups(tmp_path)
    assert re.search(why, notes_of(tmp_path)), notes_of(tmp_path)


def test_odd_values_in_a_configuration_do_no_harm(tmp_path):
    odd = {
        **LLAMA,
        "model_type": ["llama"],
        "architectures": "Llama",
        "auto_map": 3,
        "sliding_window": -4,
        "max_position_embeddings": True,
        "text_config": {"model_type": None, "sliding_window": 1e400},
        "parts": [{"model_type": "opt"}, [[{"model_type": "x" * 1000}]]],
    }
    folder = written(
        tmp_path, config=odd, trainer_state={"train_batch_size": "2" * 100}, adapter_config={"auto_mapping": []}
    )
    assert run_folder.read(folder).files.model_types == {"opt"}
    assert DROPPED in groups(folder)


def test_huge_files_are_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "LIMIT", 2**20)
    folder = written(tmp_path, config=LLAMA)
    with (folder / "README.md").open("wb") as file:
        file.truncate(2**40)
    assert "README.md: larger than 1 MB" in notes_of(folder)


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    secret = written(tmp_path / "elsewhere", card(), config=LLAMA)
    folder = written(tmp_path / "run")
    for name in ("config.json", "README.md"):
        (folder / name).symlink_to(secret / name)
    (folder / "requirements.txt").symlink_to(tmp_path / "nowhere")
    (folder / "checkpoint-7").symlink_to(secret)
    (folder / "hotfix.lock").symlink_to(folder / "hotfix.lock")
    assert groups(folder) == {}
    assert notes_of(folder).count("a link that leads out of the folder") >= 2


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    assert "config.json: not a regular file" in notes_of(tmp_path)


def test_a_snapshot_of_the_hub_consists_of_links(tmp_path):
    blobs = written(tmp_path / "models--a--b" / "blobs", config=LLAMA)
    snapshot = written(tmp_path / "models--a--b" / "snapshots" / "0123")
    (snapshot / "config.json").symlink_to(blobs / "config.json")
    assert DROPPED in groups(snapshot)


def test_nothing_is_unpickled(tmp_path):
    folder = written(tmp_path, config=LLAMA)
    (folder / "training_args.bin").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    assert "training_args.bin: a pickle, which could run anything; never opened" in notes_of(folder)
    assert run_folder.read(folder).files.by_trainer is True
    assert not Path("ran").exists()


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_exit_status_is_nought_unless_it_is_asked_for(tmp_path, capsys):
    folder = written(tmp_path / "a", card(), config=LLAMA, trainer_state=STATE)
    assert from_files.audit(folder, Namespace(json=False, fail=False)) == 0
    shown = capsys.readouterr().out
    assert shown.index("the condition was met:") < shown.index(DROPPED)
    assert from_files.audit(folder, Namespace(json=True, fail=True)) == 1
    check("audit-path", json.loads(capsys.readouterr().out))
    assert from_files.audit(written(tmp_path / "b"), Namespace(json=True, fail=True)) == 0


def test_the_command_looks_at_a_path_and_takes_its_options_behind_it_too(tmp_path):
    folder = written(tmp_path, card(), config=LLAMA, trainer_state=STATE)
    done = hotfix("audit", str(folder), "--fail")
    assert (done.status, DROPPED in done.stdout) == (1, True)
    check("audit-path", hotfix("audit", "--json", str(folder)).json)
    done = hotfix("audit", str(tmp_path / "none"))
    assert (done.status, done.stderr) == (2, f"hotfix: {tmp_path}/none: there is no such folder\n")


def test_what_files_say_is_printed_without_control_characters(tmp_path, capsys):
    folder = written(tmp_path, config={**LLAMA, "model_type": "llama\x1b[31m\x07"})
    from_files.audit(folder, Namespace(json=False, fail=False))
    assert "\x1b" not in capsys.readouterr().out


def test_every_file_of_one_run_counts_once(tmp_path):
    run = run_folder.read(written(tmp_path, card(), config=LLAMA, trainer_state=STATE))
    assert replace(run.files, folder=Path()).releases == ("4.48.0",)


# -- folders that the real Trainer has written -----------------------------------------------------------------------

TRAIN = """
import sys
from pathlib import Path
if sys.argv[2] == "hotfix":
    import hotfix.auto
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

callbacks = []
if sys.argv[2] == "hotfix":
    from hotfix.callback import HotfixCallback
    callbacks = [HotfixCallback()]
data = [{"input_ids": torch.arange(1, 9), "labels": torch.arange(1, 9)}] * 16
sizes = dict(vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
for steps in map(int, sys.argv[3:]):
    out = Path(sys.argv[1], str(steps))
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=2, max_position_embeddings=32))
    arguments = TrainingArguments(
        str(out), per_device_train_batch_size=2, gradient_accumulation_steps=steps, max_steps=2, save_steps=2,
        report_to=[], use_cpu=True,
    )
    trainer = Trainer(model, arguments, train_dataset=data, callbacks=callbacks)
    trainer.train()
    trainer.save_model()
    trainer.save_state()
    trainer.create_model_card(model_name="tiny")
"""


def trained(folder, *words):
    from tools.testbed.run import run_script

    packages = ["accelerate==1.1.1"]
    run_script("-c", [TRAIN, str(folder), *words], transformers="4.48.0", flash_attn=None, extras=packages).require()


@pytest.mark.drawn(4, "long")
@pytest.mark.testbed
def test_folders_of_the_real_trainer(tmp_path):
    pytest.importorskip("torch")
    trained(tmp_path, "", "4", "1")
    assert groups(tmp_path / "4")[DROPPED] is Group.MET
    assert groups(tmp_path / "1")[DROPPED] is Group.EXCLUDED
    run = run_folder.read(tmp_path / "4")
    assert {release.release for release in run.releases} == {"4.48.0"}
    assert {"README.md", "config.json", "checkpoint-2/config.json"} <= {release.file for release in run.releases}
    assert (run.files.accumulation_steps, run.files.batch_size, run.files.processes) == (4, 2, 1)
    assert (run.files.dtype, run.files.sliding_window, run.files.by_trainer) == ("float32", 0, True)
    assert run.files.architectures == ("LlamaForCausalLM",)
    # A checkpoint alone has no model card, and does not say how many micro-batches there were.
    alone = shutil.copytree(tmp_path / "4" / "checkpoint-2", tmp_path / "alone")
    assert groups(alone)[DROPPED] is Group.OPEN
    assert run_folder.read(alone).files.by_trainer is True


@pytest.mark.testbed
def test_a_release_of_4_x_saves_what_it_has_not_read(tmp_path):
    pytest.importorskip("torch")
    from tools.testbed.run import run_script

    keys = {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}, "dtype": "bfloat16"}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    written(tmp_path / "read", config=config("LlamaForCausalLM", "llama", "5.1.0", vocab_size=16, **sizes, **keys))
    code = (
        "import sys, transformers as t; model = t.LlamaForCausalLM(t.AutoConfig.from_pretrained(sys.argv[1])); "
        "model.save_pretrained(sys.argv[2])"
    )
    folders = [str(tmp_path / "read"), str(tmp_path / "saved")]
    run_script("-c", [code, *folders], transformers="4.48.0", flash_attn=None).require()
    outcome = groups(tmp_path / "saved")
    assert outcome["v5-rope-parameters-ignored-by-v4"] is Group.MET
    assert outcome["torch-dtype-key-dtype-in-v4"] is Group.MET
    assert outcome["vlm-checkpoint-key-layout-new-to-old"] is Group.EXCLUDED


@pytest.mark.slow
@pytest.mark.testbed
def test_a_run_under_hotfix_leaves_in_its_checkpoints_what_was_repaired(tmp_path):
    pytest.importorskip("torch")
    trained(tmp_path, "hotfix", "4")
    assert groups(tmp_path / "4")[DROPPED] is Group.EXCLUDED
    assert run_folder.read(tmp_path / "4").repaired[DROPPED] == "checkpoint-2/hotfix.lock"


OBSERVED = """
import hotfix.auto
import hotfix, json, sys
from collections import Counter
from pathlib import Path
import torch, transformers
from transformers import Trainer, TrainingArguments

sizes = dict(vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
kinds = {
    "LlamaForCausalLM": dict(sizes, num_key_value_heads=2),
    "MistralForCausalLM": dict(sizes, num_key_value_heads=2),
    "MambaForCausalLM": dict(vocab_size=16, hidden_size=8, num_hidden_layers=1, state_size=4),
    "BertForSequenceClassification": sizes,
    "OPTForCausalLM": dict(vocab_size=16, hidden_size=8, ffn_dim=8, num_hidden_layers=1, num_attention_heads=2,
                           word_embed_proj_dim=8),
}

def struck():
    counts = Counter()
    for one in hotfix.report().observed:
        counts[one.fix] += one.struck
    return counts

told = {}
for name, given in kinds.items():
    cls = getattr(transformers, name)
    one = {"input_ids": torch.arange(1, 9), "labels": torch.tensor(1) if "Sequence" in name else torch.arange(1, 9)}
    for steps in (1, 4):
        before, out = struck(), Path(sys.argv[1], f"{name}-{steps}")
        arguments = TrainingArguments(
            str(out), per_device_train_batch_size=1, gradient_accumulation_steps=steps, max_steps=2, save_steps=2,
            report_to=[], use_cpu=True,
        )
        trainer = Trainer(cls(cls.config_class(**given)), arguments, train_dataset=[one] * 8)
        trainer.train()
        trainer.create_model_card(model_name="tiny")
        told[out.name] = {fix: number - before[fix] for fix, number in struck().items()}
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.testbed
@pytest.mark.parametrize(
    ("release", "accelerate"),
    [
        ("4.46.3", "1.1.1"),
        ("4.47.0", "1.1.1"),
        ("4.47.1", "1.1.1"),
        ("4.48.0", "1.1.1"),
        ("4.52.3", "1.15.0"),
        ("5.3.0", "1.15.0"),
    ],
)
def test_files_never_say_more_than_what_was_observed(tmp_path, release, accelerate):
    pytest.importorskip("torch")
    from tools.testbed.run import run_script

    env = {"HOTFIX_MODE": "observe", "HOTFIX_LOG": "quiet"}
    packages = [f"accelerate=={accelerate}"]
    script = "-c", [OBSERVED, str(tmp_path)]
    done = run_script(script[0], script[1], transformers=release, flash_attn=None, extras=packages, env=env).require()
    observed = json.loads(done.stdout.splitlines()[-1])
    assert len(observed) == 10
    sure = 0
    for name, struck in observed.items():
        for fix, group in groups(tmp_path / name).items():
            if fix in struck and group is not Group.OPEN:
                assert (name, fix, struck[fix] > 0) == (name, fix, group is Group.MET)
                sure += 1
    assert sure >= 10
