"""Distill the data that `hotfix.loading.forms` reads of every release into `hotfix/releases/by_release.json.xz`.

    python -m tools.by_release            write the file from the wheels in the cache
    python -m tools.by_release --check    compare the answers with those of the whole sources, for every model type of
                                          every release whose sources differ from those of the release before

Each new release needs one more run; the file changes as a whole, by a few hundred bytes.
"""

from __future__ import annotations

import argparse
import functools
import json
import lzma
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

from hotfix.loading import forms
from hotfix.releases import by_release

from . import wheels

_WANTED = re.compile(
    r"transformers/(?:configuration_utils|modeling_rope_utils|models/auto/(?:configuration_auto|auto_mappings)|"
    r"models/(?:\w+/)+(?:configuration|modeling)_(?!tf_|flax_)\w+)\.py$"
)
_BASE, _ROPE = "transformers.configuration_utils", "transformers.modeling_rope_utils"
_BASES = (*forms.THETA, *(name for pair in forms.LAYERS for name in pair))
_SIZES = ("hidden_size", "num_hidden_layers", "vocab_size")
_ASKED_FOR = ("dtype", "head_dim", "rope_parameters", "text_config")
_LENGTHS = ("max_position_embeddings", "original_max_position_embeddings")
_DEFAULTS = (*_BASES, *forms.FRACTION, "rope_scaling", *_LENGTHS)
_WORDS = r"su|longrope|\w*(?:factor|mscale|beta_|truncate|original_max|section|alpha|freq|rope_theta)\w*"
_KEYS = re.compile(rf"\"(?:{_WORDS})\"|'(?:{_WORDS})'")
_ORIGINAL = (re.compile(r"config[.,] ?\"?original_max_position_embeddings"), "config.original_max_position_embeddings")
_HEADS = (re.compile(r'config(?:\.|, ")head_dim'), "config.head_dim")
_OF_CLASSES = (
    (re.compile(r"rope_scaling_type (?:not in \[[^\]]*\]|!= \"\w+\")"), ""),
    (re.compile(r"len\(self\.rope_scaling\) != \d"), ""),
    (re.compile(r'get\("type"'), ""),
    (re.compile(r"rope_type"), ""),
    (_KEYS, ""),
    _ORIGINAL,
)
"""What `forms` looks for in the text of a class, and how it is written down where that is one of several ways."""
_OF_MODELS = (
    (re.compile("rope_scaling|ROPE_INIT_FUNCTIONS|LinearScalingRotary|DynamicNTKScalingRotary|gate_up_proj"), ""),
    (re.compile(r"class \w+(?:LongRoPE|SuScaled)\w*Rotary"), "class ALongRoPERotary"),
    (re.compile(r'"sliding_attention": \w+\(config=config, rope_type="default"\)'), ""),
    (re.compile(rf"\.(?:{'|'.join((*_BASES, *forms.FRACTION))})"), ""),
    (re.compile(r"head_dim // 2|rope_type"), ""),
    (_KEYS, ""),
    _ORIGINAL,
    _HEADS,
)
_OF_FUNCTIONS = (
    (re.compile("factor = config.max_position_embeddings / original_max_position_embeddings"), ""),
    (_KEYS, ""),
    _ORIGINAL,
)


def distilled(module: str, text: str, is_new: bool = False) -> str:
    """The data that `forms`, `hotfix.checkpoints` and its command use from a module.

    Args:
        module: its name.
        text: its source.
        is_new: whether configurations of the release have ``rope_parameters``: little of these is used.
    """
    if module == _BASE:
        return "\n".join(_found(((re.compile(r"rope_parameters|\"dtype\""), ""),), text))
    if module == _ROPE:
        return "" if is_new else "\n".join(_functions(text))
    if module.rpartition(".")[2].startswith("modeling_"):
        return "\n".join(_found((_HEADS,) if is_new else _OF_MODELS, text))
    return "\n".join(_classes(module, text, is_new))


