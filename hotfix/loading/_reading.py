"""What all converters share: the release that is installed, and how they say what they did."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Optional, TypeVar

from hotfix import session
from hotfix.engine.ledger import State
from hotfix.errors import HotfixError
from hotfix.fix import Fix
from hotfix.loading import forms
from hotfix.memo import memo
from hotfix.versions import installed
from hotfix.versions.verdict import read_installed

_Value = TypeVar("_Value")


@memo
def release() -> forms.Release:
    """The release of transformers that is installed, by its source."""
    return forms.Release(_read)


def carefully(fix: Fix, file: str, value: _Value, convert: Callable[[_Value], _Value]) -> _Value:
    """What `convert` makes of a value; the value itself where it fails, which is said.

    Args:
        fix: whose converter it is.
        file: what is read, for the sentence.
        value: what was read.
        convert: takes it, and returns what the release is to see.
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
    """Say once what was translated, and what this release cannot compute.

    Args:
        fix: whose converter it is.
        where: the file, and of what.
        findings: what was found there.

    Raises:
        HotfixError: in strict mode, for what cannot be computed.
    """
    log = session.current().log
    for finding in findings:
        if finding.outcome is forms.Outcome.UNREADABLE and not _is_in_place(finding.fix):
            log.warn_or_raise(f"{fix.id}: {where}: {finding.sentence} The model is not that of the file.")
    done = [one for one in findings if one.outcome is forms.Outcome.TRANSLATED]
    if done and log.is_news(fix.id, where):
        keys = ", ".join(one.key for one in done)
        log.log(logging.INFO, f"{fix.id}: {where} was written by a later release; translated: {keys}.")
        for one in done:
            log.log(logging.DEBUG, f"{fix.id}: {where}: {one.key}: {one.sentence}")


def translated(
    fix: Fix, rules: frozenset[forms.Rule], config: Mapping[str, Any], cls: type, given: dict[str, Any]
) -> Mapping[str, Any]:
    """A configuration in the form that its class understands in this release.

    Args:
        fix: whose converter it is.
        rules: what it translates.
        config: what was read.
        cls: the configuration class.
        given: the arguments that the caller has passed by keyword; they win.
    """
    if not _has_key(config, {rule.value for rule in rules}):
        return config

    def convert(config: Mapping[str, Any]) -> Mapping[str, Any]:
        where = _where(config, cls, given)
        found, findings = forms.configuration(config, release(), (cls.__module__, cls.__qualname__), rules)
        report(fix, where, findings)
        return found if found != config else config

    return carefully(fix, "config.json", config, convert)


def _is_in_place(fix: str) -> bool:
    """Whether a fix is, where the configuration that is read now is made."""
    outcomes = session.current().ledger.outcomes().values() if fix else ()
    return any(one.fix == fix and one.state is State.APPLIED for one in outcomes)


def _where(config: Mapping[str, Any], cls: type, given: Mapping[str, Any]) -> str:
    name = given.get("name_or_path") or config.get("_name_or_path")
    return f"config.json of {name or cls.__name__}"


def _has_key(config: Mapping[str, Any], keys: set[str]) -> bool:
    """Whether one of these keys stands anywhere: most files have none, and no source is read for them."""
    return not keys.isdisjoint(config) or any(_has_key(one, keys) for one in config.values() if isinstance(one, dict))


def _read(name: str) -> Optional[str]:
    """The source of a module: of what is loaded, where it is; else of what is installed."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return installed.source_of(spec) if spec is not None else read_installed(name)


def settings(
    fix: Fix,
    rule: Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[forms.Finding]]],
    config: dict[str, Any],
    path: str,
) -> dict[str, Any]:
    """The settings of a tokenizer, by one rule of `tokenizer_forms`.

    Args:
        fix: whose converter it is.
        rule: takes what was read, and returns what this release is to see, with findings.
        config: what was read.
        path: of the file.
    """

    def convert(config: dict[str, Any]) -> dict[str, Any]:
        found, findings = rule(config)
        report(fix, str(path), findings)
        return found if found != config else config

    return carefully(fix, str(path), config, convert)
