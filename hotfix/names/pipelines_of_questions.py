"""The pipeline that finds the answer to a question in a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from hotfix.names.pipelines_of_text import given

LONGEST = 384  # tokens of a question and a piece of its context
OVERLAP = 128  # tokens of two pieces


class QuestionAnswering:
    """The base before `ChunkPipeline`, with the methods that every such pipeline has."""

    _load_tokenizer = True
    _load_processor = _load_feature_extractor = _load_image_processor = _load_video_processor = False

    default_input_names = "question,context"

    def __init__(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        from transformers.models.auto.modeling_auto import MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES

        call: Any = super()
        call.__init__(model, *args, **kwargs)
        self.check_model_type(MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES)
        if not self.tokenizer.is_fast:
            raise ValueError(
                f"{type(self.tokenizer).__name__} does not tell where its tokens stand in a text, which question "
                "answering needs: take the fast tokenizer of the model, or transformers before 5.3.0"
            )

    def _sanitize_parameters(
        self,
        padding: Any = None,
        doc_stride: Optional[int] = None,
        max_question_len: Optional[int] = None,
        max_seq_len: Optional[int] = None,
        top_k: Optional[int] = None,
        max_answer_len: Optional[int] = None,
        handle_impossible_answer: Optional[bool] = None,
        align_to_words: Optional[bool] = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """The arguments for cutting the context into pieces, for the model, and for choosing the answers."""
        counts = given(top_k=top_k, max_answer_len=max_answer_len)
        for name, value in counts.items():
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")
        reading = given(
            padding=padding, doc_stride=doc_stride, max_question_len=max_question_len, max_seq_len=max_seq_len
        )
        choosing = given(handle_impossible_answer=handle_impossible_answer, align_to_words=align_to_words)
        return reading, {}, {**counts, **choosing}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Find answers, and return for each of them its text, its place in the context and its score.

        Args:
            args: a dictionary with ``question`` and ``context``, or a list of them; or a question and its context.
            kwargs: ``question`` and ``context``, each a text or a list; ``top_k`` (1), ``doc_stride`` (128),
                ``max_answer_len`` (15), ``max_seq_len`` (384), ``handle_impossible_answer`` (False),
                ``align_to_words`` (True).
        """
        samples = _samples(args, kwargs)
        call: Any = super()
        return call.__call__(samples[0] if len(samples) == 1 else samples, **kwargs)

    def preprocess(
        self: Any,
        sample: Any,
        padding: str = "do_not_pad",
        doc_stride: Optional[int] = None,
        max_question_len: int = 64,
        max_seq_len: Optional[int] = None,
    ) -> Iterator[dict[str, Any]]:
        """Tokens of the question and of each piece of the context, of shape (1, length)."""
        import torch

        longest = max_seq_len or min(self.tokenizer.model_max_length, LONGEST)
        overlap = min(longest // 2, OVERLAP) if doc_stride is None else doc_stride
        if overlap > longest:
            raise ValueError(f"`doc_stride` ({overlap}) is larger than `max_seq_len` ({longest})")
        texts = sample["question"], sample["context"]
        part = self._part_of_context()
        tokens = self.tokenizer(
            *(texts if part else reversed(texts)),
            padding=padding,
            truncation="only_second" if part else "only_first",
            max_length=longest,
            stride=overlap,
            return_token_type_ids=True,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        pieces = len(tokens["input_ids"])
        for number in range(pieces):
            ids, none = tokens["input_ids"][number], self.tokenizer.cls_token_id
            kept = [token == none or of == part for token, of in zip(ids, tokens.sequence_ids(number))]
            given = {
                name: torch.tensor(tokens[name][number]).unsqueeze(0)
                for name in {*self.tokenizer.model_input_names, "token_type_ids"}
                if name in tokens
            }
            yield {
                "is_last": number == pieces - 1,
                "context": texts[1],
                "encoding": tokens[number],
                "none": ids.index(none) if none in ids else 0,  # the token for "there is no answer"
                "p_mask": ~torch.tensor([kept]),  # as what pads a batch calls it
                **given,
            }

    def _part_of_context(self: Any) -> int:
        """Which of the two texts it is."""
        return int(self.tokenizer.padding_side == "right")

    def _forward(self: Any, piece: dict[str, Any]) -> dict[str, Any]:
        import inspect

        takes_more = "use_cache" in inspect.signature(self.model.forward).parameters
        tokens = {name: piece[name] for name in self.tokenizer.model_input_names}
        output = self.model(**tokens, **({"use_cache": False} if takes_more else {}))
        logits = (output["start_logits"], output["end_logits"]) if isinstance(output, dict) else output
        return {**dict(zip(("start", "end"), logits)), **piece}

    def postprocess(
        self: Any,
        pieces: list[dict[str, Any]],
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        max_answer_len: int = 15,
        align_to_words: bool = True,
    ) -> Any:
        """The best answer, or a list of several. Answers of the same words are one, with the sum of their scores."""
        scores: dict[str, dict[str, Any]] = {}
        none = 1.0
        part = self._part_of_context()
        for piece in pieces:
            # The padding that a batch puts in front of a piece.
            padded = 0 if part else piece["input_ids"].shape[-1] - len(piece["encoding"])
            # Some go together when they are extended to whole words.
            result, no_answer = _spans(piece, padded, top_k * 2 + 10 if align_to_words else top_k, max_answer_len)
            none = min(none, no_answer)
            for start, end, score in result:
                begin, finish = _place(piece["encoding"], start - padded, end - padded, part, align_to_words)
                text = piece["context"][begin:finish]
                known = scores.setdefault(text.lower(), {"score": 0.0, "start": begin, "end": finish, "answer": text})
                known["score"] += score
        answers = list(scores.values())
        if handle_impossible_answer:
            answers.append({"score": none, "start": 0, "end": 0, "answer": ""})
        answers = sorted(answers, key=lambda answer: float(answer["score"]), reverse=True)[:top_k]
        return answers[0] if len(answers) == 1 else answers


def _samples(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Dictionaries with a question and its context; takes them out of the keyword arguments."""
    questions, context = kwargs.pop("question", None), kwargs.pop("context", None)
    if len(args) == 2 and all(isinstance(argument, str) for argument in args):
        questions, context = args
    elif args:
        samples = list(args[0]) if len(args) == 1 and not isinstance(args[0], Mapping) else list(args)
        return [_checked(sample) for sample in samples]
    if isinstance(questions, list):
        contexts = context if isinstance(context, list) else [context] * len(questions)
        if len(contexts) != len(questions):
            raise ValueError(f"there are {len(questions)} questions and {len(contexts)} contexts")
        return [_checked({"question": first, "context": other}) for first, other in zip(questions, contexts)]
    return [_checked({"question": questions, "context": context})]


def _checked(sample: Any) -> Any:
    for name in ("question", "context"):
        if not isinstance(sample, Mapping) or name not in sample:
            raise KeyError("a sample is a dictionary with the keys question and context")
        if not sample[name]:
            raise ValueError(f"`{name}` is {'missing' if sample[name] is None else 'empty'}")
    return sample


def _spans(piece: dict[str, Any], padded: int, count: int, longest: int) -> tuple[list[tuple[int, int, float]], float]:
    """The likeliest spans of tokens with their probability, and the probability that there is no answer."""
    import numpy as np

    may_be = ~piece["p_mask"][0].bool()
    if piece.get("attention_mask") is not None:
        may_be &= piece["attention_mask"][0].bool()
    start, end = (_probabilities(piece[name][0].float().numpy(), may_be.numpy()) for name in ("start", "end"))
    at = piece["none"] + padded
    none = float(start[at] * end[at])
    start[at] = end[at] = 0.0  # which is no answer, and not the best one
    both = np.tril(np.triu(np.outer(start, end)), longest - 1)
    best = np.argsort(-both, axis=None, kind="stable")[:count]
    places = zip(*np.unravel_index(best, both.shape))
    return [
        (int(value), int(other), float(both[value, other]))
        for value, other in places
        if may_be[value] and may_be[other]
    ], none


def _probabilities(logits: Any, may_be: Any) -> Any:
    import numpy as np

    logits = np.where(may_be, logits, np.float32(-10000.0))
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _place(encoding: Any, start: int, end: int, part: int, whole_words: bool) -> tuple[int, int]:
    """Where a span of tokens begins and ends in the context, in characters."""
    first, last = encoding.offsets[start][0], encoding.offsets[end][1]
    words = encoding.token_to_word(start), encoding.token_to_word(end)
    if whole_words and None not in words:  # some tokenizers know no words, and no tokenizer those of a special token
        spans = [encoding.word_to_chars(word, part) for word in words]
        if None not in spans:
            return spans[0][0], spans[1][1]
    return first, last
