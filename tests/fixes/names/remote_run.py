"""The child of `test_remote_code`: five files of remote code, loaded and run as their users do.

    python remote_run.py FOLDER RESULTS

FOLDER has the files, RESULTS gets the tensors. It runs alike on every release, with hotfix and without.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

PROMPT = torch.tensor([[0, 0, 5, 9, 17], [7, 3, 11, 23, 8]])
MASK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}


def cls(folder: Path, file: str, name: str) -> Any:
    """A class of a file of remote code."""
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    return get_class_from_dynamic_module(f"{file}.{name}", str(folder))


def filled(model: Any) -> Any:
    """The model with numbers that do not depend on the release."""
    for name, parameter in sorted(model.named_parameters()):
        generator = torch.Generator().manual_seed(sum(map(ord, name.removeprefix("language_model."))))
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return model.eval()


def results_of(model: Any) -> dict[str, torch.Tensor]:
    """Logits, and tokens by greedy and by beam search, the first row padded on the left."""
    with torch.no_grad():
        return {
            "logits": model(PROMPT, attention_mask=MASK).logits * MASK[..., None],
            "greedy": model.generate(PROMPT, attention_mask=MASK, **OPTIONS),
            "beams": model.generate(PROMPT, attention_mask=MASK, num_beams=3, **OPTIONS),
        }


def models(folder: Path) -> dict[str, Any]:
    """Each model, made by a function."""
    common = {"pad_token_id": 0, "bos_token_id": 1}

    def caches() -> Any:
        return cls(folder, "caches", "CachesForCausalLM")(cls(folder, "caches", "CachesConfig")(**common))

    def generation() -> Any:
        config = cls(folder, "generation", "GenerationConfigOfOurs")(tie_word_embeddings=False, **common)
        return cls(folder, "generation", "GenerationForConditionalGeneration")(config)

    def rope() -> Any:
        return cls(folder, "rope", "RopeChatModel")(cls(folder, "rope", "RopeConfig")(**common))

    def scaled() -> Any:
        config = cls(folder, "rope", "RopeConfig")(rope_scaling={"type": "linear", "factor": 2.0}, **common)
        return cls(folder, "rope", "RopeChatModel")(config)

    def attention() -> Any:
        config = cls(folder, "attention", "AttentionConfig")(**common)
        return cls(folder, "attention", "AttentionForConditionalGeneration")._from_config(
            config, attn_implementation="sdpa"
        )

    return {module.__name__: module for module in (caches, generation, rope, scaled, attention)}


def padded(folder: Path) -> dict[str, torch.Tensor]:
    """A batch, padded by the tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    core = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "cat": 3, "sat": 4}))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = cls(folder, "tokenizer", "PaddingTokenizer")(tokenizer_object=core, pad_token="[PAD]")
    rows = [{"input_ids": [2, 3, 4]}, {"input_ids": [3]}]
    return dict(tokenizer.pad(rows, padding=True, pad_to_multiple_of=4, return_tensors="pt"))


def main(folder: Path, results: Path) -> None:
    """Every result, by name; an error in place of a result that raises."""
    outcomes: dict[str, Any] = {}
    for name, make in models(folder).items():
        try:
            fill(outcomes, name, lambda make=make: results_of(filled(make())))
        except Exception as error:
            outcomes[name] = f"{type(error).__name__}: {error}"
    try:
        fill(outcomes, "tokenizer", lambda: padded(folder))
    except Exception as error:
        outcomes["tokenizer"] = f"{type(error).__name__}: {error}"
    torch.save(outcomes, results)


def fill(outcomes: dict[str, Any], name: str, results: Any) -> None:
    """Add results. It returns nothing: a handler that supplies a substitute for a result looks like a fallback."""
    outcomes.update({f"{name} {part}": value for part, value in results().items()})


if __name__ == "__main__":
    if "--hotfix" in sys.argv:
        import hotfix.auto  # noqa: F401
    main(Path(sys.argv[1]), Path(sys.argv[2]))
