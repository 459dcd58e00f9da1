"""Compares the hotfix.lock in a checkpoint with the process that loads it: which silent bugs differ."""

from __future__ import annotations

import json

import pytest

from hotfix import session
from hotfix.reports import lock
from hotfix.reports.digest import patch_set_digest
from hotfix.reports.report import Report
from tests.commands.cli_runs import hotfix, stack
from tests.facts import lacking

SCALED = "opt-double-scaling"  # 4.52.1 to 4.52.3, OPT
DROPPED = "trainer-ga-num-items-dropped"  # 4.47.0 and 4.48.0, every model
FORWARD = "transformers.models.opt.modeling_opt:OPTAttention.forward"
ENTRIES = session.current().catalogue.entries


def report(release, *repaired, **packages):
    patches = tuple(f"{fix} {next(iter(ENTRIES[fix].targets))} source cure" for fix in repaired)
    return Report((), {"transformers": release, **packages}, "0" * 12, patches, ENTRIES)


def differences(there, here, *folders):
    """The sentences about these tests' fixes, from one environment to another."""
    locked = {"packages": dict(there.packages), "patches": list(there.patches)}
    findings = lock.against(locked, here, folders)
    return [line for line in findings if SCALED in line or DROPPED in line or "no fix of" in line]


def test_a_model_trained_with_a_bug_is_reported_on_a_release_without_it():
    wanted = [f"it may have learned with {SCALED}, which is not here (repaired)"]
    assert differences(report("4.52.3"), report("4.52.3", SCALED), "opt") == wanted
    wanted = [f"it may have learned with {SCALED}, which is not here (transformers 4.53.0 does not have it)"]
    assert differences(report("4.52.3"), report("4.53.0"), "opt") == wanted


def test_a_model_trained_without_a_bug_is_reported_on_a_release_with_it():
    wanted = [f"it has learned without {SCALED} (repaired), which is here (transformers 4.52.3, not repaired)"]
    assert differences(report("4.52.3", SCALED), report("4.52.3"), "opt") == wanted
    [line] = differences(report("4.51.3"), report("4.52.3"), "opt")
    assert lacking(line, "4.51.3 does not", "which is here") == []


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (report("4.52.3"), report("4.52.2")),
        (report("4.52.3", SCALED), report("4.53.0")),
        (report("4.52.3", SCALED), report("4.52.1", SCALED)),
        (report("4.51.3"), report("4.53.0")),
    ],
)
def test_equal_results_are_no_difference(there, here):
    assert differences(there, here, "opt") == []


def test_functions_of_other_models_do_not_count_and_those_of_all_do():
    assert differences(report("4.52.3"), report("4.53.0"), "llama") == []
    assert len(differences(report("4.48.0"), report("4.48.1"), "llama")) == 1


def test_a_bug_whose_requirement_was_not_installed_was_absent():
    there, here = report("4.48.0"), report("4.49.0")
    locked = {"packages": dict(there.packages), "patches": []}
    assert not any("deepspeed" in line for line in lock.against(locked, here, ["llama"]))
    locked["packages"] = {**there.packages, "deepspeed": "0.16.0"}
    assert any("deepspeed-double-gas-scaling" in line for line in lock.against(locked, here, ["llama"]))


def test_a_repair_of_another_hotfix_is_named():
    locked = {"packages": {"transformers": "4.52.3"}, "patches": ["our:fix module:name source cure"]}
    assert lacking(lock.against(locked, report("4.52.3"), ["opt"])[-1], "our:fix") == []


def test_a_lock_without_a_release_reports_only_known_facts():
    there = Report((), {}, "0" * 12, (), ENTRIES)
    assert differences(there, report("4.52.3"), "opt") == []
    locked = {"packages": {}, "patches": [f"{SCALED} {FORWARD} source cure"]}
    assert any(SCALED in line for line in lock.against(locked, report("4.52.3"), ["opt"]))


