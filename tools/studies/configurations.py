"""Every configuration class: written by one release, read by others, compared attribute by attribute.

    python -m tools.studies.configurations                   write docs/data/configurations.json and print what is left
    python -m tools.studies.configurations --reader 4.57.6   only this reader (may be repeated)

The writer makes each configuration class of its own as it is by default, and once more with another base and, where it
has one, with scaling of rotary embedding; what it writes is a ``config.json`` each. The reader reads them, as it is and
with hotfix, and reports each attribute of its own class. The comparison is about the meaning of both: a base that is
called ``rope_theta`` here and is in ``rope_parameters`` there is the same base. A difference counts unless it is a
default of the reader.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.testbed.run import ROOT, run_script

WRITER = "5.23.0"
READERS = ("4.41.2", "4.46.3", "4.49.0", "4.51.3", "4.53.3", "4.55.4", "4.57.6")
RESULTS = ROOT / "docs" / "data" / "configurations.json"

# Attributes that say nothing of what a model computes, or that every release fills in for itself.
NOT_COMPARED = {
    "transformers_version",
    "architectures",
    "_name_or_path",
    "torch_dtype",
    "dtype",
    "use_cache",
    "return_dict",
    "output_attentions",
    "output_hidden_states",
    "model_type",
    "layer_types",
}
ROPE = {
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_emb_base",
    "rotary_pct",
    "partial_rotary_factor",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.studies.configurations", description=__doc__.splitlines()[0])
    parser.add_argument("--reader", action="append", metavar="RELEASE", help="only this reader; may be repeated")
    parser.add_argument("--folder", type=Path, required=True, help="folder of the files, kept for later runs")
    options = parser.parse_args(arguments)
    written = options.folder / f"configurations-{WRITER}.json"
    if not written.is_file():
        _run(WRITER, ["write", str(written)], hotfix=False)
    results: dict[str, Any] = {"writer": WRITER, "readers": {}}
    if RESULTS.is_file():
        results = json.loads(RESULTS.read_text())
    for reader in options.reader or READERS:
        read = {}
        for when in ("before", "after"):
            output = options.folder / f"read-{reader}-{when}.json"
            _run(reader, ["read", str(written), str(output)], hotfix=when == "after")
            read[when] = json.loads(output.read_text())
        results["readers"][reader] = summary(read["before"], read["after"])
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(reader, json.dumps({key: len(value) for key, value in results["readers"][reader].items()}))
    return 0


def summary(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The numbers of configurations that are right, repaired and refused, and the remaining differences."""
    counts: dict[str, Any] = {"right": [], "repaired": [], "message": {}, "left": {}, "error": {}}
    for name, entry in after.items():
        if entry.get("error"):
            counts["error"][name] = entry["error"]
        elif entry["said"]:
            counts["message"][name] = entry["said"]
        elif entry["differs"]:
            counts["left"][name] = entry["differs"]
        else:
            first = before[name]
            counts["repaired" if first.get("error") or first["differs"] else "right"].append(name)
    return counts


# ----------------------------------------------------------------------------------------------------------------------
# Below: the code that runs under a release.


def write(path: Path) -> None:
    """Every configuration class of this release as it writes itself."""
    written = {}
    for name, cls in _classes():
        for kind, options in _variants(cls):
            try:
                config = cls(**options)
                written[f"{name} {kind}".strip()] = {
                    "text": json.loads(config.to_json_string()),
                    "whole": json.loads(config.to_json_string(use_diff=False)),
                }
            except Exception as error:
                print(f"{name} {kind}: {type(error).__name__}: {error}", file=sys.stderr)
    path.write_text(json.dumps(written))


def read(path: Path, output: Path) -> None:
    """Read configurations that another release wrote; returns the results."""
    import copy

    classes = dict(_classes())
    results = {}
    for name, entry in json.loads(path.read_text()).items():
        cls = classes.get(name.partition(" ")[0])
        if cls is None:
            continue
        with _Heard() as said:
            try:
                config = cls.from_dict(copy.deepcopy(entry["text"]))
                back = json.loads(config.to_json_string(use_diff=False))
                if not _is_later():
                    _without_rope_parameters(back)  # an attribute that nothing in 4.x reads
                result = {"differs": dict(_differences(entry["whole"], back, "")), "said": sorted(said)}
            except Exception as error:
                result = {"error": f"{type(error).__name__}: {str(error)[:200]}", "said": sorted(said), "differs": {}}
        results[name] = result
    output.write_text(json.dumps(results))


def _classes() -> Iterator[tuple[str, Any]]:
    import importlib

    from transformers.models.auto import configuration_auto

    for model_type, name in configuration_auto.CONFIG_MAPPING_NAMES.items():
        folder = configuration_auto.model_type_to_module_name(model_type)
        try:
            module = importlib.import_module(f"transformers.models.{folder}")
            cls = getattr(module, name)
            cls()
        except Exception:  # it needs another library, or cannot be made without arguments
            continue
        yield name, cls


