"""Distil what `hotfix.loading.forms` reads of every release into `hotfix/loading/by_release.json.xz`.

    python -m tools.by_release            write the file from the wheels in the cache
    python -m tools.by_release --check    compare the answers with those of the whole sources, for every model type of
                                          every release whose sources are others than those of the release before

A release more is a run more; the file changes as a whole, by a few hundred bytes.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import lzma
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hotfix.loading import by_release, forms

from . import wheels

_WANTED = re.compile(
    r"transformers/(?:configuration_utils|modeling_rope_utils|models/auto/(?:configuration_auto|auto_mappings)|"
    r"models/(?:\w+/)+(?:configuration|modeling)_(?!tf_|flax_)\w+)\.py$"
)
_DOCSTRING = re.compile(r'^[ \t]*r?"""(?:.|\n)*?"""[ \t]*\n', re.M)
_COMMENT = re.compile(r"^[ \t]*#.*\n", re.M)
_PLAIN = re.compile(r"^[ \t]*self\.(\w+) = (?:\1|kwargs.*)[ \t]*\n", re.M)
_ROTARY = re.compile(
    r"rope|rotary|theta|partial|head_dim|Rotary|_factor|\"factor\"|\"truncate\"|\"beta_|\"mscale|sliding_attention|gate_up_proj",
    re.I,
)
_TABLES = ("CONFIG_MAPPING_NAMES", "SPECIAL_MODEL_TYPE_TO_MODULE_NAME", "DEPRECATED_MODELS")


def distilled(module: str, text: str) -> str:
    """What `forms` goes by in a module.

    Args:
        module: its name.
        text: its source.
    """
    leaf = module.rpartition(".")[2]
    if leaf in ("configuration_auto", "auto_mappings"):
        return "\n".join(_assigned(text))
    if leaf == "modeling_rope_utils":
        return _bare(text)
    if leaf == "configuration_utils" or leaf.startswith("modeling_"):
        pattern = _ROTARY if leaf.startswith("modeling_") else re.compile(r"rope_parameters|\"dtype\"")
        return "\n".join(sorted({line.strip() for line in _bare(text).splitlines() if pattern.search(line)}))
    return "".join(_classes(text))


def build(library: wheels.Library, package: str) -> dict[str, Any]:
    """The content of the file.

    Args:
        library: all releases.
        package: of which they are.
    """
    texts: dict[str, int] = {}
    modules: dict[str, list[tuple[int, int]]] = {}
    kept: dict[tuple[str, int], str] = {}
    for number, version in enumerate(library.releases):
        there = library.modules[version]
        for module in sorted({*modules, *filter(_is_wanted, there)}):
            text = -1
            if module in there:
                key = (module, there[module])
                if key not in kept:
                    kept[key] = distilled(module, _text(library, there[module]))
                text = texts.setdefault(f"{module}\n{kept[key]}", len(texts))
            runs = modules.setdefault(module, [])
            if (runs[-1][1] if runs else -1) != text:
                runs.append((number, text))
    order = sorted(texts, key=lambda one: (one.partition("\n")[0], texts[one]))  # what is alike compresses together
    place = {texts[one]: index for index, one in enumerate(order)}
    place[-1] = -1
    return {
        "package": package,
        "releases": list(map(str, library.releases)),
        "modules": {name: [[first, place[text]] for first, text in runs] for name, runs in sorted(modules.items())},
        "texts": [one.partition("\n")[2] for one in order],
        "model_types": {},
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
    types: dict[str, tuple[int, int]] = {}
    for number, version in enumerate(library.releases):
        for model_type in _places(forms.Release(_reader(library, version))):
            types[model_type] = (types.get(model_type, (number, number))[0], number)
    data["model_types"] = dict(sorted(types.items()))
    content = lzma.compress(json.dumps(data, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME)
    options.output.write_bytes(content)
    print(f"written: {options.output.name}, {len(content) / 1000:.0f} kB, {len(data['texts'])} texts")
    return 0


# ----------------------------------------------------------------------------------------------------------------------
# Below: the pieces, and the comparison.

_SCALINGS: tuple[dict[str, Any], ...] = (
    {"rope_type": "default", "rope_theta": 54321.0},
    {"rope_type": "linear", "rope_theta": 54321.0, "factor": 2.0},
    {"rope_type": "dynamic", "rope_theta": 54321.0, "factor": 2.0, "original_max_position_embeddings": 64},
    {"rope_type": "yarn", "rope_theta": 54321.0, "factor": 4.0, "mscale": 0.7, "truncate": False},
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
    """Where the distilled source gives another answer than the whole."""
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
            for scaling in _SCALINGS:
                config = {"model_type": model_type, "dtype": "bfloat16", "rope_parameters": scaling}
                nested = {"model_type": model_type, "text_config": config, "vision_config": config}
                for one in (config, nested):
                    if forms.configuration(one, whole) != forms.configuration(one, small):
                        yield f"{version} {model_type} {scaling}"
        before = there


def _is_wanted(module: str) -> bool:
    return bool(_WANTED.match(module.replace(".", "/") + ".py"))


def _text(library: wheels.Library, content: int) -> str:
    one = library.contents[content]
    return _opened(one.wheel).read(one.member).decode()


@functools.cache
def _opened(wheel: Path) -> zipfile.ZipFile:
    """A wheel; they stay open, since reading the list of files in one takes longer than a file."""
    return zipfile.ZipFile(wheel)


def _reader(library: wheels.Library, version: Any) -> forms.Reader:
    def read(module: str) -> str | None:
        content = library.modules[version].get(module)
        return None if content is None else _text(library, content)

    return read


def _bare(text: str) -> str:
    return _COMMENT.sub("", _DOCSTRING.sub("", text))


def _assigned(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id in _TABLES:
            yield _bare(ast.get_source_segment(text, node) or "")


def _classes(text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level > 1:
            yield "".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.ClassDef):
            whole = "".join(lines[node.lineno - 1 : node.end_lineno])
            body = _PLAIN.sub("", _bare(whole))
            yield body if _is_python(body) else whole


def _is_python(text: str) -> bool:
    """Not so where the body of a class or of a function was nothing but what was taken out."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _places(release: forms.Release) -> dict[str, tuple[str, str]]:
    """The model types of a release, and the module and the name of the class of each."""
    return dict(release._model_types())


if __name__ == "__main__":
    sys.exit(main())
