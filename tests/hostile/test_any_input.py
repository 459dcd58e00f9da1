"""Every command that reads a folder or pasted text ends properly, whatever the input is.

- It ends with a documented status: 0, 1 or 2. With 2 it prints one line and nothing else.
- It ends soon and uses little memory; no input causes an error that it does not handle.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hotfix.commands.explain import messages
from hotfix.commands.main import main

from .limited import Run, hotfix, require

RELEASE = "4.57.6"
SMALL = settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=[*HealthCheck])
WAITING = 120  # seconds after which a command of this process is ended

# ----------------------------------------------------------------------------------------------------------------------
# The content of a file.

ODD = ["", "\x00", "\x1b[31m", "\u202e", "\ufeff", "x" * 3000, "9" * 5000, "é", "\U0001f4a5", "../..", "nan", "4.49.0"]
words = st.sampled_from(ODD) | st.text(max_size=8)
KEYS = [
    "model_type", "rope_parameters", "rope_scaling", "rope_type", "type", "factor", "text_config", "vision_config",
    "head_dim", "num_attention_heads", "hidden_size", "transformers_version", "auto_map", "architectures", "dtype",
    "tokenizer_class", "extra_special_tokens", "additional_special_tokens", "model", "merges", "vocab",
    "post_processor", "image_processor", "weight_map", "num_local_experts", "digest", "patches", "packages",
    "outcomes", "observed", "rank", "world_size", "host", "switches", "log_history", "sliding_window", "package",
    "name", "version", "default", "markers", "bomFormat", "components", "purl", "processors", "single",
    "SpecialToken", "id",
]  # fmt: skip
VALUES = [
    "llama", "qwen3_moe", "gpt_neox", "qwen2_vl", "llava", "su", "longrope", "yarn", "default", "LlamaTokenizer",
    "CycloneDX", "TokenizersBackend", "pkg:pypi/transformers@4.49.0", "transformers", "4.49.0", "0123456789ab",
    "TemplateProcessing", "fix module:name abc 1", "bfloat16",
]  # fmt: skip
numbers = st.sampled_from([0, 1, -1, 8, 4096, 10**30, 0.25, 1e400, float("nan")]) | st.integers()
scalars = st.none() | st.booleans() | numbers | words | st.sampled_from(VALUES)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | words, inner, max_size=5),
    max_leaves=20,
)
dictionaries = st.dictionaries(st.sampled_from(KEYS) | words, documents, max_size=6)
jsons = (dictionaries | documents).map(lambda value: json.dumps(value).encode())

tensors = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["BF16", "F32"]) | documents,
        "shape": st.lists(st.integers(0, 4096), max_size=3) | documents,
        "data_offsets": st.lists(st.integers(0, 16), min_size=2, max_size=2).map(sorted) | documents,
    },
)
NAMES = [
    "model.language_model.a",
    "model.layers.0.mlp.experts.gate_up_proj",
    "vision_tower.encoder.a",
    "__metadata__",
    "a",
]
headers = st.dictionaries(st.sampled_from(NAMES) | words, tensors | documents, max_size=5)


def _weights(header: bytes, length: int | None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + b"\0" * 16


weights = st.builds(
    _weights,
    headers.map(lambda header: json.dumps(header).encode()) | jsons | st.binary(max_size=40),
    st.none() | st.integers(0, 60) | st.sampled_from([2**31, 2**63, 2**64 - 1]),
)


def lines_of(usual: list[str], most: int) -> st.SearchStrategy[list[str]]:
    """Some of these lines, and now and then an odd one."""
    return st.lists(st.sampled_from(usual), max_size=most) | st.lists(st.sampled_from(usual) | words, max_size=most)


def _lines(*parts: list[str]) -> bytes:
    return "\n".join(line for part in parts for line in part).encode("utf-8", "replace")


TOML = [
    "[tool.hotfix.scan]", "[ tool . hotfix . scan ]", "[tool.hotfix]",
    "[[tool.hotfix.scan.ignore]]", "[tool]", "[project]", "[[package]]", "tool = 3", "tool = [1]", "scan = 3",
    "hotfix = {scan = {fail-on = 'any'}}", "fail-on = 'silent'", "fail-on = []", "id = 'flash-rotary-dtype'",
    "id = 3", "reason = 'so'", "reason = ''", "expires = 2027-01-31", "expires = 12:00:00", "expires = 'soon'",
    "ignore = 3", "ignore = [{}]", "dependencies = ['transformers==4.49.0']", "dependencies = 3",
    "dependencies = [3]", "optional-dependencies = []", "name = 'transformers'", "version = '4.49.0'",
    "version = 4", "marker = \"python_version < '3'\"", "marker = [3]", "resolution-markers = 3", "package = {}",
    "packages = 3", "x = " + "[" * 400, "x = " + "9" * 5000, "a.b = 1", "a.b.c = 1", "'", '"""', "\\", "skip = 'x'",
    "enabled = 3",
]  # fmt: skip
HEADS = [
    "",
    "[tool.hotfix.scan]",
    "[ tool . hotfix . scan ]",
    "[[tool.hotfix.scan.ignore]]",
    "[project]",
    "[[package]]",
]
tomls = st.builds(_lines, st.lists(st.sampled_from(HEADS), max_size=1), lines_of(TOML, 3))

