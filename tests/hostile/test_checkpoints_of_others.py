"""``hotfix check-model`` is safe on checkpoints from anybody, malicious folders included.

- A weights header in a form that no release reads is a finding with its reason, not an error of the command.
- The command ends soon and uses little memory, whatever the size of a file; it names each file that is too large to
  read.
- It follows no link out of the folder and reads only regular files. If the configuration is not read for that reason,
  there is no verdict: exit status 2.
"""

from __future__ import annotations

import json
import os
import struct

import pytest

from hotfix.commands.checkpoints import command as check_model
from hotfix.commands.main import main
from hotfix.errors import HotfixError
from tests.commands.test_check_model import LLAMA, QUIET, written

from .limited import hotfix, in_this_process, require

RELEASE = "4.57.6"
GOOD = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}

HEADERS = {
    "no offsets": {"a": {"dtype": "BF16", "shape": [2, 2]}},
    "an int for offsets": {"a": {**GOOD, "data_offsets": 8}},
    "one offset": {"a": {**GOOD, "data_offsets": [8]}},
    "three offsets": {"a": {**GOOD, "data_offsets": [0, 4, 8]}},
    "offsets that are texts": {"a": {**GOOD, "data_offsets": ["0", "8"]}},
    "offsets that are truth values": {"a": {**GOOD, "data_offsets": [False, True]}},
    "offsets the wrong way round": {"a": {**GOOD, "data_offsets": [8, 0]}},
    "negative offsets": {"a": {**GOOD, "data_offsets": [-8, 0]}},
    "an int for an entry": {"a": 3},
    "a list for an entry": {"a": [0, 8]},
    "nothing for an entry": {"a": None},
    "an int for a shape": {"a": {**GOOD, "shape": 4}},
    "a shape of texts": {"a": {**GOOD, "shape": ["2", "2"]}},
    "an int for the metadata": {"__metadata__": 3, "a": GOOD},
    "numbers in the metadata": {"__metadata__": {"format": 3}, "a": GOOD},
    "an end behind that of the file": {"a": {**GOOD, "data_offsets": [0, 10**30]}},
}
BYTES = {
    "a list": b"[]",
    "a number": b"3333",
    "not JSON": b"{{{{",
    "not UTF-8": b'{"\xff": 1}',
    "a number of many digits": b'{"a": ' + b"9" * 10_000 + b"}",
    "deep lists": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


def with_header(folder, header, data=b"\0" * 8):
    """A checkpoint of Llama whose weights have this header."""
    written(folder, config=LLAMA)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    return folder


def effects(folder):
    """The results for the weights."""
    answer = check_model.examine(str(folder), RELEASE)
    return {(finding.effect.value, finding.key) for finding in answer.findings if finding.file == "model.safetensors"}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_no_release_reads_is_a_finding(name, tmp_path):
    with_header(tmp_path, json.dumps(HEADERS[name]).encode())
    assert effects(tmp_path) == {("refused", "")}
    assert check_model.examine(str(tmp_path), RELEASE).right == []


@pytest.mark.parametrize("name", BYTES)
def test_so_are_bytes_that_are_no_header(name, tmp_path):
    with_header(tmp_path, BYTES[name])
    effect = "note" if name == "deep lists" else "refused"
    assert effects(tmp_path) == {(effect, "")}


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_a_length_that_cannot_be_is_a_finding(length, tmp_path):
    written(tmp_path, config=LLAMA)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", length) + b"{}")
    assert effects(tmp_path) == {("refused", "")}


def test_a_good_header_is_none(tmp_path):
    with_header(tmp_path, json.dumps({"__metadata__": {"format": "pt"}, "a": GOOD}).encode())
    assert effects(tmp_path) == set()


def of_size(megabytes, entry):
    """A header of this size."""
    pieces = [f'"{number:x}":{entry}' for number in range(megabytes * 2**20 // (len(entry) + 8))]
    return ("{" + ",".join(pieces) + "}").encode()


LARGE = {
    "a header of 100 MB": lambda folder: with_header(
        folder, of_size(80, '{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}')
    ),
    "a header of very many tensors": lambda folder: with_header(folder, of_size(15, '{"data_offsets":[0,4]}')),
    "a header of lists": lambda folder: with_header(folder, b'{"a":[' + b"[]," * 5 * 2**20 + b"[]]}"),
    "a header that safetensors refuses": lambda folder: with_header(folder, b" " * 120 * 2**20),
    "a tokenizer of lists": lambda folder: _tokenizer(folder, b"[" + b"[]," * 10 * 2**20 + b"[]]"),
    "a tokenizer of blanks": lambda folder: _tokenizer(folder, b" " * 300 * 2**20),
    "an index of very many files": lambda folder: written(
        folder, config=LLAMA, **{"model.safetensors.index": {"weight_map": {str(n): f"{n}x" for n in range(400_000)}}}
    ),
}


def _tokenizer(folder, data):
    written(folder, config=LLAMA)
    (folder / "tokenizer.json").write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_size_costs_neither_time_nor_memory(name, tmp_path):
    LARGE[name](tmp_path)
    run = require(hotfix("check-model", tmp_path, "--release", RELEASE, cwd=tmp_path), 0, 1)
    print(f"{name}: {run.seconds:.1f} s, {run.megabytes:.0f} MB")


def test_files_that_are_too_large_are_named_and_not_judged(tmp_path, monkeypatch):
    monkeypatch.setattr("hotfix.commands.checkpoints.checkpoint.LARGEST_HEADER", 10)
    with_header(tmp_path, json.dumps({"a": GOOD}).encode())
    assert effects(tmp_path) == {("note", "")}
    answer = check_model.examine(str(tmp_path), RELEASE)
    assert (answer.is_harmed, "not checked" in check_model._summary(answer)) == (False, True)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["out", "pipe", "device", "circle", "inside"])
def test_links_that_lead_out_and_special_files_are_not_read(kind, name, tmp_path, capsys):
    secret, folder = tmp_path / "secret", tmp_path / "checkpoint"
    folder.mkdir()
    with_header(folder, json.dumps({"__metadata__": {"format": "pt"}, "a": GOOD}).encode())
    (folder / "other.json").write_text(json.dumps(LLAMA))
    secret.write_text('{"model_type": "s3cr3t"}')
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to({"out": secret, "device": "/dev/zero", "circle": name, "inside": "other.json"}[kind])
    if kind in ("pipe", "device") and name == "config.json":  # an invalid header may be endless
        run = hotfix("check-model", folder, "--release", RELEASE, cwd=tmp_path)
    else:
        run = in_this_process(capsys, "check-model", str(folder), "--release", RELEASE)
    assert "s3cr3t" not in run.stdout + run.stderr
    nothing_left = name == "config.json" and kind != "inside"
    linked_out = kind == "out" and name.endswith("config.json")
    require(run, 2 if nothing_left or linked_out else 1 if (kind, name) == ("inside", "model.safetensors") else 0)
    if kind == "out" and not linked_out:
        assert "leads out" in run.stdout


def test_a_snapshot_in_the_cache_is_made_of_links_and_read(tmp_path):
    repository = tmp_path / "models--a--b"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / "1").write_text(json.dumps(LLAMA))
    snapshot = repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to("../../blobs/1")
    (repository / "refs").mkdir()
    for commit in ("abc", "../../../elsewhere", "abc" * 10_000, ""):
        (repository / "refs" / "main").write_text(commit)
        require(
            hotfix("check-model", "a/b", "--release", RELEASE, cwd=tmp_path, env={"HF_HUB_CACHE": str(tmp_path)}), 0
        )


@pytest.mark.parametrize("depth", [90, 900])
def test_a_deep_configuration_is_no_error_of_the_command(depth, tmp_path):
    config: dict = {}
    for _ in range(depth):
        config = {"model_type": "llava", "text_config": config, "rope_parameters": {"rope_theta": 1.0}}
    written(tmp_path, config=config)
    for release in QUIET:
        if depth == 90:
            check_model.examine(str(tmp_path), release)
        else:
            with pytest.raises(HotfixError, match="nested too deeply"):
                check_model.examine(str(tmp_path), release)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": ["llama"], "transformers_version": {"a": 1}},
        {"model_type": "llama", "transformers_version": "4." + "9" * 5000},
        {"model_type": "llama", "rope_scaling": {"type": ["su"]}, "head_dim": True, "hidden_size": 10**400},
        {"model_type": "llama", "rope_parameters": [1], "auto_map": 3, "vision_config": 3, "text_config": []},
        {"model_type": "gpt_neox", "rope_parameters": {"partial_rotary_factor": float("nan")}, "rotary_pct": []},
        {"model_type": "\ud800", "transformers_version": "\x1b[31m"},
        {"model_type": "llama", "text_config": {"model_type": ["a"]}, "other": {"model_type": {}}},
    ],
)
def test_odd_values_are_no_error_of_the_command(config, tmp_path, capsys):
    written(tmp_path, config=config, tokenizer_config=config, tokenizer=config, processor_config=config)
    for words in ((), ("--json",)):
        assert main(["check-model", str(tmp_path), "--release", RELEASE, *words]) in (0, 1), capsys.readouterr().err


def test_a_release_of_very_many_digits_is_bad_input(tmp_path, capsys):
    written(tmp_path, config=LLAMA)
    assert main(["check-model", str(tmp_path), "--release", "9" * 10_000]) == 2
    assert len(capsys.readouterr().err) < 300