@pytest.mark.testbed
def test_the_command_compares_a_checkpoint_with_this_environment(tmp_path):
    pytest.importorskip("torch")
    config = {"model_type": "opt", "transformers_version": "4.52.3"}
    content = {"digest": patch_set_digest([]), "hotfix": "0.1.0", "packages": {"transformers": "4.52.3"}, "patches": []}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "hotfix.lock").write_text(json.dumps(content))
    done = hotfix("lock", "--against", str(tmp_path), path=stack("4.52.3"))
    assert done.status == 1
    assert lacking(done.stdout, str(tmp_path), f"with {SCALED}", "(repaired)") == []
    done = hotfix("lock", "--against", str(tmp_path), path=stack("4.52.3"), env={"HOTFIX_SKIP": "*"})
    assert (done.status, done.stdout.count("\n")) == (0, 1)
    assert "opt" in done.stdout
    (tmp_path / "config.json").unlink()
    assert "model type" in hotfix("lock", "--against", str(tmp_path)).stderr
    (tmp_path / "hotfix.lock").write_text("{}")
    assert lacking(hotfix("lock", "--against", str(tmp_path)).stderr, str(tmp_path), "lock file") == []


CALLBACK = """
import hotfix.auto
import json, sys
from pathlib import Path
import torch
from transformers import OPTConfig, OPTForCausalLM, Trainer, TrainingArguments
from hotfix.callback import HotfixCallback
from hotfix.reports.digest import patch_set_digest

data = [{"input_ids": torch.arange(1, 9), "labels": torch.arange(1, 9)}] * 4
sizes = dict(vocab_size=16, hidden_size=8, ffn_dim=8, num_hidden_layers=1, num_attention_heads=2, word_embed_proj_dim=8)

def train(model, out, resume=None, **how):
    arguments = TrainingArguments(str(out), max_steps=2, save_steps=1, report_to=[], use_cpu=True)
    Trainer(model, arguments, train_dataset=data, callbacks=[HotfixCallback(**how)]).train(resume)

out = Path(sys.argv[1])
train(OPTForCausalLM(OPTConfig(**sizes, max_position_embeddings=16)), out)
first, last = out / "checkpoint-1", out / "checkpoint-2"
print("NOT ASKED FOR", file=sys.stderr)
train(OPTForCausalLM.from_pretrained(last), out / "a")
print("THE SAME", file=sys.stderr)
train(OPTForCausalLM.from_pretrained(last), out / "b", check_checkpoint=True)
print("ANOTHER", file=sys.stderr)
for folder in (first, last):
    file = folder / "hotfix.lock"
    unrepaired = {"patches": [], "digest": patch_set_digest([])}
    file.write_text(json.dumps({**json.loads(file.read_text()), **unrepaired}))
for number in "cd":
    train(OPTForCausalLM.from_pretrained(last), out / number, check_checkpoint=True)
print("GOES ON", file=sys.stderr)
train(OPTForCausalLM(OPTConfig(**sizes, max_position_embeddings=16)), out, resume=str(first), check_checkpoint=True)
print("NONE", file=sys.stderr)
(last / "hotfix.lock").unlink()
train(OPTForCausalLM.from_pretrained(last), out / "e", check_checkpoint=True)
print("TORN", file=sys.stderr)
(last / "hotfix.lock").write_text("{")
train(OPTForCausalLM.from_pretrained(last), out / "f", check_checkpoint=True)
"""


@pytest.mark.drawn(4, "long")
@pytest.mark.testbed
def test_the_callback_reports_once_the_differences_to_the_training(tmp_path):
    pytest.importorskip("torch")
    from tools.testbed.run import run_script

    packages = ["accelerate==1.4.0"]
    script = "-c", [CALLBACK, str(tmp_path)]
    done = run_script(script[0], script[1], transformers="4.52.3", flash_attn=None, extras=packages).require()
    said = ""
    parts: dict[str, list[str]] = {}
    for line in done.stderr.splitlines():
        if line.isupper():
            said = line
        elif line.startswith("hotfix: "):
            parts.setdefault(said, []).append(line)
    under = {
        name: [line for line in lines if "patch set" in line and "training with" not in line]
        for name, lines in parts.items()
    }
    assert under["NOT ASKED FOR"] == []
    assert [lacking(line, f"{tmp_path}/checkpoint-2: ", "same patch set") for line in under["THE SAME"]] == [[]]
    [line] = under["ANOTHER"]
    assert lacking(line, f"{tmp_path}/checkpoint-2 ", "another patch set") == []
    assert lacking(line, f"with {SCALED}", "(repaired)") == []
    [line] = under["GOES ON"]
    assert lacking(line, f"{tmp_path}/checkpoint-1 ", "another patch set") == []
    assert any("no hotfix.lock" in line for line in parts["NONE"])
    assert any("lock file" in line for line in parts["TORN"])