def _variants(cls: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "", {}
    made = cls()
    parameters = getattr(made, "rope_parameters", None)
    if isinstance(parameters, dict) and parameters:
        nested = any(isinstance(parameter, dict) for parameter in parameters.values())
        for kind, scaling in _SCALINGS.items():
            if not nested:
                kept = {key: value for key, value in parameters.items() if key in ("rope_type", "mrope_section")}
                kept.update({key: value for key, value in parameters.items() if key == "partial_rotary_factor"})
                yield kind, {"rope_parameters": {**kept, "rope_theta": 54321.0, **scaling}}
            elif kind in ("base", "linear"):
                layers = {key: dict(parameter) for key, parameter in parameters.items() if isinstance(parameter, dict)}
                for number, layer in enumerate(layers.values()):
                    layer["rope_theta"] = 54321.0 + number
                layers.get("full_attention", {}).update(scaling)
                yield kind, {"rope_parameters": layers}


_SCALINGS: dict[str, dict[str, Any]] = {
    "base": {},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
}


def _differences(wanted: Any, actual: Any, at: str) -> Iterator[tuple[str, list[Any]]]:
    """The values that both have and that differ after reading."""
    if not isinstance(wanted, dict) or not isinstance(actual, dict):
        if wanted != actual and not (wanted in (None, [], {}) and actual in (None, [], {})):
            yield at, [wanted, actual]
        return
    for key in sorted(wanted.keys() & actual.keys() - NOT_COMPARED - ROPE):
        yield from _differences(wanted[key], actual[key], f"{at}.{key}".lstrip("."))
    here, there = _rope(wanted), _rope(actual)
    for key in sorted(here.keys() & there.keys()):
        if here[key] != there[key]:
            yield f"{at}.rope.{key}".lstrip("."), [here[key], there[key]]


def _rope(config: dict[str, Any]) -> dict[str, Any]:
    """The rotary embedding of a configuration, in whichever form; a key for each base and scaling that it has."""
    meant: dict[str, Any] = {}
    names = {"rope_theta": "full", "rotary_emb_base": "full", "global_rope_theta": "full"}
    names |= {"rope_local_base_freq": "sliding", "local_rope_theta": "sliding"}
    for name, layer in names.items():
        if config.get(name) is not None:
            meant[f"{layer} base"] = float(config[name])
    for name in ("rotary_pct", "partial_rotary_factor"):
        if config.get(name) is not None:
            meant["fraction"] = float(config[name])
    if "rope_scaling" in config and "rope_parameters" not in config:
        meant["scaling"] = _scaling(config["rope_scaling"] or {})
    given = config.get("rope_parameters")
    if isinstance(given, dict) and given:
        full = given.get("full_attention", given)
        sliding = given.get("sliding_attention")
        if isinstance(full, dict):
            meant["scaling"] = _scaling(full)
            if full.get("rope_theta") is not None:
                meant["full base"] = float(full["rope_theta"])
            if full.get("partial_rotary_factor") is not None:
                meant["fraction"] = float(full["partial_rotary_factor"])
        if isinstance(sliding, dict) and sliding.get("rope_theta") is not None:
            meant["sliding base"] = float(sliding["rope_theta"])
    return meant


def _scaling(given: dict[str, Any]) -> Any:
    kind = given.get("rope_type") or given.get("type") or "default"
    if kind in ("default", "mrope", "axial"):
        return "default"
    keys = ("factor", "low_freq_factor", "high_freq_factor")
    return [kind, *(given.get(key) for key in keys)]


def _is_later() -> bool:
    import transformers

    return int(transformers.__version__.partition(".")[0]) >= 5


def _without_rope_parameters(config: Any) -> None:
    if isinstance(config, dict):
        config.pop("rope_parameters", None)
        for value in config.values():
            _without_rope_parameters(value)


class _Heard:
    """Collect the warnings of hotfix."""

    def __enter__(self) -> set[str]:
        import logging

        said: set[str] = set()

        class Hears(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if record.levelno >= logging.ERROR:
                    said.add(record.getMessage())

        from hotfix import session

        session.current().log._said.clear()  # else only the first configuration of a process gives its warnings
        self._handler = Hears()
        logging.getLogger("hotfix").addHandler(self._handler)
        return said

    def __exit__(self, *error: object) -> None:
        import logging

        logging.getLogger("hotfix").removeHandler(self._handler)


def _run(release: str, arguments: list[str], hotfix: bool) -> None:
    first = "import hotfix.auto; " if hotfix else ""
    code = f"{first}import sys; from tools.studies import configurations as c; c.in_child(sys.argv[1:])"
    done = run_script("-c", [code, *arguments], transformers=release, flash_attn=None, timeout=600)
    done.require()


def in_child(arguments: Sequence[str]) -> None:
    """The command of a child process of this tool."""
    if arguments[0] == "write":
        write(Path(arguments[1]))
    else:
        read(Path(arguments[1]), Path(arguments[2]))


if __name__ == "__main__":
    sys.exit(main())
