"""Shared by all converters: whether a later release wrote a file, the installed release, and the report of a change.

A converter acts only on a file that a later release wrote (`was_written_since`), for a class that the library
defines itself (`is_of_the_library`). The program's own arguments and dictionaries stay as they are.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Optional, TypeVar

from packaging.version import InvalidVersion, Version

from hotfix import session
from hotfix._support.memo import memo
from hotfix.engine.ledger import State
from hotfix.errors import HotfixError
from hotfix.fix import Fix
from hotfix.loading import forms
from hotfix.versions import installed
from hotfix.versions.verdict import read_installed

_Value = TypeVar("_Value")


SINCE = {
    forms.Rule.ROPE: Version("5.0.0"),
    forms.Rule.DTYPE: Version("4.56.0"),
    forms.Rule.TEXT: Version("4.52.0"),
    forms.Rule.WINDOW: Version("5.0.0"),
}
"""The first release that writes each form."""

_AUTO = "transformers.models.auto.configuration_auto"


def was_written_since(config: Mapping[str, Any], first: Version, form: bool = False) -> bool:
    """Whether a later release demonstrably wrote a file.

    Args:
        config: the content of the file.
        first: the first release that writes such files, including its development versions.
        form: whether the installed release cannot have written this form. It decides where another program wrote the
            file, which then names no release. A part of a configuration is as old as the file that contains it.
    """
    written = config.get("transformers_version")
    if written is None:
        if not form:
            return False
        written = _release_of_the_whole()
        if written is None:
            return True
    try:
        return Version(str(written)).release >= first.release
    except InvalidVersion:
        return False


def _release_of_the_whole() -> Optional[str]:
    """The release that wrote the file of which a part is being read; None without a file or a named release."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "from_dict" and _is_of_transformers(frame):
            whole = frame.f_locals.get("config_dict")
            written = whole.get("transformers_version") if isinstance(whole, Mapping) else None
            if written is not None:
                return str(written)
        frame = frame.f_back
    return None


