"""Translate tokenizer files of 5.x into the form that 4.x understands.

Pure, as `forms`: a dictionary in, a new one and findings out, with only the standard library. A file that 4.x
understands comes back equal, without findings. The caller knows whether the release is one of 4.x.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Optional

from hotfix.loading.forms import Finding, Outcome

FILE = "tokenizer_config.json"
TOKENIZER = "tokenizer.json"

_CLASSES = {"TokenizersBackend": "PreTrainedTokenizerFast"}
"""Classes of 5.x, and the class of 4.x that also uses tokenizer.json alone."""

_BACKENDS = ("tokenizers", "sentencepiece", "custom", "mistral_common")
"""Values that 5.x writes as ``backend``. Its tokenizers with a tokenizer.json have no ``added_tokens_decoder``, which
4.x always writes."""

_WRITTEN_ALONG = ("backend", "is_local", "local_files_only")
"""Facts about the process that wrote the file; nothing reads them."""


def is_of_5x(config: Mapping[str, Any]) -> bool:
    """Whether 5.x wrote the settings of a tokenizer, in a form that 4.x cannot have written.

    Args:
        config: content of ``tokenizer_config.json``.
    """
    backend = config.get("backend")
    if backend == "tokenizers":
        return "added_tokens_decoder" not in config
    return backend in _BACKENDS or config.get("tokenizer_class") in _CLASSES


def renamed_class(config: Mapping[str, Any], others: Collection[str] = ()) -> tuple[dict[str, Any], list[Finding]]:
    """Rename the class to its name in 4.x; everything else stays.

    Args:
        config: content of ``tokenizer_config.json``; it is not changed.
        others: names of classes that are not the library's, apart from those of remote code.
    """
    name = str(config.get("tokenizer_class"))
    if name not in _CLASSES or name in others or config.get("auto_map"):
        return dict(config), []
    sentence = f"4.x has no {name}; its {_CLASSES[name]} reads only tokenizer.json as well."
    finding = Finding("tokenizer_class", Outcome.TRANSLATED, sentence, FILE)
    return {**config, "tokenizer_class": _CLASSES[name]}, [finding]


def tokenizer_class(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Rename the class to its name in 4.x; then also remove keys that nothing reads, and keep spaces where they are.

    Args:
        config: content of ``tokenizer_config.json``; it is not changed.
    """
    result, findings = renamed_class(config) if is_of_5x(config) else (dict(config), [])
    if findings:
        result = {key: value for key, value in result.items() if key not in _WRITTEN_ALONG}
        # The default of 5.x; releases before 4.45.0 remove spaces before full stops.
        result.setdefault("clean_up_tokenization_spaces", False)
    return result, findings


def extra_special_tokens(config: Mapping[str, Any], is_refused: bool = True) -> tuple[dict[str, Any], list[Finding]]:
    """Add special tokens without a name to ``additional_special_tokens``, as in 4.x.

    Args:
        config: content of ``tokenizer_config.json``; it is not changed.
        is_refused: whether the release refuses every list. A release that does not may have written the list itself;
            it keeps the list as well, for programs that read it.
    """
    extra = config.get("extra_special_tokens")
    if not isinstance(extra, (list, tuple)) or not (is_refused or is_of_5x(config)):
        return dict(config), []
    result = {key: value for key, value in config.items() if key != "extra_special_tokens" or not is_refused}
    listed = list(result.get("additional_special_tokens") or [])
    listed += [token for token in extra if token not in listed]
    if listed:
        result["additional_special_tokens"] = listed
    sentence = "4.x takes a dictionary of names here; tokens without names are its additional_special_tokens."
    return result, [Finding("extra_special_tokens", Outcome.TRANSLATED, sentence, FILE)]


def ends_of_template(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Set ``add_bos_token`` and ``add_eos_token``, which 5.x leaves to the template in tokenizer.json.

    Args:
        config: content of ``tokenizer_config.json``; it is not changed.
        tokenizer: content of ``tokenizer.json`` next to it.

    Returns:
        The settings with both keys, if the two can make the template. Otherwise, or if the settings have one of the
        keys, the settings as they are.
    """
    if not is_of_5x(config) or {"add_bos_token", "add_eos_token"} & config.keys():
        return dict(config), []
    both = _ends(tokenizer.get("post_processor"), _content(config, "bos_token"), _content(config, "eos_token"))
    if both is None:
        return dict(config), []
    begins, ends = both
    sentence = "4.x rebuilds the template from add_bos_token and add_eos_token, which 5.x does not write."
    finding = Finding("add_bos_token", Outcome.TRANSLATED, sentence, FILE)
    return {**config, "add_bos_token": begins, "add_eos_token": ends}, [finding]


def _ends(processor: Any, first: str, last: str) -> Optional[tuple[bool, bool]]:
    """Whether a template adds a first and a last token to each text; None if it does anything else."""
    if processor is None:
        return False, False
    if not isinstance(processor, Mapping) or processor.get("type") != "TemplateProcessing":
        return None
    single = [_piece(piece) for piece in processor.get("single", ())]
    for begins, ends in ((True, False), (False, True), (True, True), (False, False)):
        text = [*([first] if begins else []), "A", *([last] if ends else [])]
        other = [*([first] if begins else []), "B", *([last] if ends else [])]
        pair = [_piece(piece) for piece in processor.get("pair", ())]
        if single == text and pair == text + other and (first or not begins) and (last or not ends):
            return begins, ends
    return None


def _piece(piece: Mapping[str, Any]) -> str:
    return str(next(iter(piece.values()))["id"])


def _content(config: Mapping[str, Any], name: str) -> str:
    token = config.get(name)
    return str(token.get("content", "") if isinstance(token, Mapping) else token or "")


class Unwritable(ValueError):
    """A tokenizer that has no exact form for the release that is to read it."""


def merges_in_words(tokenizer: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Write the pairs of a BPE as ``"a b"``, as tokenizers before 0.20 reads them.

    Args:
        tokenizer: content of ``tokenizer.json``; it is not changed.

    Raises:
        Unwritable: a part of a pair has a space, so that the old form would mean another pair.
    """
    model = tokenizer.get("model")
    merges = model.get("merges") if isinstance(model, Mapping) else None
    if not isinstance(model, Mapping) or not merges or not isinstance(merges[0], (list, tuple)):
        return dict(tokenizer), []
    for number, pair in enumerate(merges):
        if len(pair) != 2 or any(" " in part for part in pair):
            raise Unwritable(f"{TOKENIZER}: model.merges[{number}] is {pair!r}, which tokenizers<0.20 cannot read")
    result = {**tokenizer, "model": {**model, "merges": [" ".join(pair) for pair in merges]}}
    sentence = f"tokenizers<0.20 reads pairs as words ({len(merges)} of them)."
    return result, [Finding("model.merges", Outcome.TRANSLATED, sentence, TOKENIZER)]