def build(library: wheels.Library, package: str) -> dict[str, Any]:
    """The content of the file.

    Args:
        library: all releases.
        package: the package of these releases.
    """
    texts: set[str] = set()
    modules: dict[str, list[tuple[int, str]]] = {}
    types: dict[str, list[list[Any]]] = {}
    kept: dict[tuple[str, int, bool], str] = {}
    for number, version in enumerate(library.releases):
        there = library.modules[version]
        release = forms.Release(_reader(library, version))
        is_new = release.knows_rope_parameters()
        for module in sorted({*modules, *filter(_is_wanted, there)} - {*forms.AUTO}):
            text = ""
            if module in there:
                key = (module, there[module], is_new)
                if key not in kept:
                    kept[key] = distilled(module, _text(library, there[module]), is_new)
                text = kept[key]
            runs = modules.setdefault(module, [])
            if (runs[-1][1] if runs else "") != text:
                runs.append((number, text))
                texts.add(text)
        for model_type, (module, name) in _places(release).items():
            place = [module.partition(".models.")[2].rpartition(".")[0], name]
            runs_of_type = types.setdefault(model_type, [])
            if runs_of_type and runs_of_type[-1][1] == number - 1 and runs_of_type[-1][2:] == place:
                runs_of_type[-1][1] = number
            else:
                runs_of_type.append([number, number, *place])
    order = sorted(texts)
    place_of = {text: index for index, text in enumerate(order)}
    return {
        "package": package,
        "releases": list(map(str, library.releases)),
        "modules": {
            name: [[first, place_of[text]] for first, text in runs] for name, runs in sorted(modules.items()) if runs
        },
        "texts": order,
        "model_types": dict(sorted(types.items())),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.by_release", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--output", type=Path, default=by_release.DATA)
    options = parser.parse_args(arguments)
    [package] = wheels.SWEPT
    library = wheels.catalogue(package, wheels.cached(package, wheels.default_cache()))
    if options.check:
        problems = list(disagreements(library))
        print("\n".join(problems[:50]) or f"{len(library.releases)} releases give the answers of their whole sources.")
        return 1 if problems else 0
    data = build(library, package)
    size = write(data, options.output)
    print(f"written: {options.output.name}, {size / 1000:.0f} kB, {len(data['texts'])} texts")
    return 0