REQUIREMENTS = [
    "transformers==4.49.0", "transformers>=4.40,<5", "transformers @ git+https://a:b@c/d@v4.49.0",
    "-r requirements.txt", "-r .", "-c ../../etc/passwd", "-e .", "--hash=x", "transformers==4.*",
    "transformers===4", "name: x", "dependencies:", "  - pip:", "    - transformers", "  - transformers=4.49",
    "- &a [*a]", "FROM python", "RUN pip install transformers==4.49.0 \\", "torch", "[options]",
    "install_requires =", "    transformers", "Package Version", "------- -------", "transformers 4.49.0", "%", "'",
]  # fmt: skip
requirements = st.builds(_lines, lines_of(REQUIREMENTS, 8))

CODE = [
    "from transformers import AdamW", "import transformers", "from transformers import *",
    "from . import transformers", "try:", " import transformers.deepspeed", "except ImportError:", " raise",
    "else:", "class A(PreTrainedModel):", " def f(self):", "  self.get_head_mask()", "class A(A): pass",
    "transformers.AdamW", "pipeline('summarization')", "match x:", " case 1:", "x = (", ")",
    "f'{transformers!r:{x}}'", "lambda: transformers.x", "# coding: latin-9", "\f", "async def f(): await x",
    "if TYPE_CHECKING:", "    pass", "TrainingArguments(evaluation_strategy=1)", "def f(*, a=transformers.B): pass",
    "x: transformers.Y",
]  # fmt: skip
code = st.builds(_lines, lines_of(CODE, 10))

contents = st.one_of(jsons, tomls, requirements, code, weights, st.binary(max_size=60))

# ----------------------------------------------------------------------------------------------------------------------
# The entries of a folder.

FILES = {
    "config.json": jsons, "generation_config.json": jsons, "tokenizer.json": jsons, "tokenizer_config.json": jsons,
    "processor_config.json": jsons, "preprocessor_config.json": jsons, "adapter_config.json": jsons,
    "args.json": jsons, "trainer_state.json": jsons, "model.safetensors": weights,
    "model.safetensors.index.json": jsons, "hotfix.lock": jsons, "host-1-0123abcd.json": jsons,
    "host-2-0123abcd.json": jsons, "pyproject.toml": tomls, "uv.lock": tomls, "Pipfile": tomls,
    "pylock.toml": tomls, "Pipfile.lock": jsons, "bom.json": jsons, "requirements.txt": requirements,
    "setup.cfg": requirements, "requirements/base.txt": requirements, "environment.yml": requirements,
    "conda-lock.yml": requirements, "README.md": requirements, "Dockerfile": requirements, "a.py": code,
    "b/c.py": code, "b/transformers/__init__.py": code, "checkpoint-3/config.json": jsons,
    "refs/main": requirements, "snapshots/abc/config.json": jsons, "odd\n\x1b[31m.py": code,
}  # fmt: skip
TARGETS = [
    "/dev/zero",
    "/etc/passwd",
    "..",
    ".",
    "nowhere",
    "a.py",
    "config.json",
    "requirements.txt",
    "../outside",
    "/proc/self/mem",
]


