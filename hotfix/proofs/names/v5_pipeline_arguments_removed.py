"""The proof: a tiny BERT finds entities and classifies texts, and a tiny ViT says what is on an image."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.names.v5_pipeline_arguments_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "##s",
    "dog",
    "##gy",
    "sat",
    "on",
    "mat",
    "##tress",
]
TEXT = "the cats sat on the doggy mattress"
WAYS: dict[str, dict[str, Any]] = {
    "grouped": {"grouped_entities": True},
    "not grouped": {"grouped_entities": False, "aggregation_strategy": "max"},
    "whole words": {"grouped_entities": True, "ignore_subwords": True},
    "pieces": {"ignore_subwords": True},
    "framework": {"framework": "pt", "aggregation_strategy": "simple"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "neither": {},
    "all": {"return_all_scores": True},
    "best": {"return_all_scores": False},
    "all, but two": {"return_all_scores": True, "top_k": 2},
    "best, but all": {"return_all_scores": False, "top_k": None},
}


@FIX.case(packages={"flash-attn": None, "pillow": "11.3.0"})  # one of the arguments is lost without an error
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The results, with arguments of the constructor and of the call."""
    if "TokenClassification" in target.qualname:
        return _entities(testbed)
    if "TextClassification" in target.qualname:
        return _classes(testbed)
    import transformers

    small: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    model = testbed.fill(
        transformers.ViTForImageClassification(
            transformers.ViTConfig(image_size=8, patch_size=4, num_labels=3, **small)
        )
    ).eval()
    images: Any = transformers.ViTImageProcessor(size={"height": 8, "width": 8})
    kind: Any = getattr(transformers, target.qualname.partition(".")[0])
    pipe = kind(model=model, image_processor=images, framework="pt", device=-1)
    return {"top": torch.tensor(pipe._postprocess_params.get("top_k", 5)), "task": words(type(pipe).__name__)}


def _small(testbed: Testbed, name: str, **settings: Any) -> tuple[Any, Any]:
    """A model and a tokenizer."""
    import transformers

    small: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = transformers.BertConfig(
        vocab_size=len(PIECES), id2label=dict(enumerate(("O", "B-A", "I-A", "B-B"))), **small, **settings
    )
    model = testbed.fill(getattr(transformers, name)(config)).eval()
    with TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocab.txt")
        vocabulary.write_text("\n".join(PIECES))
        return model, transformers.BertTokenizerFast(str(vocabulary))


def _classes(testbed: Testbed) -> dict[str, torch.Tensor]:
    """How the results are nested, and their scores."""
    import transformers

    results = {}
    for number, settings in enumerate(({}, {"return_all_scores": True}, {"return_all_scores": False})):
        model, tokenizer = _small(testbed, "BertForSequenceClassification", **settings)
        for name, way in CHOICES.items():
            pipe: Any = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, device=-1, **way)
            later: Any = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, device=-1)
            made = [pipe(TEXT), pipe([TEXT, "the cat"]), later(TEXT, **way), later([TEXT, "the cat"], **way)]
            text = repr(made)
            results[f"shape {number} {name}"] = words("".join(filter("[]{}".__contains__, text)))
            results[f"labels {number} {name}"] = words(*re.findall("'label': '([^']*)'", text))
            results[f"scores {number} {name}"] = torch.tensor(
                [float(score) for score in re.findall("'score': ([^}]*)}", text)]
            )
    return results


def _entities(testbed: Testbed) -> dict[str, torch.Tensor]:
    import transformers

    model, tokenizer = _small(testbed, "BertForTokenClassification")
    results = {}
    for name, way in WAYS.items():
        pipe: Any = transformers.pipeline("ner", model=model, tokenizer=tokenizer, device=-1, **way)
        later: Any = transformers.pipeline("ner", model=model, tokenizer=tokenizer, device=-1)
        made = [pipe(TEXT)] + ([] if "framework" in way else [later(TEXT, **way)])
        results[f"scores {name}"] = torch.tensor([float(part["score"]) for each in made for part in each])
        results[f"words {name}"] = words(
            *(f"{part.get('entity_group') or part['entity']} {part['word']}" for each in made for part in each)
        )
    return results
