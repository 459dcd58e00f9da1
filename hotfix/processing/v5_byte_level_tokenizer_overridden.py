"""The class of a tokenizer ignores its tokenizer.json: text is split in another way than in training.

Symptom   Silent. Ids are not those of 4.x and of the training. With Llama's class, spaces and line breaks vanish
          ("hello world" is read as "helloworld") and decoded text is full of "Ġ" (DeepSeek, the R1 distillations, any
          folder that names `LlamaTokenizerFast`). With GPT-2's and GPT-NeoX's, numbers and punctuation are split in
          another way (Granite, OLMo 2, StableLM). Scores fall: 95 to 47 in GSM8K.
Cause     The class gets only the vocabulary, the merges and the special tokens around a text from tokenizer.json. It
          builds the rest (pre-tokenizer and decoder) as for its own models.
Releases  5.0.0 and later. Upstream (`AutoTokenizer`) avoids the class, at first by the name of the model, later for
          Llama's class by the content of the file; the class itself, and GPT-2's, have not changed.
Upstream  transformers#44779, transformers#44819, transformers#45488, transformers#45701, transformers#45812,
          transformers#46489, transformers#48206
Here      If tokenizer.json splits text at the byte level, and in another way than the class would, the whole file takes
          precedence. The class of the tokenizer stays. A class outside of transformers with its own constructor, a
          tokenizer object from the caller, and a byte-level class with the caller's ``add_prefix_space=True``, which
          the file does not have, are left alone. If the pre-tokenizer is a single byte-level step, the setting
          ``add_prefix_space`` still applies. Ids are equal to those of 4.57.6, and, without such a setting, to those of
          the library `tokenizers` for the file.
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
    title="Token ids differ from transformers 4, or spaces vanish: tokenizer.json is ignored in transformers 5",
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
            "4.x builds the tokenizer from tokenizer.json itself, and passes nothing on to a class"
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
        carry(cls, local_kwargs, fast_tokenizer_file, tokenizer_json)
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


def carry(cls: type, arguments: dict[str, Any], file: str, content: Mapping[str, Any]) -> None:
    """Pass the whole tokenizer.json on, if it splits text at the byte level.

    Args:
        cls: the tokenizer's class; one with a constructor from outside of transformers gets nothing.
        arguments: arguments of the constructor.
        file: path of tokenizer.json.
        content: content of the file.
    """
    constructor = inspect.getattr_static(cls, "__init__", None)
    if not scope.is_own(FIX.id, constructor):
        return
    before = content.get("pre_tokenizer")
    if before is not None and "ByteLevel" in _types(before):
        arguments[_KEY] = str(file), _cuts(content), _is_asked_for_a_blank(arguments, file)


def declared(arguments: dict[str, Any], built: Any, given: Any = None) -> Any:
    """The tokenizer of tokenizer.json; None if the class has built the same, or nothing was passed on.

    Args:
        arguments: arguments of the constructor; the tokenizer from the file is removed.
        built: the `tokenizers.Tokenizer` that the class has built, or None.
        given: the caller's tokenizer, which takes precedence, or None.
    """
    file, cuts, is_asked_for_a_blank = arguments.pop(_KEY, ("", None, False))
    if given is not None or not file or built is None:
        return given
    own = _cuts(_content(built))
    if cuts == own:
        return None
    from tokenizers import Tokenizer

    read: Any = Tokenizer.from_file(file)
    if _cuts(_content(read)) == own:  # the file leaves out defaults
        return None
    if is_asked_for_a_blank and "ByteLevel" in _types(_content(built).get("pre_tokenizer") or {"type": ""}):
        scope.leave_alone(FIX.id, "add_prefix_space is your own, which tokenizer.json does not have")
        return None
    blank, before = arguments.get("add_prefix_space"), read.pre_tokenizer
    if blank is not None and type(before).__name__ == "ByteLevel" and before.add_prefix_space != blank:
        before.add_prefix_space = bool(blank)  # as in 4.57.6: only here the settings override tokenizer.json
        read.pre_tokenizer = before
    return read


def _is_asked_for_a_blank(arguments: Mapping[str, Any], file: str) -> bool:
    """Whether the caller, but not tokenizer_config.json, asks for a space in front of each text."""
    if arguments.get("add_prefix_space") is not True:
        return False
    try:
        settings = json.loads(Path(file).with_name("tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    return settings.get("add_prefix_space") is not True


def _content(tokenizer: Any) -> Mapping[str, Any]:
    """The content of a file of a tokenizer, for BPE without its vocabulary, which takes seconds to write."""
    model, parts = tokenizer.model, (tokenizer.pre_tokenizer, tokenizer.normalizer)
    if type(model).__name__ != "BPE":
        content: Mapping[str, Any] = json.loads(tokenizer.to_str())
        return content
    before, normalizer = (None if part is None else json.loads(part.__getstate__()) for part in parts)
    flags = {"type": "BPE", "byte_fallback": model.byte_fallback, "ignore_merges": model.ignore_merges}
    return {"pre_tokenizer": before, "normalizer": normalizer, "model": flags}


def _cuts(content: Mapping[str, Any]) -> Any:
    """How a tokenizer splits text, apart from options such as a space in front of each text."""
    before = content.get("pre_tokenizer")
    pieces = before["pretokenizers"] if before and before["type"] == "Sequence" else [before]
    chosen = ("add_prefix_space", "trim_offsets", "prepend_scheme")
    model = {name: content["model"].get(name) or None for name in ("type", "byte_fallback", "ignore_merges")}
    shown = [{key: value for key, value in (piece or {}).items() if key not in chosen} for piece in pieces]
    return shown, content.get("normalizer"), model


def _types(before: dict[str, Any]) -> list[str]:
    return [before["type"], *(kind for piece in before.get("pretokenizers", ()) for kind in _types(piece))]
