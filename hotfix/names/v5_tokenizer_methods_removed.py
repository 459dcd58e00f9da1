"""Tokenizers no longer have the methods that work on token ids, nor those that encode target texts.

Symptom   ``AttributeError: XLMRobertaTokenizer has no attribute prepare_for_model`` from FlagEmbedding's rerankers, and
          the same of ``build_inputs_with_special_tokens``, ``create_token_type_ids_from_sequences``,
          ``truncate_sequences``, ``as_target_tokenizer``, ``prepare_seq2seq_batch``, ``sanitize_special_tokens``,
          ``ids_to_tokens`` and ``_convert_token_to_id``; ``NotImplementedError: BertTokenizer does not implement
          get_special_tokens_mask for non-formatted sequences``; ``AttributeError`` for ``words()`` of a batch.
Cause     Fast tokenizers lost them, and the classes in Python, which had some of them, became fast tokenizers.
Releases  5.0.0 and later
Upstream  not put back
Here      The results of 4.57.6. Which special tokens go where is a table by class, since the classes differed, and some
          of them from what calling the tokenizer adds. There is an error with an explanation for a class without a row,
          where a class in Python and the fast one of 4.57.6 had different results (Llama's segments with a first token,
          a text of T5 that ends already), where the class in the tokenizer's file is another one, and for MBart's
          ``prepare_seq2seq_batch``, which had other arguments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple, Optional

from hotfix.fix import Fix
from hotfix.names.refusing import Gone
from hotfix.patching import scope

_OF_IDS = (
    "prepare_for_model",
    "build_inputs_with_special_tokens",
    "create_token_type_ids_from_sequences",
    "truncate_sequences",
)
_OF_TEXTS = ("as_target_tokenizer", "prepare_seq2seq_batch", "sanitize_special_tokens")
_OF_WORDS = ("_convert_token_to_id", "ids_to_tokens")
_NO_MASK = "NotImplementedError: …Tokenizer… does not implement get_special_tokens_mask for non-formatted sequences"

FIX = Fix(
    title="AttributeError: XLMRobertaTokenizer has no attribute prepare_for_model",
    kind="removed-api",
    group="removed-names",
    prefilter="get_special_tokens_mask",
    errors=(
        *(f"AttributeError: …Tokenizer… has no attribute {name}" for name in (*_OF_IDS, *_OF_TEXTS, *_OF_WORDS)),
        _NO_MASK,
    ),
)

LACKING = ">=5.0.0"
BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"
FAST = "transformers.tokenization_utils_tokenizers:TokenizersBackend"


class Kind(NamedTuple):
    """Where classes put special tokens.

    A layout has the parts for one text, a bar, and those for two. A part is a text, ``A`` or ``B``, or a special token;
    with ``?`` if the tokenizer's setting says so, with ``*`` if there is such a token, with ``!`` unless the text ends
    with it already. A last character is the segment, if it is not 0.

    Attributes:
        inputs: the layout; a second one is that of the class in Python.
        segments: the same for the segments.
        masks: whether a class of 4.57.6 said which tokens are special.
    """

    inputs: tuple[str, ...]
    segments: tuple[str, ...]
    masks: bool = True


_SEGMENTS = ("cls* A sep* | cls* A sep* B1 sep*1",)
_ONE = ("cls A sep | cls A sep B sep",)
_TWO = ("cls A sep | cls A sep sep B sep",)
_CLIP = ("bos A eos | bos A eos eos B eos",)
_ASKED = ("bos? A eos? | bos? A eos? bos? B eos?",)
_LANGUAGE = ("prefix A suffix | prefix A B suffix",)
_BARE = ("A | A B",)
_T5 = ("A eos | A eos B eos",)
_XGLM = ("sep A | sep A sep sep B",)

_GENERIC = "TokenizersBackend"
_OTHERS = ("PreTrainedTokenizer", "PreTrainedTokenizerFast")
_KINDS: dict[str, Kind] = {
    "AlbertTokenizer BertTokenizer BigBirdTokenizer ConvBertTokenizer DPRContextEncoderTokenizer "
    "DPRQuestionEncoderTokenizer DebertaTokenizer DebertaV2Tokenizer DistilBertTokenizer ElectraTokenizer "
    "FNetTokenizer LayoutLMTokenizer MobileBertTokenizer RemBertTokenizer SqueezeBertTokenizer": Kind(_ONE, _SEGMENTS),
    "BarthezTokenizer CamembertTokenizer XLMRobertaTokenizer": Kind(_TWO, _TWO),
    "BartTokenizer LEDTokenizer LongformerTokenizer MPNetTokenizer RobertaTokenizer": Kind(_CLIP + _TWO, _TWO),
    "CLIPTokenizer": Kind(_CLIP, _CLIP),
    "GPTNeoXTokenizer": Kind(_ASKED, _SEGMENTS),
    "GPT2Tokenizer": Kind((*_BARE, "bos? A | bos? A bos? B"), _SEGMENTS),
    "GemmaTokenizer LlamaTokenizer": Kind(_ASKED, (*_SEGMENTS, "bos? A eos? | bos? A eos? bos?1 B1 eos?1")),
    "MBart50Tokenizer": Kind(_LANGUAGE, _SEGMENTS),
    "MBartTokenizer NllbTokenizer": Kind(_LANGUAGE, _TWO),
    "PegasusTokenizer": Kind(("A eos | A B eos",), _SEGMENTS, masks=False),
    _GENERIC: Kind(_BARE, _SEGMENTS, masks=False),
    "Qwen2Tokenizer": Kind(_BARE, _SEGMENTS),
    "T5Tokenizer": Kind((*_T5, "A eos! | A eos! B eos!"), _T5),
    "XGLMTokenizer": Kind(_XGLM, _XGLM),
}
KINDS = {name: kind for names, kind in _KINDS.items() for name in names.split()}

_DEFAULTS = {"add_bos_token": dict.fromkeys(("GemmaTokenizer", "LlamaTokenizer"), True)}
"""Settings of classes whose file does not have them; the others add nothing."""

SEGMENTED = {"AlbertTokenizer", "RemBertTokenizer", _GENERIC}
"""Classes that returned token_type_ids by default, and no longer do."""


# ---------------------------------------------------------------------------------------------------------------------
# Numbers of tokens.


@FIX.adds((f"{FAST}.build_inputs_with_special_tokens", LACKING))
def build_inputs_with_special_tokens(self: Any, token_ids_0: Any, token_ids_1: Any = None) -> Any:
    """One or two lists of tokens, with the special tokens.

    Args:
        self: the tokenizer.
        token_ids_0: the numbers of the tokens of the first text.
        token_ids_1: those of the second.

    Raises:
        Gone: it is not known what 4.57.6 did.
    """
    name, kind = _kind(self)
    texts = {"A": token_ids_0, "B": token_ids_1}
    results = []
    for layout in kind.inputs:
        parts = [_tokens(self, part, texts) for part in _parts(layout, token_ids_1)]
        results.append(parts[0] if len(parts) == 1 else [number for part in parts for number in part])
    if any(result != results[0] for result in results):
        raise _unknown(name, "the class in Python and the fast one of 4.57.6 did not agree on these tokens")
    return results[0]


@FIX.adds((f"{FAST}.create_token_type_ids_from_sequences", LACKING))
def create_token_type_ids_from_sequences(self: Any, token_ids_0: Any, token_ids_1: Any = None) -> list[int]:
    """The segment of each token of one or two texts with their special tokens.

    Args:
        self: the tokenizer.
        token_ids_0: the numbers of the tokens of the first text.
        token_ids_1: those of the second.

    Raises:
        Gone: it is not known what 4.57.6 did.
    """
    name, kind = _kind(self)
    texts = {"A": token_ids_0, "B": token_ids_1}
    results = []
    for layout in kind.segments:
        parts = _parts(layout, token_ids_1)
        results.append([int(part[2] or 0) for part in parts for _ in _tokens(self, part, texts)])
    if any(result != results[0] for result in results):
        raise _unknown(name, "the class in Python and the fast one of 4.57.6 did not agree on the segments")
    return results[0]


@FIX.wraps((f"{BASE}.get_special_tokens_mask", LACKING), on_error=(_NO_MASK,))
def masked(original: Any) -> Any:
    """After the error: the mask of the class in Python of 4.57.6."""

    def get_special_tokens_mask(
        self: Any, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> Any:
        kind = _known(self)
        if kind is None or not kind.masks or already_has_special_tokens:
            return original(self, token_ids_0, token_ids_1, already_has_special_tokens)
        texts = {"A": token_ids_0, "B": token_ids_1}
        parts = _parts(kind.inputs[-1].replace("!", ""), token_ids_1)
        return [int(part[0] not in texts) for part in parts for _ in _tokens(self, part, texts)]

    return get_special_tokens_mask


@FIX.adds((f"{FAST}.truncate_sequences", LACKING))
def truncate_sequences(
    self: Any,
    ids: Any,
    pair_ids: Any = None,
    num_tokens_to_remove: int = 0,
    truncation_strategy: Any = "longest_first",
    stride: int = 0,
) -> tuple[Any, Any, Any]:
    """Shorten one or two texts.

    Args:
        self: the tokenizer.
        ids: the numbers of the tokens of the first text.
        pair_ids: those of the second.
        num_tokens_to_remove: how many go.
        truncation_strategy: which text is shortened.
        stride: how many tokens that stay are returned with those that go.

    Returns:
        The first text, the second, and the tokens that went; of two texts shortened by turns, none.
    """
    count = num_tokens_to_remove
    if count <= 0:
        return ids, pair_ids, []
    which = _base().TruncationStrategy(getattr(truncation_strategy, "value", truncation_strategy)).value
    side = self.truncation_side
    if side not in ("left", "right") and which != "do_not_truncate":
        raise ValueError(f"truncation_side is {side!r}, and must be 'left' or 'right'")

    def without(text: Any, number: int) -> Any:
        return text if number == 0 else text[number:] if side == "left" else text[:-number]

    if which == "longest_first" and pair_ids is not None:
        ahead = len(ids) - len(pair_ids)
        alone = min(abs(ahead), count)
        half = (count - alone) // 2
        others = count - alone - half
        first, second = (alone + half, others) if ahead > 0 else (half, alone + others)
        return without(ids, first), without(pair_ids, second), []
    is_first = which in ("only_first", "longest_first")
    text = ids if is_first else pair_ids
    if which == "do_not_truncate" or text is None:
        return ids, pair_ids, []
    if len(text) <= count:
        number = "first" if is_first else "second"
        _log().error(f"The {number} text has {len(text)} tokens, and cannot be shortened by {count}.")
        return ids, pair_ids, []
    window = min(len(text), stride + count)
    gone = text[:window] if side == "left" else text[-window:]
    return (without(ids, count), pair_ids, gone) if is_first else (ids, without(pair_ids, count), gone)


@FIX.adds((f"{FAST}.prepare_for_model", LACKING))
def prepare_for_model(
    self: Any,
    ids: Any,
    pair_ids: Any = None,
    add_special_tokens: bool = True,
    padding: Any = False,
    truncation: Any = None,
    max_length: Optional[int] = None,
    stride: int = 0,
    pad_to_multiple_of: Optional[int] = None,
    padding_side: Optional[str] = None,
    return_tensors: Any = None,
    return_token_type_ids: Optional[bool] = None,
    return_attention_mask: Optional[bool] = None,
    return_overflowing_tokens: bool = False,
    return_special_tokens_mask: bool = False,
    return_offsets_mapping: bool = False,
    return_length: bool = False,
    verbose: bool = True,
    prepend_batch_axis: bool = False,
    **kwargs: Any,
) -> Any:
    """What calling the tokenizer returns, for numbers of tokens.

    Args:
        self: the tokenizer.
        ids: the numbers of the tokens of the first text.
        pair_ids: those of the second.
        add_special_tokens: whether the model's special tokens are added.
        padding: as in a call.
        truncation: as in a call.
        max_length: as in a call.
        stride: see `truncate_sequences`.
        pad_to_multiple_of: as in a call.
        padding_side: as in a call.
        return_tensors: as in a call.
        return_token_type_ids: as in a call.
        return_attention_mask: as in a call.
        return_overflowing_tokens: whether the tokens that went are returned.
        return_special_tokens_mask: as in a call.
        return_offsets_mapping: without effect, as it was.
        return_length: as in a call.
        verbose: whether a text that is too long is logged.
        prepend_batch_axis: whether tensors are a batch of one.
        kwargs: older names of the arguments.

    Raises:
        ValueError: the arguments contradict each other.
    """
    padded, truncated, max_length, _ = self._get_padding_truncation_strategies(
        padding=padding,
        truncation=truncation,
        max_length=max_length,
        pad_to_multiple_of=pad_to_multiple_of,
        verbose=verbose,
        **kwargs,
    )
    is_pair = pair_ids is not None
    if return_token_type_ids and not add_special_tokens:
        raise ValueError("return_token_type_ids=True needs add_special_tokens=True: there are no segments without.")
    if return_overflowing_tokens and is_pair and truncated.value == "longest_first":
        raise ValueError("Two texts shortened by turns return no overflowing tokens: use only_first or only_second.")
    names = self.model_input_names
    segments = _has_segments(self) if return_token_type_ids is None else return_token_type_ids
    mask = "attention_mask" in names if return_attention_mask is None else return_attention_mask
    special = _number_of_special_tokens(self, is_pair) if add_special_tokens else 0
    length = len(ids) + len(pair_ids if is_pair else ()) + special
    gone: Any = []
    if truncated.value != "do_not_truncate" and max_length and length > max_length:
        ids, pair_ids, gone = self.truncate_sequences(ids, pair_ids, length - max_length, truncated, stride)
    made: dict[str, Any] = {}
    if return_overflowing_tokens:
        made.update(overflowing_tokens=gone, num_truncated_tokens=length - max_length)
    texts = (ids, pair_ids)
    plain = ids + pair_ids if is_pair else ids
    made["input_ids"] = self.build_inputs_with_special_tokens(*texts) if add_special_tokens else plain
    if segments:
        zeros = [0] * len(plain)
        made["token_type_ids"] = self.create_token_type_ids_from_sequences(*texts) if add_special_tokens else zeros
    if return_special_tokens_mask:
        zeros = [0] * len(plain)
        made["special_tokens_mask"] = self.get_special_tokens_mask(*texts) if add_special_tokens else zeros
    self._eventual_warn_about_too_long_sequence(made["input_ids"], max_length, verbose)
    if mask or padded.value != "do_not_pad":
        made = self.pad(
            made,
            padding=padded.value,
            max_length=max_length,
            pad_to_multiple_of=pad_to_multiple_of,
            padding_side=padding_side,
            return_attention_mask=mask,
        )
    if return_length:
        made["length"] = len(made["input_ids"])
    return _base().BatchEncoding(made, tensor_type=return_tensors, prepend_batch_axis=prepend_batch_axis)


# ---------------------------------------------------------------------------------------------------------------------
# Texts.


@FIX.adds_made((f"{BASE}.as_target_tokenizer", LACKING))
def as_target_tokenizer(module: Any) -> Any:
    """A context in which the tokenizer encodes the texts of a target."""

    @contextmanager
    def as_target_tokenizer(self: Any) -> Iterator[None]:
        """A context in which the tokenizer encodes the texts of a target."""
        _switch(self, "_switch_to_target_mode")
        self._in_target_context_manager = True
        yield  # an error in the context leaves the tokenizer as it is, as it did
        self._in_target_context_manager = False
        _switch(self, "_switch_to_input_mode")

    return as_target_tokenizer


@FIX.adds((f"{BASE}.prepare_seq2seq_batch", LACKING))
def prepare_seq2seq_batch(
    self: Any,
    src_texts: Any,
    tgt_texts: Any = None,
    max_length: Optional[int] = None,
    max_target_length: Optional[int] = None,
    padding: Any = "longest",
    return_tensors: Any = None,
    truncation: Any = True,
    **kwargs: Any,
) -> Any:
    """Encode texts, and others as their labels.

    Args:
        self: the tokenizer.
        src_texts: the texts.
        tgt_texts: those of the labels.
        max_length: the largest number of tokens; by default, that of the model.
        max_target_length: the same for the labels; by default, the same number.
        padding: as in a call.
        return_tensors: as in a call.
        truncation: as in a call.
        kwargs: more arguments of the call. The two languages have no effect.

    Raises:
        Gone: the class had other arguments.
    """
    if any(kind.__name__ == "MBartTokenizer" for kind in type(self).__mro__):
        raise Gone("MBartTokenizer had a prepare_seq2seq_batch of its own. Set src_lang, and call with text_target.")
    more = {name: value for name, value in kwargs.items() if name not in ("src_lang", "tgt_lang")}
    more.update(add_special_tokens=True, return_tensors=return_tensors, padding=padding, truncation=truncation)
    if "token_type_ids" not in self.model_input_names and _has_segments(self):
        more.setdefault("return_token_type_ids", True)
    longest = self.model_max_length if max_length is None else max_length
    encoded = self(src_texts, max_length=longest, **more)
    if tgt_texts is not None:
        longest = longest if max_target_length is None else max_target_length
        with self.as_target_tokenizer():
            encoded["labels"] = self(tgt_texts, max_length=longest, **more)["input_ids"]
    return encoded


@FIX.adds((f"{BASE}.sanitize_special_tokens", LACKING))
def sanitize_special_tokens(self: Any) -> int:
    """Add the special tokens that the vocabulary lacks, and return their number."""
    values = [*self._special_tokens_map.values(), *self._extra_special_tokens]
    number: int = self.add_tokens([value for value in values if value], special_tokens=True)
    return number


@FIX.adds(("transformers.tokenization_utils_base:BatchEncoding.words", LACKING))
def words(self: Any, batch_index: int = 0) -> list[Optional[int]]:
    """The number of the word of each token, as ``word_ids``.

    Args:
        self: the batch.
        batch_index: of the text.

    Raises:
        ValueError: the tokenizer is written in Python.
    """
    if not self.encodings:
        raise ValueError("words() needs a fast tokenizer.")
    numbers: list[Optional[int]] = self.word_ids(batch_index)
    return numbers


_BERT = "transformers.models.bert.tokenization_bert:BertTokenizer"


@FIX.adds(
    *(
        (f"{place}._convert_token_to_id", LACKING)
        for place in (
            _BERT,
            "transformers.models.gpt2.tokenization_gpt2:GPT2Tokenizer",
            "transformers.models.roberta.tokenization_roberta:RobertaTokenizer",
        )
    )
)
def _convert_token_to_id(self: Any, token: str) -> Optional[int]:
    """The number of a token in the vocabulary without added tokens, or that of the unknown token."""
    model = self._tokenizer.model
    number: Optional[int] = model.token_to_id(token)
    return model.token_to_id(str(self.unk_token)) if number is None else number


@FIX.adds_made((f"{_BERT}.ids_to_tokens", LACKING), of_instances=True)
def ids_to_tokens(module: Any) -> property:
    """The tokens by number."""

    def ids_to_tokens(self: Any) -> dict[int, str]:
        """The tokens of the vocabulary by number, without added ones."""
        from collections import OrderedDict

        known = self._tokenizer.get_vocab(with_added_tokens=False)
        return OrderedDict(sorted((number, token) for token, number in known.items()))

    return property(ids_to_tokens)


# ---------------------------------------------------------------------------------------------------------------------


def _base() -> Any:
    return import_module("transformers.tokenization_utils_base")


def _log() -> Any:
    return import_module("transformers.utils.logging").get_logger("transformers.tokenization_utils_base")


def _switch(tokenizer: Any, name: str) -> None:
    switch = getattr(tokenizer, name, None)
    if switch is not None:
        switch()


def _parts(layout: str, second: Any) -> list[tuple[str, str, str]]:
    """The parts of a layout: a name, its sign, and the segment."""
    chosen = layout.split("|")[second is not None].split()
    parsed = (re.fullmatch(r"([a-z]+|A|B)([?*!]?)(1?)", part) for part in chosen)
    return [match.groups() for match in parsed if match]  # type: ignore[misc]


def _tokens(tokenizer: Any, part: tuple[str, str, str], texts: dict[str, Any]) -> Any:
    """The numbers of a part."""
    name, sign, _ = part
    if name in texts:
        return texts[name]
    if name in ("prefix", "suffix"):
        return getattr(tokenizer, f"{name}_tokens")
    if sign == "?" and not _adds(tokenizer, name):
        return []
    token = tokenizer._special_tokens_map.get(f"{name}_token")
    number = None if token is None else tokenizer.convert_tokens_to_ids(str(token))
    return [] if sign == "*" and number is None else [number]


def _number_of_special_tokens(tokenizer: Any, is_pair: bool) -> int:
    """How many there are. What calling the tokenizer adds between two texts is not always what it was in 4.57.6."""
    kind, own = _known(tokenizer), "build_inputs_with_special_tokens"
    others = (base for base in type(tokenizer).__mro__ if not scope.was_written_in("transformers", base))
    if kind is None or kind.inputs[0] in _BARE or any(own in vars(base) for base in others):
        number: int = tokenizer.num_special_tokens_to_add(pair=is_pair)
        return number
    return len(tokenizer.build_inputs_with_special_tokens([], [] if is_pair else None))


def _adds(tokenizer: Any, name: str) -> bool:
    """Whether a class added a first or a last token by its setting.

    Args:
        tokenizer: the tokenizer.
        name: ``bos`` or ``eos``.

    Raises:
        Gone: the setting is not what calling the tokenizer adds.
    """
    path = str(getattr(tokenizer, "name_or_path", "") or "")
    setting = f"add_{name}_token"
    adds: Any = _file(path).get(setting, _DEFAULTS.get(setting, {}).get(_library(type(tokenizer)), False))
    if not path:
        adds = getattr(tokenizer, setting)
    number = tokenizer.convert_tokens_to_ids(str(tokenizer._special_tokens_map.get(f"{name}_token")))
    added = tokenizer._tokenizer.encode("", add_special_tokens=True).ids
    if bool(adds) != (number in added):
        raise _unknown(type(tokenizer).__name__, f"it does not add {name}_token as its settings say")
    return bool(adds)


def _kind(tokenizer: Any) -> tuple[str, Kind]:
    kind, name = _known(tokenizer), type(tokenizer).__name__
    if kind is None:
        raise _unknown(name, "its class in 4.57.6 is not known, or is not that of its file")
    return name, kind


def _unknown(name: str, why: str) -> Gone:
    return Gone(
        f"{name} has lost this method, and hotfix cannot say what it returned: {why}. Call the tokenizer with texts, "
        "or add the special tokens yourself and pass add_special_tokens=False."
    )


def _known(tokenizer: Any) -> Optional[Kind]:
    """Where a tokenizer put special tokens in 4.57.6; None if that is not known."""
    kind: Any = type(tokenizer)
    return _of(kind, str(getattr(tokenizer, "name_or_path", "") or ""))


@lru_cache(maxsize=64)
def _of(kind: type, path: str) -> Optional[Kind]:
    name = _library(kind)
    if not scope.was_written_in("transformers", kind) or not path:
        return KINDS.get(name)
    written = str(_file(path).get("tokenizer_class") or "")
    if not written:
        return None if name == _GENERIC else KINDS.get(name)
    return KINDS.get(name) if KINDS.get(name) == KINDS.get(_plain(written)) else None


def _plain(name: str) -> str:
    """The name that a class has in the table."""
    return _GENERIC if name in _OTHERS else re.sub("Fast$", "", name)


def _library(kind: type) -> str:
    """The name in the table of the library's class that a class is or extends."""
    names = (base.__name__ for base in kind.__mro__ if scope.was_written_in("transformers", base))
    return _plain(next(names, ""))