@dataclass(frozen=True)
class Entry:
    """The content of a name: bytes, a link, a pipe or a folder."""

    kind: str
    content: bytes = b""
    target: str = ""


def _entries(usual: st.SearchStrategy[bytes]) -> st.SearchStrategy[Entry]:
    return st.one_of(
        st.builds(Entry, st.just("file"), usual),
        st.builds(Entry, st.just("file"), usual),
        st.builds(Entry, st.just("file"), contents),
        st.builds(Entry, st.just("link"), target=st.sampled_from(TARGETS)),
        st.sampled_from([Entry("pipe"), Entry("folder")]),
    )


def trees(*names: str) -> st.SearchStrategy[dict[str, Entry]]:
    """Folders with some of these entries."""
    return st.fixed_dictionaries({}, optional={name: _entries(FILES[name]) for name in names or FILES})


@contextlib.contextmanager
def planted(tree: dict[str, Entry]) -> Iterator[Path]:
    """The folder, as long as the context lasts."""
    with tempfile.TemporaryDirectory() as outer:
        Path(outer, "outside").write_text('{"s3cr3t": 1}')
        folder = Path(outer, "tree")
        folder.mkdir()
        for name, entry in tree.items():
            path = folder / name
            with contextlib.suppress(OSError):  # its parent may have become a link or a file
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.parent.resolve().is_relative_to(folder.resolve()):
                    continue
                if entry.kind == "link":
                    path.symlink_to(entry.target)
                elif entry.kind == "pipe":
                    os.mkfifo(path)
                elif entry.kind == "folder":
                    path.mkdir()
                else:
                    path.write_bytes(entry.content)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


# ----------------------------------------------------------------------------------------------------------------------
# The commands that read it.


def commands(*words: str) -> st.SearchStrategy[list[str]]:
    """Command lines for the working directory, or for files in it."""
    return st.sampled_from(words).flatmap(lambda word: st.sampled_from(LINES[word]))


LINES = {
    "scan": [
        *(["scan", ".", "--format", form] for form in ("table", "json", "sarif", "markdown")),
        *(
            ["scan", name, "--fail-on", "any"]
            for name in ("uv.lock", "requirements.txt", "environment.yml", "bom.json")
        ),
        *(["scan", name] for name in ("Pipfile", "Pipfile.lock", "setup.cfg", "Dockerfile", "conda-lock.yml", "odd")),
    ],
    "scan-code": [
        *(["scan-code", ".", "--format", form] for form in ("table", "json", "sarif")),
        ["scan-code", "a.py", "--release", "5.3.0", "--fail-on", "any"],
    ],
    "check-model": [
        ["check-model", ".", "--release", RELEASE],
        ["check-model", ".", "--release", RELEASE, "--json"],
        ["check-model", ".", "--release", "5.3.0"],
    ],
    "audit": [["audit", "."], ["audit", ".", "--json"], ["audit", ".", "--fail"]],
    "fleet": [["fleet", "."], ["fleet", ".", "--json"], ["fleet", ".", "--prometheus"]],
    "lock": [["lock", "--check"], ["lock", "--digest"], ["lock", "--against", "."]],
    "config": [["config"], ["config", "--json"]],
}
EVERY = ("scan", "scan-code", "check-model", "audit", "fleet", "lock", "config")

texts = st.lists(
    st.sampled_from([message.message.text for theirs in messages._known()[0].values() for message in theirs])
    | st.sampled_from(
        ['  File "/x/modeling_qwen2.py", line 3, in forward', "Traceback (most recent call last):", "[rank0]: "]
    )
    | st.sampled_from(
        ["KeyError: ", "RuntimeError: " + "a" * 4000, "a." * 2000, "task '" + "_to" * 900, "(pid=1" * 300]
    )
    | words,
    max_size=12,
)
joints = st.sampled_from(["\n", " ", "", "\r", "\n[rank3]: "])


