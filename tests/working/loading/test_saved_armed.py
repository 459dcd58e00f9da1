"""A process without hotfix reads a file saved by an armed process like the original, and like its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.working.loading.test_programs import read as shown
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

WAYS = (
    # fixes, the kind of file, the release that wrote it, the armed release, the release that reads both
    ("torch-dtype-key-dtype-in-v4", "mistral", "4.57.6", "4.40.2", "4.57.6"),
    ("v5-rope-parameters-ignored-by-v4,torch-dtype-key-dtype-in-v4", "llama", "4.57.6", "4.49.0", "5.23.0"),
    ("v5-rope-parameters-ignored-by-v4,torch-dtype-key-dtype-in-v4", "gpt_neox", "4.57.6", "4.49.0", "5.23.0"),
    ("v5-gpt-neox-rotary-pct-lost", "gpt_neox", "4.57.6", "5.0.0", "5.23.0"),
    ("qwen3-moe-experts-key,v5-rope-parameters-ignored-by-v4", "qwen3_moe", "4.57.6", "4.57.6", "5.23.0"),
    ("phi3-longrope-type-refused", "phi3", "4.57.6", "4.41.2", "4.57.6"),
    (
        "tokenizer-class-tokenizersbackend,extra-special-tokens-list,v5-add-bos-token-not-written",
        "tokenizer of 5.x",
        "4.57.6",
        "4.57.6",
        "5.23.0",
    ),
    (
        "chat-template-jinja-file-ignored,tokenizer-class-tokenizersbackend,extra-special-tokens-list",
        "tokenizer of 5.x",
        "4.57.6",
        "4.44.2",
        "5.23.0",
    ),
    ("v5-additional-special-tokens-lost", "tokenizer of 4.x", "4.57.6", "5.2.0", "5.23.0"),
    ("v5-umt5-config-unties-encoder", "umt5", "4.57.6", "5.0.0", "4.57.6"),
    ("vlm-checkpoint-key-layout-new-to-old", "llava", "5.6.0", "4.44.2", "5.6.0"),
    ("v5-vlm-saved-in-two-layouts,vlm-checkpoint-key-layout-new-to-old", "llava", "5.3.0", "5.5.1", "5.3.0"),
    ("v5-vlm-saved-in-two-layouts", "qwen2_vl", "5.3.0", "5.5.1", "5.6.0"),
    ("rope-scaling-validation-llama31", "llama31", "4.57.6", "4.42.4", "4.57.6"),
    ("v5-config-without-tie-word-embeddings", "camembert", "4.57.6", "5.0.0", "4.57.6"),
    ("generation-config-strict-save", "llama that samples", "4.36.2", "4.57.6", "4.57.6"),
    ("safetensors-metadata-none", "llama without metadata", "4.57.6", "4.44.2", "4.57.6"),
    ("qwen2vl-config-model-type", "qwen2_vl", "4.57.6", "4.57.3", "4.57.6"),
    ("v5-byte-level-tokenizer-overridden", "tokenizer of bytes", "4.57.6", "5.2.0", "4.57.6"),
    ("v5-debertav2-no-special-tokens", "tokenizer of deberta", "5.4.0", "5.2.0", "5.4.0"),
    ("vlm-save-reverse-mapping", "llava", "4.49.0", "4.52.3", "4.49.0"),
)

MISREAD = (
    "v5-umt5-config-unties-encoder",
    "v5-gpt-neox-rotary-pct-lost",
    "rope-scaling-validation-llama31",
    "qwen2vl-config-model-type",
    "v5-byte-level-tokenizer-overridden",
)
"""Repairs of releases that misread the original, and so what is saved in the same form."""


def _run(step: str, release: str, armed: str = "", **env: str) -> dict[str, Any]:
    env = {**env, "HOTFIX_ONLY": armed} if armed else env
    name = f"tests.working.loading.programs_saved:{step}"
    return run(name, transformers=release, flash_attn=None, hotfix=bool(armed), env=env).require().tensors


@pytest.mark.parametrize(("fixes", "kind", "writer", "release", "reader"), WAYS)
def test_stock_reads_what_an_armed_process_saved(fixes, kind, writer, release, reader, tmp_path: Path):
    original, saved = tmp_path / "original", tmp_path / "saved"
    original.mkdir()
    saved.mkdir()
    _run("write", writer, KIND=kind, TO=str(original))
    armed = _run("save", release, fixes, KIND=kind, FROM=str(original), TO=str(saved))
    if fixes in MISREAD:
        assert _misreads(release, kind, original, armed)
    else:
        _same(armed, _run("read", release, KIND=kind, FROM=str(saved)))
    _same(
        _run("read", reader, KIND=kind, FROM=str(original)),
        _run("read", reader, KIND=kind, FROM=str(saved)),
    )


def _misreads(release: str, kind: str, folder: Path, right: dict[str, Any]) -> bool:
    """Whether the release itself refuses the original, or reads it differently from the armed process."""
    name = "tests.working.loading.programs_saved:read"
    env = {"KIND": kind, "FROM": str(folder)}
    result = run(name, transformers=release, flash_attn=None, hotfix=False, env=env)
    if result.error is not None:
        return True
    return {key: shown(value) for key, value in result.tensors.items()} != {
        key: shown(value) for key, value in right.items()
    }


def _same(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    assert {key: shown(value) for key, value in expected.items()} == {
        key: shown(value) for key, value in actual.items()
    }
