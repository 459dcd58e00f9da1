"""The proof: a tiny T5 summarizes, translates and answers, and a tiny BERT finds answers, asked in the ways of old."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.names.pipelines_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed

SPECIAL = ["<pad>", "</s>", "<unk>"]
WORDS = ["a", "cat", "sat", "on", "the", "mat", "and", "slept", "summarize", "translate", "en", "fr", "de", ":", "."]
TEXTS = ["a cat sat on the mat .", "the cat slept ."]
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "who",
    "slept",
    "where",
    "the",
    "a",
    "cat",
    "##s",
    "dog",
    "##gy",
    ".",
    "on",
]
PIECES += ["mat", "##tress", "sat", "and", "black", "##ish"]
CONTEXT = "The blackish cats sat on a mattress. a doggy slept, and the cat sat on the mat."
QUESTION = "where sat the cats"
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
    """The result of each task, as tokens and as text."""
    from transformers import pipeline, pipelines

    results = {}
    if target.qualname.endswith("Pipeline"):
        restored = ask(target)
        results["pickled"] = same_when_pickled(restored)
        results["one class"] = torch.tensor(restored is getattr(pipelines, target.qualname))
    if "question" in target.qualname.lower():
        return {**results, **found_answers(testbed)}
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
        translate = pipeline("translation_en_to_de", model=folder, device="cpu", max_new_tokens=4)
        translate.tokenizer._build_translation_inputs = lambda text, src_lang, tgt_lang, **how: translate.tokenizer(
            f"{src_lang} {tgt_lang} : {text}", return_tensors=how["return_tensors"]
        )
        results["languages of the task"] = words(str(translate(TEXTS[1])))
        results["languages of the call"] = words(str(translate(TEXTS[1], src_lang="de", tgt_lang="fr")))
    return results


def found_answers(testbed: Testbed) -> dict[str, torch.Tensor]:
    """Score, place and text of each answer: of one piece of a text and of several, alone and in a batch."""
    from transformers import pipeline

    long = " ".join([CONTEXT] * 3)
    example = {"question": QUESTION, "context": CONTEXT}
    asked: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "best": ((), example),
        "a dictionary": ((example,), {}),
        "several": ((), {**example, "top_k": 4}),
        "parts of words": ((), {**example, "top_k": 4, "align_to_words": False}),
        "short": ((), {**example, "max_answer_len": 1}),
        "none": ((), {**example, "handle_impossible_answer": True, "top_k": 3}),
        "in pieces": ((), {**example, "context": long, "max_seq_len": 22, "doc_stride": 6, "top_k": 3}),
        "of one context": ((), {"question": [QUESTION, "who slept"], "context": CONTEXT}),
        "in a batch": (
            ([example, {**example, "context": long}],),
            {"max_seq_len": 24, "doc_stride": 8, "batch_size": 3},
        ),
        "padded": ((), {**example, "padding": "max_length", "max_seq_len": 48}),
    }
    results = {}
    with TemporaryDirectory() as folder:
        save_bert(testbed, folder)
        run = pipeline("question-answering", model=folder, device="cpu")
        for key, (args, kwargs) in asked.items():
            answers = run(*args, **kwargs)
            rows = answers if isinstance(answers, list) else [answers]
            results[key] = words(*(str([row["start"], row["end"], row["answer"]]) for row in rows))
            results[f"{key}: scores"] = torch.tensor([row["score"] for row in rows], dtype=torch.float64)
    results["made by"] = words(type(run).__name__, run.task)
    return results


def save_bert(testbed: Testbed, folder: str) -> None:
    """Write a model that finds answers, and its tokenizer, to a folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerFast

    core = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=48, **special, **inputs).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(PIECES),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    testbed.fill(BertForQuestionAnswering(config), scale=2.0).save_pretrained(folder)


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
    """The results of a pipeline, each padded with -1."""
    rows = [ids for result in results for key, ids in result.items() if key.endswith("_token_ids")]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
