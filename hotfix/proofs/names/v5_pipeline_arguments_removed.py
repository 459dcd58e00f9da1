"""The proof: a tiny BERT finds entities, and a tiny ViT says what is on an image."""

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


@FIX.case(
    raises="TypeError: .*_sanitize_parameters\\(\\) got an unexpected keyword argument",
    packages={"flash-attn": None, "pillow": "11.3.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The results, with arguments of the constructor and of the call."""
    if "TokenClassification" in target.qualname:
        return _entities(testbed)
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


def _entities(testbed: Testbed) -> dict[str, torch.Tensor]:
    import transformers

    small: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = transformers.BertConfig(
        vocab_size=len(PIECES), id2label=dict(enumerate(("O", "B-A", "I-A", "B-B"))), **small
    )
    model = testbed.fill(transformers.BertForTokenClassification(config)).eval()
    with TemporaryDirectory() as folder:
        vocabulary = Path(folder, "vocab.txt")
        vocabulary.write_text("\n".join(PIECES))
        tokenizer = transformers.BertTokenizerFast(str(vocabulary))
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
