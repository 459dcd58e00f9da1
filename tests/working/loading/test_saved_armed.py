"""A process without hotfix reads a file saved by an armed process like the original, and like its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotfix.proofs.processing._pictures import PACKAGES
from tests.working.loading.test_programs import read as shown
from tools.testbed.run import Result, run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed
TORCHVISION = f"torchvision=={PACKAGES['torchvision']}"

WAYS = (
    # fixes, the kind of file, the release that wrote it, the armed release, the releases that read both
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
    ("config-save-generation-params-error", "bart that generates", "4.44.2", "4.45.1", "4.44.2 4.45.2"),
    ("config-without-defaults-cannot-be-shown", "composition", "4.51.3", "4.53.0", "4.51.3 5.20.0"),
    ("config-without-defaults-cannot-be-shown", "composition", "4.51.3", "5.19.0", "4.51.3 5.20.0"),
    ("rope-scaling-completed-too-soon", "scaling of remote code", "4.57.6", "5.21.0", "5.20.2 5.21.1"),
    ("v5-custom-layer-types", "layers of remote code", "4.57.6", "5.13.0", "5.13.1"),
    ("v5-custom-weights-initialised-again", "model of one's own", "4.57.6", "5.0.0", "4.57.6 5.13.0"),
    ("v5-custom-weights-initialised-again", "model of one's own", "4.57.6", "5.12.1", "4.57.6 5.13.0"),
    ("v5-missing-bias-not-initialised", "llama that gets biases", "5.1.0", "5.2.0", "5.1.0 5.3.0"),
    ("v5-t5-tied-keys-order", "t5 without shared", "4.57.6", "5.0.0", "5.18.0"),
    ("v5-t5-tied-keys-order", "t5 without shared", "4.57.6", "5.17.0", "5.18.0"),
    (
        "gemma3-two-layouts-into-base,vlm-checkpoint-key-layout-new-to-old",
        "gemma3",
        "5.5.4",
        "4.51.3",
        "5.5.4 5.9.0 5.23.0",
    ),
    ("v5-conversion-reverse", "gemma3n", "5.5.2", "5.0.0", "4.57.6 5.5.2"),
    ("v5-conversion-reverse", "gemma3n", "5.5.2", "5.5.1", "4.57.6 5.5.2"),
    ("processor-config-nested", "speech", "5.23.0", "4.55.4", "4.56.0 5.23.0"),
    ("tokenizer-local-config-dict", "large tokenizer", "4.57.1", "4.57.2", "4.57.1 4.57.3"),
    (
        "tokenizer-offline-model-info,tokenizer-local-config-dict",
        "large tokenizer in a cache",
        "4.57.1",
        "4.57.2",
        "4.57.1 4.57.4",
    ),
    ("tokenizer-offline-model-info", "large tokenizer in a cache", "4.57.1", "4.57.3", "4.57.1 4.57.4"),
    ("tokenizers-modelwrapper-merges-list", "merges that are pairs", "4.45.2", "4.44.2", "4.45.2 4.57.6"),
    ("slow-tokenizer-vocab-before-init", "late vocabulary", "4.57.6", "4.36.2", "4.36.2 4.57.6"),
    ("slow-tokenizer-vocab-before-init", "late vocabulary", "4.57.6", "4.49.0", "4.49.0 4.57.6"),
    ("pipeline-torch-dtype-ignored", "llama in a pipeline", "4.55.4", "4.56.0", "4.56.1"),
    ("qwen2vl-image-processor-size-discarded", "images with a size", "5.0.0", "4.57.6", "5.0.0"),
    ("qwen2vl-image-processor-size-discarded", "images with a size", "5.0.0", "4.50.3", "5.0.0"),
    ("qwen2vl-image-size-mutation", "images that were limited in a call", "4.49.0", "4.50.1", "4.49.0 4.50.2"),
    ("qwen2vl-max-pixels-ignored", "images that were limited at loading", "4.49.0", "4.50.3", "4.49.0 4.51.3"),
    ("qwen2vl-processor-pixels-ignored", "qwen that was limited in a call", "4.49.0", "4.47.1", "4.47.1 4.49.0"),
    ("qwen2vl-saved-size-pixels", "images of 4.48", "4.48.3", "4.50.3", "4.48.3 5.4.0"),
    ("processor-args-shift", "qwen with an image processor", "4.51.3", "4.53.0", "4.52.4 4.53.1"),
    ("colpali-size-keys", "video with limits twice", "4.54.0", "4.53.3", "4.54.0"),
)

MISREAD = (
    "v5-umt5-config-unties-encoder",
    "v5-gpt-neox-rotary-pct-lost",
    "rope-scaling-validation-llama31",
    "qwen2vl-config-model-type",
    "v5-byte-level-tokenizer-overridden",
    "config-without-defaults-cannot-be-shown 4.53.0",
    "rope-scaling-completed-too-soon",
    "v5-custom-weights-initialised-again",
    "tokenizer-local-config-dict",
    "tokenizer-offline-model-info,tokenizer-local-config-dict",
    "qwen2vl-image-processor-size-discarded",
    "colpali-size-keys",
)
"""Repairs, some with a release, of releases that misread the original, and so what is saved in the same form."""


SEES = ("images", "qwen ", "video")
"""Beginnings of the kinds for which a process needs torchvision."""


def _result(step: str, release: str, armed: str = "", **env: str) -> Result:
    env = {**env, "HOTFIX_ONLY": armed, "HOTFIX_OPTIN": armed} if armed else env
    name = f"tests.working.loading.programs_saved:{step}"
    extras = [TORCHVISION] if env["CASE_KIND"].startswith(SEES) else []
    return run(name, transformers=release, flash_attn=None, hotfix=bool(armed), extras=extras, env=env)


def _run(step: str, release: str, armed: str = "", **env: str) -> dict[str, Any]:
    return _result(step, release, armed, **env).require().tensors


@pytest.mark.parametrize(("fixes", "kind", "writer", "release", "readers"), WAYS)
def test_stock_reads_files_of_an_armed_process(fixes, kind, writer, release, readers, tmp_path: Path):
    original, saved = tmp_path / "original", tmp_path / "saved"
    original.mkdir()
    saved.mkdir()
    _run("write", writer, CASE_KIND=kind, CASE_TO=str(original))
    armed = _run("save", release, fixes, CASE_KIND=kind, CASE_FROM=str(original), CASE_TO=str(saved))
    if fixes in MISREAD or f"{fixes} {release}" in MISREAD:
        assert _misreads(release, kind, original, armed)
    else:
        _same(armed, _run("read", release, CASE_KIND=kind, CASE_FROM=str(saved)))
    for reader in readers.split():
        _same(
            _run("read", reader, CASE_KIND=kind, CASE_FROM=str(original)),
            _run("read", reader, CASE_KIND=kind, CASE_FROM=str(saved)),
        )


def _misreads(release: str, kind: str, folder: Path, right: dict[str, Any]) -> bool:
    """Whether the release itself refuses the original, or reads it differently from the armed process."""
    result = _result("read", release, CASE_KIND=kind, CASE_FROM=str(folder))
    if result.error is not None:
        return True
    return {key: shown(value) for key, value in result.tensors.items()} != {
        key: shown(value) for key, value in right.items()
    }


def _same(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    assert {key: shown(value) for key, value in expected.items()} == {
        key: shown(value) for key, value in actual.items()
    }