@lru_cache(maxsize=64)
def _file(path: str) -> dict[str, Any]:
    """The settings in the file of a tokenizer, or nothing."""
    auto = import_module("transformers.models.auto.tokenization_auto")
    try:
        return dict(auto.get_tokenizer_config(path, local_files_only=True)) if path else {}
    except Exception:
        return {}


def _has_segments(tokenizer: Any) -> bool:
    """Whether a tokenizer returned token_type_ids by default in 4.57.6."""
    names = tokenizer.model_input_names
    kind: Any = type(tokenizer)
    library = next(base for base in kind.__mro__ if scope.was_written_in("transformers", base))
    is_given = "model_input_names" in tokenizer.init_kwargs or list(names) != list(library.model_input_names)
    if "token_type_ids" in names or is_given:
        return "token_type_ids" in names
    if _known(tokenizer) is None:
        raise _unknown(kind.__name__, "it depends on its class in 4.57.6 whether there were segments")
    return _plain(library.__name__) in SEGMENTED


@FIX.recognises
def is_broken(function: ast.AST) -> bool:
    """A mask of special tokens that is given for finished texts only."""
    return (
        isinstance(function, ast.FunctionDef)
        and function.name == "get_special_tokens_mask"
        and "does not implement get_special_tokens_mask" in ast.unparse(function)
    )