def _is_of_transformers(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "transformers"


def is_of_the_library(cls: type) -> bool:
    """Whether the library defines a class itself: no user's subclass, no remote code."""
    if cls.__module__.partition(".")[0] != "transformers":
        return False
    module = sys.modules.get(cls.__module__)
    return module is not None and vars(module).get(cls.__name__) is cls


def is_asked_by_the_library(frame: Any) -> bool:
    """Whether a frame, or the next one below those of repairs, is of the library: the program itself did not ask."""
    while str(frame.f_globals.get("__name__")).startswith("hotfix."):
        frame = frame.f_back
    return _is_of_transformers(frame)


@memo
def release() -> forms.Release:
    """The release of transformers that is installed, by its source."""
    return forms.Release(_read)


def carefully(fix: Fix, file: str, value: _Value, convert: Callable[[_Value], _Value]) -> _Value:
    """Convert a value, or log the failure and return the value itself.

    Args:
        fix: the fix that converts.
        file: name of the file, for the log.
        value: the value from the file.
        convert: takes it, and returns the value for the release.
    """
    try:
        return convert(value)
    except HotfixError:  # strict mode
        raise
    except Exception as error:  # a program that loads without hotfix is to load with it
        sentence = f"{fix.id}: {file} was left as it is: {type(error).__name__}: {error}"
        session.current().log.warn_or_raise(sentence)
        return value


def report(fix: Fix, where: str, findings: Iterable[forms.Finding]) -> None:
    """Log once which keys were translated, and which this release cannot compute.

    Args:
        fix: the fix that converts.
        where: the file, and the model or class that it belongs to.
        findings: the findings of this file.

    Raises:
        HotfixError: in strict mode, for a key that cannot be computed.
    """
    log = session.current().log
    for finding in findings:
        if finding.outcome is forms.Outcome.UNREADABLE and not _is_in_place(finding.fix):
            log.warn_or_raise(f"{fix.id}: {where}: {finding.sentence} The model is not that of the file.")
    done = [finding for finding in findings if finding.outcome is forms.Outcome.TRANSLATED]
    if done and log.is_news(fix.id, where):
        keys = ", ".join(finding.key for finding in done)
        log.log(logging.INFO, f"{fix.id}: {where} was written by a later release; translated: {keys}.")
        for finding in done:
            log.log(logging.DEBUG, f"{fix.id}: {where}: {finding.key}: {finding.sentence}")


def translated(
    fix: Fix, rules: frozenset[forms.Rule], config: Mapping[str, Any], cls: type, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A configuration in the form that its class understands in this release.

    Args:
        fix: the fix that converts.
        rules: the rules that it translates by.
        config: the content of the file; it is not changed.
        cls: the configuration class.
        given: the caller's keyword arguments, which take precedence.

    Returns:
        The same object if no later release wrote it, or the class is not the library's. Otherwise a new one, which
        keeps the keys of the later release as attributes for programs to read: only a ``text_config`` moves.
    """
    if not _has_key(config, {rule.value for rule in rules}) or not is_of_the_library(cls):
        return config

    def convert(config: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = {rule for rule in rules if was_written_since(config, SINCE[rule], _has_form(rule, config))}
        of = (cls.__module__, cls.__qualname__)
        understood = release().understood(*of)
        if forms.Rule.WINDOW in asked and not _takes_a_window_of_0(understood):
            asked.remove(forms.Rule.WINDOW)
        if forms.Rule.ROPE.value in config and "transformers_version" not in config and not _rotates(understood):
            asked.discard(forms.Rule.ROPE)  # an attribute of the program's own, on a class that has no such thing
        if not asked:
            return config
        result, findings = forms.configuration(config, release(), of, frozenset(asked), _registered_by_user())
        report(fix, _where(config, cls, given), findings)
        result = _with_what_was_there(result, config)
        return result if result != config else config

    return carefully(fix, "config.json", config, convert)


def _has_form(rule: forms.Rule, config: Mapping[str, Any]) -> bool:
    """Whether this release cannot have written the form that a rule translates; a dtype or a window proves nothing."""
    if rule is forms.Rule.ROPE:
        return _has_rope_alone(config)
    text = config.get("text_config") if rule is forms.Rule.TEXT else None
    return isinstance(text, Mapping) and text.get("model_type") == f"{config.get('model_type')}_text"


def _has_rope_alone(config: Mapping[str, Any]) -> bool:
    """Whether ``rope_parameters`` has the base, and the keys in which this release writes it are missing."""
    parameters = config.get("rope_parameters")
    if isinstance(parameters, Mapping):
        parts = (parameters, *(part for part in parameters.values() if isinstance(part, Mapping)))
        bases = {*forms.THETA, *(name for pair in forms.LAYERS for name in pair)}
        if any({"rope_theta", "rope_type"} & part.keys() for part in parts) and bases.isdisjoint(config):
            return True
    return any(
        _has_rope_alone(part) for part in config.values() if isinstance(part, Mapping) and part is not parameters
    )


def _takes_a_window_of_0(understood: Optional[forms.Understood]) -> bool:
    """Whether a class passes a window of 0 to masks that reject it: Qwen2-MoE in 4.40 and 4.41."""
    return understood is not None and understood.name == "Qwen2MoeConfig" and "window if" not in understood.text


def _rotates(understood: Optional[forms.Understood]) -> bool:
    """Whether a class, or the model that it is for, knows rotary embeddings in this release."""
    if understood is None:
        return False
    names = {*forms.THETA, *forms.FRACTION, *(name for pair in forms.LAYERS for name in pair), "rope_scaling"}
    return not names.isdisjoint(understood.arguments) or re.search("rotary|rope", understood.model, re.I) is not None


def _with_what_was_there(result: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Put the later release's keys back: stock has them as attributes, and writes them again."""
    for key, value in config.items():
        if key in (forms.Rule.ROPE.value, forms.Rule.DTYPE.value):
            result.setdefault(key, value)
        elif isinstance(value, Mapping) and isinstance(result.get(key), dict):
            result[key] = _with_what_was_there(result[key], value)
    return result


def _registered_by_user() -> frozenset[str]:
    """Model types for which the program has registered a configuration class of its own."""
    mapping = getattr(sys.modules.get(_AUTO), "CONFIG_MAPPING", None)
    return frozenset(getattr(mapping, "_extra_content", ()))


def _is_in_place(fix: str) -> bool:
    """Whether a fix is applied in this process."""
    outcomes = session.current().ledger.outcomes().values() if fix else ()
    return any(outcome.fix == fix and outcome.state is State.APPLIED for outcome in outcomes)


def _where(config: Mapping[str, Any], cls: type, given: Mapping[str, Any]) -> str:
    name = given.get("name_or_path") or config.get("_name_or_path")
    return f"config.json of {name or cls.__name__}"


def _has_key(config: Mapping[str, Any], keys: set[str]) -> bool:
    """Whether one of these keys occurs anywhere; most files have none, and need no source."""
    return not keys.isdisjoint(config) or any(
        _has_key(part, keys) for part in config.values() if isinstance(part, dict)
    )


def _read(name: str) -> Optional[str]:
    """The source of a module, as loaded, or else as installed."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return installed.source_of(spec) if spec is not None else read_installed(name)


def settings(
    fix: Fix,
    rule: Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[forms.Finding]]],
    config: dict[str, Any],
    path: str,
    cls: type,
) -> dict[str, Any]:
    """Convert the settings of a tokenizer by one rule of `tokenizer_forms`.

    Args:
        fix: the fix that converts.
        rule: takes the settings, and returns those for this release, with findings. It decides by the form whether a
            later release wrote the file, since settings name no release.
        config: the settings in the file.
        path: of the file.
        cls: the tokenizer class; the settings of one that is not the library's stay as they are.
    """
    if not is_of_the_library(cls):
        return config

    def convert(config: dict[str, Any]) -> dict[str, Any]:
        result, findings = rule(config)
        report(fix, str(path), findings)
        return result if result != config else config

    return carefully(fix, str(path), config, convert)