def run(words: list[str], folder: Path, stdin: bytes = b"") -> Run:
    """Run a command in this process, and end it if it hangs."""

    def end(*_: Any) -> None:
        raise TimeoutError(f"{words} waited")

    printed, errors, here = io.StringIO(), io.StringIO(), os.getcwd()
    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(WAITING)
    os.chdir(folder)
    given_in, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            status = main(words)
    finally:
        sys.stdin = given_in
        os.chdir(here)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Run(status, printed.getvalue(), errors.getvalue(), 0.0, 0.0)


def keep_the_promises(done: Run) -> None:
    """Fail if a command has broken the promises at the top of this file."""
    require(done)
    assert "s3cr3t" not in done.stdout + done.stderr


@SMALL
@given(trees(), commands(*EVERY))
def test_any_tree(tree, words):
    with planted(tree) as folder:
        keep_the_promises(run(words, folder))


@SMALL
@given(trees("pyproject.toml", "requirements.txt", "uv.lock", "setup.cfg", "Pipfile"), commands("scan", "config"))
def test_any_project(tree, words):
    with planted(tree) as folder:
        keep_the_promises(run(words, folder))


CHECKPOINT = [name for name in FILES if name.endswith((".json", ".safetensors")) and "/" not in name]


@SMALL
@given(
    trees(*CHECKPOINT),
    commands("check-model", "audit"),
    st.sampled_from(["llama", "qwen2_vl", "gpt_neox", "qwen3_vl_moe"]),
)
def test_any_checkpoint(tree, words, model_type):
    config = tree.get("config.json", Entry("file", b"{}"))
    with contextlib.suppress(ValueError):
        content = json.loads(config.content)
        if isinstance(content, dict):
            tree = {**tree, "config.json": Entry("file", json.dumps({**content, "model_type": model_type}).encode())}
    with planted(tree) as folder:
        keep_the_promises(run(words, folder))


RECORD = {
    "digest": "0123456789ab",
    "host": "one",
    "pid": 1,
    "rank": 0,
    "world_size": 1,
    "patches": [],
    "outcomes": [],
    "packages": {},
}
records = st.dictionaries(st.sampled_from([*RECORD, "observed", "switches", "mode", "ended"]), documents, max_size=3)


@SMALL
@given(st.lists(records, max_size=3), commands("fleet", "audit", "lock"))
def test_any_record_and_lock_file(changes, words):
    with tempfile.TemporaryDirectory() as name:
        for number, change in enumerate(changes):
            text = json.dumps({**RECORD, **change})
            Path(name, "hotfix.lock" if number == 0 else f"host-{number}-0123abcd.json").write_text(text)
        keep_the_promises(run(words, Path(name)))


@SMALL
@given(texts, joints, st.sampled_from([[], ["--json"]]))
def test_any_message(pieces, joint, more):
    text = joint.join(pieces)
    with tempfile.TemporaryDirectory() as name:
        keep_the_promises(run(["explain", "-", *more], Path(name), text.encode("utf-8", "replace")))
        if "\0" not in text:
            keep_the_promises(run(["explain", f"--error={text}", *more], Path(name)))


# ----------------------------------------------------------------------------------------------------------------------
# The same in processes with limits.

MEASURED: list[tuple[float, float, list[str]]] = []


@pytest.mark.slow
@settings(SMALL, max_examples=500)
@given(
    st.tuples(trees(), commands(*EVERY), st.just(b""))
    | st.tuples(trees(*CHECKPOINT), commands("check-model", "audit", "lock"), st.just(b""))
    | st.tuples(
        st.just({}),
        st.just(["explain", "-"]),
        st.builds(lambda joint, two: joint.join(two).encode("utf-8", "replace"), joints, texts),
    )
)
def test_five_hundred_inputs_within_the_limits(example):
    tree, words, stdin = example
    with planted(tree) as folder:
        done = hotfix(*words, cwd=folder, stdin=stdin)
        MEASURED.append((done.seconds, done.megabytes, words))
        keep_the_promises(done)


@pytest.mark.slow
def test_their_arguments_are_reported():
    if MEASURED:
        print(
            f"{len(MEASURED)} runs; at most {max(MEASURED)[0]:.1f} s and {max(size for _, size, *_ in MEASURED):.0f} MB"
        )
