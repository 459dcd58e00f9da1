"""The proof: a tiny T5 summarizes, translates and answers, asked in the ways of old."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hotfix.names.seq2seq_pipelines_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed

SPECIAL = ["<pad>", "</s>", "<unk>"]
WORDS = ["a", "cat", "sat", "on", "the", "mat", "and", "slept", "summarize", "translate", "en", "fr", "de", ":", "."]
TEXTS = ["a cat sat on the mat .", "the cat slept ."]
OF_TASKS = {
    "summarization": {"min_length": 4, "num_beams": 2, "prefix": "summarize : "},
    "translation_en_to_fr": {"num_beams": 3, "prefix": "translate en fr : "},
}


@FIX.case(
    raises="KeyError: .*(Unknown task|has been removed)|ImportError: cannot import name '",
    oracles={"*": "4.57.6"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What each task returns, as tokens and as text."""
    import torch
    from transformers import pipeline, pipelines

    results = {}
    if target.qualname.endswith("Pipeline"):
        found = ask(target)
        results["pickled"] = same_when_pickled(found)
        results["one class"] = torch.tensor(found is getattr(pipelines, target.qualname))
    with TemporaryDirectory() as folder:
        save(testbed, folder)
        asked: dict[str, tuple[str, Any, dict[str, Any]]] = {
            "answer": ("text2text-generation", TEXTS[0], {"max_new_tokens": 6}),
            "answers": ("text2text-generation", TEXTS, {"max_new_tokens": 5}),
            "as long as can be": ("text2text-generation", TEXTS[0], {}),
            "several answers": ("text2text-generation", TEXTS[0], {"max_new_tokens": 5, "num_return_sequences": 3}),
            "up to a word": ("text2text-generation", TEXTS[0], {"max_new_tokens": 9, "stop_sequence": "mat"}),
            "summary": ("summarization", TEXTS[0], {"max_new_tokens": 8}),
            "summaries": ("summarization", TEXTS, {"batch_size": 2, "truncation": True, "max_new_tokens": 7}),
            "translation": ("translation_en_to_fr", TEXTS, {"max_new_tokens": 8}),
            "some translation": ("translation", TEXTS[0], {"max_new_tokens": 7}),
            "another language": ("translation_en_to_de", TEXTS[0], {"max_new_tokens": 4}),
        }
        for key, (task, texts, options) in asked.items():
            run = pipeline(task, model=folder, device="cpu")
            results[f"{key}: tokens"] = tokens_of(run(texts, return_tensors=True, **options))
            results[key] = words(str(run(texts, **options)))
            results[f"{key}: made by"] = words(type(run).__name__, run.task)
        told = pipeline("translation_en_to_de", model=folder, device="cpu", max_new_tokens=4)
        told.tokenizer._build_translation_inputs = lambda text, src_lang, tgt_lang, **how: told.tokenizer(
            f"{src_lang} {tgt_lang} : {text}", return_tensors=how["return_tensors"]
        )
        results["languages of the task"] = words(str(told(TEXTS[1])))
        results["languages of the call"] = words(str(told(TEXTS[1], src_lang="de", tgt_lang="fr")))
    return results


def save(testbed: Testbed, folder: str) -> None:
    """Write the model and its tokenizer to a folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    core = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate([*SPECIAL, *WORDS])}, unk_token="<unk>")
    )
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    inputs = {"model_input_names": ["input_ids", "attention_mask"]}
    PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=32, **special, **inputs).save_pretrained(folder)
    config = T5Config(
        vocab_size=len(SPECIAL) + len(WORDS),
        d_model=32,
        d_kv=16,
        d_ff=48,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        task_specific_params=OF_TASKS,
    )
    testbed.fill(T5ForConditionalGeneration(config), seed=5, scale=2.0).save_pretrained(folder)


def tokens_of(results: Any) -> torch.Tensor:
    """What a pipeline returned, each padded with -1."""
    import torch

    rows = [ids for one in results for key, ids in one.items() if key.endswith("_token_ids")]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
