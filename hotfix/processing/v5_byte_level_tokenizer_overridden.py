"""The class of a tokenizer throws away what its tokenizer.json says: text is cut otherwise than in training.

Symptom   Silent. Ids are not those of 4.x, nor those that the model was trained with. Under Llama's class spaces and
          line breaks vanish ("hello world" is read as "helloworld") and what is decoded is full of "Ġ" (DeepSeek, the
          R1 distillations, any folder that names `LlamaTokenizerFast`); under GPT-2's and GPT-NeoX's numbers and
          punctuation are cut otherwise (Granite, OLMo 2, StableLM). Scores fall: 95 to 47 in GSM8K.
Cause     Of tokenizer.json only the vocabulary, the merges and what is put around a text are handed to the class. The
          class builds the rest (how text is cut before it is merged, and put together again) as its own models have it.
Releases  5.0.0 and later. Upstream routes around the class, by the name of the model at first, for Llama's class by
          what the file says later (`AutoTokenizer`); the class itself, and GPT-2's, are as they were.
Upstream  transformers#44779, transformers#44819, transformers#45488, transformers#45701, transformers#45812,
          transformers#46489, transformers#48206
Here      Where tokenizer.json cuts text at the level of bytes, and in another way than the class that is loaded would,
          what the file says wins, as a whole. The class of the tokenizer stays. A class with a constructor of its own,
          outside of transformers, and a tokenizer object that the caller gives are left alone, and so
          is a class that puts a blank in front of each text because the caller asks for it (``add_prefix_space=True``),
          which the file does not. Whether a blank is put in front stays what the settings say, where tokenizer.json has
          nothing but one step of bytes. Ids are equal to those of 4.57.6, and, without such a setting, to what the
          library `tokenizers` makes of the file.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Ids differ from 4.x, spaces vanish: what tokenizer.json says is replaced by what the tokenizer's class does",
    kind="silent",
    upstream=(
        "transformers#44779",
        "transformers#44819",
        "transformers#45488",
        "transformers#45701",
        "transformers#45812",
        "transformers#46489",
        "transformers#48206",
    ),
    fixed_in="5.4.0 and later, by the name of the model",
    everyone="only for classes whose constructor is the library's own: the new code tests it",
    exempt={
        "transformers.tokenization_utils_fast:PreTrainedTokenizerFast.__init__": (
            "4.x builds the tokenizer from tokenizer.json itself, and hands nothing on to a class"
        ),
    },
)

_CLASS = "transformers.tokenization_utils_tokenizers:TokenizersBackend"

FIX.edits(
    (f"{_CLASS}.convert_to_native_format", ">=5.0.0"),
    old="local_kwargs['vocab'] = vocab",
    new=f"""
        local_kwargs['vocab'] = vocab
        from {__name__} import carry
        carry(cls, local_kwargs, fast_tokenizer_file)
    """,
)
FIX.edits(
    (f"{_CLASS}.__init__", ">=5.0.0"),
    old="tokenizer_object = kwargs.pop('tokenizer_object', None)",
    new=f"""
        tokenizer_object = kwargs.pop('tokenizer_object', None)
        from {__name__} import declared
        tokenizer_object = declared(kwargs, self._tokenizer, tokenizer_object)
    """,
)

_KEY = "_declared_tokenizer"


def carry(cls: type, arguments: dict[str, Any], file: str) -> None:
    """Hand on what a tokenizer.json says as a whole, if it cuts text at the level of bytes.

    Args:
        cls: the tokenizer's class; one whose constructor was not written in transformers gets nothing.
        arguments: of the constructor of the tokenizer's class.
        file: path of tokenizer.json.
    """
    constructor = inspect.getattr_static(cls, "__init__", None)
    if not scope.is_own(FIX.id, constructor):
        return
    before = json.loads(Path(file).read_text(encoding="utf-8")).get("pre_tokenizer")
    if before is not None and "ByteLevel" in _types(before):
        from tokenizers import Tokenizer

        arguments[_KEY] = Tokenizer.from_file(str(file)), _is_asked_for_a_blank(arguments, file)


def declared(arguments: dict[str, Any], built: Any, given: Any = None) -> Any:
    """What tokenizer.json says as a whole, or None where the class has built the same, or nothing was handed on.

    Args:
        arguments: of the constructor; what was handed on is taken out.
        built: the `tokenizers.Tokenizer` that the class has built, or None.
        given: one that the caller has passed, which wins, or None.
    """
    read, is_asked_for_a_blank = arguments.pop(_KEY, (None, False))
    if given is not None or read is None or built is None or _cuts(read) == _cuts(built):
        return given
    if is_asked_for_a_blank and "ByteLevel" in _types(json.loads(built.to_str())["pre_tokenizer"] or {"type": ""}):
        scope.leave_alone(FIX.id, "add_prefix_space is your own, which tokenizer.json does not have")
        return None
    blank, before = arguments.get("add_prefix_space"), read.pre_tokenizer
    if blank is not None and type(before).__name__ == "ByteLevel" and before.add_prefix_space != blank:
        before.add_prefix_space = bool(blank)  # as in 4.57.6: the settings win over tokenizer.json in this alone
        read.pre_tokenizer = before
    return read


def _is_asked_for_a_blank(arguments: Mapping[str, Any], file: str) -> bool:
    """Whether the caller wants a blank in front of each text, which the settings beside tokenizer.json do not say."""
    if arguments.get("add_prefix_space") is not True:
        return False
    try:
        settings = json.loads(Path(file).with_name("tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    return settings.get("add_prefix_space") is not True


def _cuts(tokenizer: Any) -> Any:
    """How a tokenizer cuts text, without what a user may choose: whether a space is put in front."""
    said = json.loads(tokenizer.to_str())
    before = said["pre_tokenizer"]
    pieces = before["pretokenizers"] if before and before["type"] == "Sequence" else [before]
    chosen = ("add_prefix_space", "trim_offsets", "prepend_scheme")
    model = {name: said["model"].get(name) or None for name in ("type", "byte_fallback", "ignore_merges")}
    return [{k: v for k, v in (one or {}).items() if k not in chosen} for one in pieces], said["normalizer"], model


def _types(before: dict[str, Any]) -> list[str]:
    return [before["type"], *(kind for one in before.get("pretokenizers", ()) for kind in _types(one))]
