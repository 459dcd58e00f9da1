"""Tokenizers that are made from files have an empty vocabulary, or cannot be made.

Symptom   Silent: with ``BertTokenizer(vocab_file="vocab.txt")`` and ``GPT2Tokenizer(vocab_file=…, merges_file=…)``
          every word is unknown, or text has no tokens. ``T5Tokenizer("spiece.model")`` and
          ``LlamaTokenizer("tokenizer.model")`` raise a TypeError or a ValueError about their arguments.
Cause     The arguments are called ``vocab`` and ``merges`` now. ``**kwargs`` takes the old names without a word, and a
          file of SentencePiece is read by ``from_pretrained`` only.
Releases  5.0.0 and later
Upstream  by design (the constructors take what ``from_pretrained`` has read)
Here      The constructor reads the files as ``from_pretrained`` of the same release does. Classes to which the release
          does not give the ids of 4.57.6, even by ``from_pretrained``, are left alone for files of SentencePiece. So
          are subclasses with methods of their own. A program that adds the words of the file itself, with
          ``add_tokens``, gets the ids of the file.
"""

from __future__ import annotations

import ast
import inspect
import os
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

_OTHER = "the release does not read its files as 4.57.6 did, or 4.57.6 did not make it from files"
_EXEMPT = """
barthez code_llama cohere gemma gpt_neox herbert layoutlmv2 layoutxlm luke nllb pegasus qwen3_5 reformer rembert
seamless_m4t siglip2 tipsv2 udop videoprism xglm xlnet
"""

FIX = Fix(
    title="Tokenizers made with vocab_file= know no word, and cannot be made from a file of SentencePiece",
    kind="silent",
    everyone="only where the release would make a tokenizer without a vocabulary",
    exempt={f"transformers.models.{name}.tokenization_{name}:*.__init__": _OTHER for name in _EXEMPT.split()},
    errors=("TypeError: …Can't extract `str` to `Vec`",),
)

_WORDS = """
bert:Bert clip:CLIP codegen:CodeGen deberta:Deberta funnel:Funnel gpt2:GPT2 mpnet:MPNet openai:OpenAIGPT qwen2:Qwen2
roberta:Roberta splinter:Splinter whisper:Whisper
"""
_PIECES = "albert:Albert big_bird:BigBird deberta_v2:DebertaV2 llama:Llama mbart:MBart mbart50:MBart50 t5:T5"
_LATER = {"xlm_roberta:XLMRoberta": ">=5.3.0"}
_FILES = ("vocab_file", "merges_file")
_OTHERS = ("tokenizer_object", "tokenizer_file", "gguf_file")


def _constructors(classes: str) -> list[str]:
    entries = [entry.partition(":") for entry in classes.split()]
    return [f"transformers.models.{name}.tokenization_{name}:{kind}Tokenizer.__init__" for name, _, kind in entries]


@FIX.wraps(
    *((constructor, ">=5.0.0") for constructor in _constructors(_WORDS + _PIECES)),
    *((_constructors(entry)[0], releases) for entry, releases in _LATER.items()),
)
def from_files(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around a constructor that takes a vocabulary."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if "vocab_file" in kwargs or (args and _is_of_pieces(args[0])):
            args, kwargs = read_files(original, type(self), args, kwargs)
        original(self, *args, **kwargs)

    return __init__


@FIX.recognises
def is_broken(constructor: ast.AST) -> bool:
    """Whether a constructor takes a vocabulary first, any keyword, and makes a tokenizer of them."""
    if not isinstance(constructor, ast.FunctionDef) or constructor.args.kwarg is None:
        return False
    first = [argument.arg for argument in constructor.args.args][1:2]
    made = occurs("self._tokenizer = Tokenizer(__ANY)", constructor)
    return first == ["vocab"] and made and not occurs(_WITH_ONE_END, constructor)


_WITH_ONE_END = '[str(bos_token), "$A", str(eos_token), "$B", str(eos_token)]'
"""How XLM-RoBERTa of 5.0 to 5.2 puts two texts together, if no tokenizer.json says it: with an end less than 4.57.6."""


def read_files(
    original: Callable[..., Any], cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with a vocabulary in the place of its files; the same if the release can read them, or nobody can.

    Args:
        original: the constructor.
        cls: class of the tokenizer.
        args: positional arguments.
        kwargs: keyword arguments.
    """
    names = [*inspect.signature(original).parameters][1:]
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) > len(names) or any(given.get(name) is not None for name in _OTHERS):
        return args, kwargs
    if _is_of_pieces(given.get("vocab")):
        if any(scope.is_handled_around(FIX.id, error) for error in (TypeError, ValueError)):
            return args, kwargs
        given["vocab_file"] = given.pop("vocab")
    if given.get("vocab") is not None or not can_read(cls, given):
        return args, kwargs
    given.update({name: os.fspath(given[name]) for name in _FILES if given.get(name) is not None})
    if any(kind.__name__ == "LlamaTokenizer" for kind in cls.__mro__):
        given.setdefault("add_bos_token", True)  # as its documentation says, and in 4.57.6
    try:
        read = cls.convert_to_native_format(**given)
    except Exception:  # whatever a file of another kind, or a missing package, leads to
        return args, kwargs
    return ((), read) if read.get("vocab") is not None else (args, kwargs)


def can_read(cls: Any, given: dict[str, Any]) -> bool:
    """Whether the release can read the files of a tokenizer as 4.57.6 does.

    Args:
        cls: its class.
        given: the arguments of its constructor.
    """
    files = [given.get(name) for name in _FILES]
    if not all(file is None or _is_file(file) for file in files) or files[0] is None:
        return False
    for kind in cls.__mro__:
        if scope.was_written_in("transformers", kind):
            made = cls.model.__name__ if cls.model is not None else ""
            if str(files[0]).endswith(".model"):
                return kind.__name__ in _OF_PIECES
            return made == "WordPiece" or (made == "BPE" and files[1] is not None)
        if any(inspect.isroutine(value) for name, value in vars(kind).items() if name != "__init__"):
            return False
    return False


_OF_PIECES = {f"{entry.partition(':')[2]}Tokenizer" for entry in [*_PIECES.split(), *_LATER]}


def _is_of_pieces(value: Any) -> bool:
    return _is_file(value) and str(value).endswith(".model")


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and os.path.isfile(value)