def write(data: Mapping[str, Any], output: Path) -> int:
    """Write the file; returns its size in bytes."""
    return output.write_bytes(
        lzma.compress(json.dumps(data, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME)
    )


# ----------------------------------------------------------------------------------------------------------------------
# Below: the pieces, and the comparison.

_SCALINGS: tuple[dict[str, Any], ...] = (
    {"rope_type": "default", "rope_theta": 54321.0},
    {"rope_type": "linear", "rope_theta": 54321.0, "factor": 2.0},
    {"rope_type": "dynamic", "rope_theta": 54321.0, "factor": 2.0, "original_max_position_embeddings": 64},
    {"rope_type": "yarn", "rope_theta": 54321.0, "factor": 4.0, "mscale": 0.7, "truncate": False},
    {"rope_type": "yarn", "rope_theta": 54321.0, "factor": 4.0, "original_max_position_embeddings": 32768},
    {"rope_type": "yarn", "rope_theta": 54321.0, "factor": 4.0, "original_max_position_embeddings": 4096},
    {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [1, 2],
        "alpha": 2.0,
    },
    {
        "rope_type": "llama3",
        "rope_theta": 54321.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    {
        "rope_type": "longrope",
        "rope_theta": 54321.0,
        "short_factor": [1.0],
        "long_factor": [2.0],
        "original_max_position_embeddings": 64,
        "partial_rotary_factor": 0.5,
    },
    {
        "full_attention": {"rope_type": "default", "rope_theta": 54321.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1234.0},
    },
)


def disagreements(library: wheels.Library) -> Iterator[str]:
    """The cases in which the distilled source gives a different answer than the whole."""
    before: dict[str, int] = {}
    for version in library.releases:
        there = {name: content for name, content in library.modules[version].items() if _is_wanted(name)}
        common = ("configuration_utils", "modeling_rope_utils", "configuration_auto", "auto_mappings")
        changed = {name for name in there if before.get(name) != there[name]}
        every = any(name.endswith(common) for name in changed)
        if version not in by_release.releases():
            yield f"{version} is not in the file"
            continue
        whole, small = forms.Release(_reader(library, version)), by_release.source_of(version)
        for model_type, (module, _) in _places(whole).items():
            folder = module.rpartition(".")[0]
            if not every and not any(name.startswith(f"{folder}.") for name in changed):
                continue
            if _by_checkpoints(whole, model_type) != _by_checkpoints(small, model_type):
                yield f"{version} {model_type}: what hotfix.checkpoints and its command ask"
            for scaling in _SCALINGS:
                config = {"model_type": model_type, "dtype": "bfloat16", "rope_parameters": scaling}
                nested = {"model_type": model_type, "text_config": config, "vision_config": config}
                for part in (config, nested):
                    if forms.configuration(part, whole) != forms.configuration(part, small):
                        yield f"{version} {model_type} {scaling}"
        before = there


def _by_checkpoints(release: forms.Release, model_type: str) -> Optional[tuple[Any, ...]]:
    """The data that `hotfix.checkpoints` and its command use of a class: types, and experts before 5.0.0 only."""
    class_ = release.class_of(model_type)
    if class_ is None:
        return None
    heads = "head_dim" in class_.arguments or bool(_HEADS[0].search(class_.model))
    if release.knows_rope_parameters():
        return class_.name, heads
    return class_.name, heads, class_.types, "gate_up_proj" in class_.model


def _is_wanted(module: str) -> bool:
    return bool(_WANTED.match(module.replace(".", "/") + ".py"))


def _text(library: wheels.Library, content: int) -> str:
    file = library.contents[content]
    return _opened(file.wheel).read(file.member).decode()


@functools.cache
def _opened(wheel: Path) -> zipfile.ZipFile:
    """A wheel; wheels stay open, because reading the file list of one takes longer than reading a file."""
    return zipfile.ZipFile(wheel)


def _reader(library: wheels.Library, version: Any) -> forms.Reader:
    def read(module: str) -> str | None:
        content = library.modules[version].get(module)
        return None if content is None else _text(library, content)

    return read


def _found(looked_for: Sequence[tuple[re.Pattern[str], str]], text: str) -> list[str]:
    """The matches, each once."""
    return sorted(
        {written or " ".join(words.split()) for pattern, written in looked_for for words in pattern.findall(text)}
    )


def _functions(text: str) -> Iterator[str]:
    yield from _found(((re.compile(r"\.rope_theta|partial_rotary_factor"), ""),), text)
    functions = forms.Release({_ROPE: text}.get).rope_functions()
    for kind, body in functions.items():
        yield "\n".join([f"def {kind}(", *_found(_OF_FUNCTIONS, body)])
    yield "\n".join(["ROPE_INIT_FUNCTIONS = {", *(f'"{kind}": {kind},' for kind in functions), "}"])


def _classes(module: str, text: str, is_new: bool) -> Iterator[str]:
    """Every class reduced to the requested data, with comments about its other content."""
    release = forms.Release({module: text}.get)
    whole = [
        class_ for class_ in (release.understood(module, name) for name in _CLASS.findall(text)) if class_ is not None
    ]
    if not is_new:
        meant = {name for class_ in whole for name in class_.subordinate.values()}
        for line in _IMPORT.findall(text):
            if meant & {*re.findall(r"\w+", line)}:
                yield line
    for class_ in whole:
        arguments = {name: None for name in _ASKED_FOR if name in class_.arguments}
        if is_new:
            yield "\n".join(
                [f"class {class_.name}:", *_parts({name: None for name in arguments if name == "head_dim"})]
            )
            continue
        arguments.update({name: class_.arguments[name] for name in _DEFAULTS if name in class_.arguments})
        if class_.arguments.keys() >= {*_SIZES}:
            arguments.update(dict.fromkeys(_SIZES))
        below = {key: cls for key, cls in class_.subordinate.items() if key == "text_config" or cls != "AutoConfig"}
        comments = [f" #{match}" for match in _found(_OF_CLASSES, class_.text)]
        yield "\n".join([f"class {class_.name}:", *comments, *_parts(arguments, below)])


_CLASS = re.compile(r"^class (\w*Config\w*)\b", re.M)
_IMPORT = re.compile(r"^from \.\.\w+(?:\.\w+)? import [^\n(]*Config[^\n(]*$", re.M)


def _parts(arguments: Mapping[str, Any], below: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    parts = [" sub_configs={" + ",".join(f'"{key}":{cls}' for key, cls in below.items()) + "}"] if below else []
    taken = ",".join(f"{name}={value!r}" for name, value in arguments.items())
    return [*parts, f" def __init__(self,{taken}):0" if taken else " 0"]


def _places(release: forms.Release) -> dict[str, tuple[str, str]]:
    """The model types of a release, and the module and the name of the class of each."""
    return dict(release._model_types())


if __name__ == "__main__":
    sys.exit(main())
