"""Command lines and files of training scripts have flags that `TrainingArguments` has lost.

Symptom   ``ValueError: Some specified arguments are not used by the HfArgumentParser: ['--evaluation_strategy', 'no',
          '--overwrite_output_dir']``; ``ValueError: Some keys are not used by the HfArgumentParser:
          ['evaluation_strategy']`` from a YAML or JSON file.
Cause     The arguments were renamed, or removed.
Releases  ``evaluation_strategy`` from 4.51.0 on, most of the others from 5.0.0 on
Upstream  removed by design (not put back)
Here      Flags that the parser would refuse get their new names, as in ``training-args-evaluation-strategy-removed``,
          for `TrainingArguments` and dataclasses that inherit from it. Flags without a successor raise as before. A
          script that asks for the remaining strings, allows extra keys, or handles the ValueError gets what the release
          gives.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from typing import Any, Optional
from weakref import ref

from hotfix.fix import Fix
from hotfix.patching import scope

from ._old_arguments import WITHOUT_EFFECT, fields_of, has_lost_arguments, keep, without_old_names

FIX = Fix(
    title="ValueError: Some specified arguments are not used by the HfArgumentParser: ['--evaluation_strategy', 'no']",
    kind="removed-api",
    group="removed-names",
    everyone="only for flags that the parser would refuse",
    errors=(
        "ValueError: Some specified arguments are not used by the HfArgumentParser: […'--evaluation_strategy'…]",
        "ValueError: Some specified arguments are not used by the HfArgumentParser: […'--overwrite_output_dir'…]",
        "ValueError: Some specified arguments are not used by the HfArgumentParser: […'--group_by_length'…]",
        "ValueError: Some specified arguments are not used by the HfArgumentParser: […'--warmup_ratio'…]",
        "ValueError: Some specified arguments are not used by the HfArgumentParser: […'--logging_dir'…]",
        "ValueError: Some keys are not used by the HfArgumentParser: […'evaluation_strategy'…]",
        "ValueError: Some keys are not used by the HfArgumentParser: […'overwrite_output_dir'…]",
        "ValueError: Some keys are not used by the HfArgumentParser: […'group_by_length'…]",
        "ValueError: Some keys are not used by the HfArgumentParser: […'warmup_ratio'…]",
        "ValueError: Some keys are not used by the HfArgumentParser: […'logging_dir'…]",
    ),
)

_ARGUMENTS = "transformers.training_args:TrainingArguments"
_PARSER = "transformers.hf_argparser:HfArgumentParser"
_WORDS = {"True": True, "true": True, "False": False, "false": False}

FIX.edits(
    (f"{_PARSER}.parse_args_into_dataclasses", ">=4.51.0"),
    old=("namespace, remaining_args = self.parse_known_args(args=args)", "obj = dtype(**inputs)"),
    new=(
        f"""
        from {__name__} import kept, parsed
        namespace, remaining_args = parsed(self, args, return_remaining_strings)
        """,
        "obj = kept(self, dtype(**inputs))",
    ),
    fingerprint_of=(_ARGUMENTS,),
)
FIX.edits(
    (f"{_PARSER}.parse_dict", ">=4.51.0"),
    old=("unused_keys = set(args.keys())", "obj = dtype(**inputs)"),
    new=(
        f"""
        from {__name__} import kept, renamed
        args = renamed(self, args, allow_extra_keys)
        unused_keys = set(args.keys())
        """,
        "obj = kept(self, dtype(**inputs))",
    ),
    fingerprint_of=(_ARGUMENTS,),
)


_given: dict[int, tuple[Any, dict[str, Any]]] = {}
"""What each parser was given under old names, until its objects are made; parsers need not have a hash."""


def parsed(parser: Any, args: Optional[list[str]], asks_for_the_rest: bool) -> tuple[Any, list[str]]:
    """What a parser makes of a command line: its namespace, and the strings that remain.

    Args:
        parser: the `HfArgumentParser`.
        args: the strings, or None for those of the process.
        asks_for_the_rest: whether the caller gets the strings that remain.
    """
    _given.pop(id(parser), None)
    namespace, rest = parser.parse_known_args(args=args)
    if asks_for_the_rest or not rest:
        return namespace, rest
    strings = sys.argv[1:] if args is None else args
    made = _in_words_of_the_release(parser, _flags(rest))
    if made is None or any(_named(string) in made for string in strings):
        return namespace, rest
    namespace, again = parser.parse_known_args(args=[*strings, *_strings(made)])
    return namespace, [] if again == rest else rest


def renamed(parser: Any, given: dict[str, Any], allows_more: bool) -> dict[str, Any]:
    """The keys of a file in the words of the release.

    Args:
        parser: the `HfArgumentParser`.
        given: keys and values.
        allows_more: whether the caller allows keys that are not used.
    """
    _given.pop(id(parser), None)
    every = {field.name for kind in parser.dataclass_types for field in fields(kind) if field.init}
    unknown = {name: value for name, value in given.items() if name not in every}
    if allows_more or not unknown:
        return given
    made = _in_words_of_the_release(parser, unknown)
    if made is None or made.keys() & given.keys():
        return given
    return {**{name: value for name, value in given.items() if name in every}, **made}


def kept(parser: Any, made: Any) -> Any:
    """An object that the parser has made: the given values can be read from it under their old names."""
    reference, old = _given.get(id(parser), (None, {}))
    if old and reference() is parser and _is_of_training(type(made)):
        keep(made, old)
    return made


FIX.recognises(has_lost_arguments)


# ---------------------------------------------------------------------------------------------------------------------


def _in_words_of_the_release(parser: Any, unknown: Optional[dict[str, Any]]) -> Optional[dict[str, Any]]:
    """What replaces unknown arguments; None if one of them has no replacement, or the program wants the error."""
    kinds = [kind for kind in parser.dataclass_types if _is_of_training(kind)]
    if unknown is None or not kinds or not unknown.keys() <= WITHOUT_EFFECT.keys():
        return None
    known = set().union(*map(fields_of, kinds))
    made, old = without_old_names(unknown, known)
    if not made.keys() <= known or scope.is_handled(FIX.id, ValueError, sys._getframe(2)):
        return None
    number = id(parser)
    _given[number] = ref(parser, lambda _: _given.pop(number, None)), old
    return made


def _is_of_training(kind: Any) -> bool:
    module = sys.modules.get("transformers.training_args")
    return module is not None and isinstance(kind, type) and issubclass(kind, module.TrainingArguments)


def _named(string: str) -> str:
    """The name of a flag, or ""."""
    return string[2:].partition("=")[0].replace("-", "_") if string.startswith("--") else ""


def _flags(strings: list[str]) -> Optional[dict[str, Any]]:
    """Flags with their values; True for a flag alone. None if there is anything else."""
    flags: dict[str, Any] = {}
    for place, string in enumerate(strings):
        name = _named(string)
        if name:
            flags[name] = _value(string.partition("=")[2]) if "=" in string else True
        elif place and _named(strings[place - 1]) and "=" not in strings[place - 1]:
            flags[_named(strings[place - 1])] = _value(string)
        else:
            return None
    return flags


def _value(string: str) -> Any:
    if string in _WORDS:
        return _WORDS[string]
    try:
        return float(string) if "." in string or "e" in string else int(string)
    except ValueError:
        return string


def _strings(arguments: dict[str, Any]) -> list[str]:
    """The arguments as strings of a command line."""
    strings = []
    for name, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        strings += [f"--{name}", *(json.dumps(item) if isinstance(item, dict) else str(item) for item in values)]
    return strings
