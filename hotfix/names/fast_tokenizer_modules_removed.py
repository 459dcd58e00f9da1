"""The modules of the fast tokenizers are gone.

Symptom   ``ModuleNotFoundError: No module named 'transformers.models.qwen2.tokenization_qwen2_fast'`` (VibeVoice), and
          the same of ``llama``, ``bert`` and others, from code that imports a class from its defining module.
Cause     Fast and slow tokenizers became one class in 5.0.0. The package still exports both names, but the module of
          the fast one was removed.
Releases  5.0.0 and later
Upstream  not put back
Here      The modules of the twenty most used tokenizers, each with the class that ``transformers`` exports by the name.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.modules import given_back

FIX = Fix(
    title="ModuleNotFoundError: No module named 'transformers.models.qwen2.tokenization_qwen2_fast'",
    kind="removed-api",
    group="removed-names",
)

NAMES = {
    "albert": "Albert",
    "bart": "Bart",
    "bert": "Bert",
    "camembert": "Camembert",
    "clip": "CLIP",
    "codegen": "CodeGen",
    "deberta_v2": "DebertaV2",
    "distilbert": "DistilBert",
    "electra": "Electra",
    "gemma": "Gemma",
    "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX",
    "llama": "Llama",
    "mbart": "MBart",
    "mpnet": "MPNet",
    "qwen2": "Qwen2",
    "roberta": "Roberta",
    "t5": "T5",
    "whisper": "Whisper",
    "xlm_roberta": "XLMRoberta",
}
"""The first part of the name of a class, by the folder of its model."""


@FIX.adds_modules(*[(f"transformers.models.{model}:tokenization_{model}_fast", ">=5.0.0") for model in NAMES])
def module_of(package: Any) -> ModuleType:
    """The module with the class; it imports nothing before first use."""
    model = package.__name__.rpartition(".")[2]

    def find(name: str) -> Any:
        return getattr(import_module("transformers"), name)

    name = f"{package.__name__}.tokenization_{model}_fast"
    return given_back(name, [f"{NAMES[model]}TokenizerFast"], "transformers", find)
