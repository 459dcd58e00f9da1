"""Translate a ``config.json`` of a later release of transformers into the form that another release understands.

Pure: a dictionary and the source of a release in, a new dictionary and findings out. Nothing is imported, nothing is
changed, and only the standard library is used. So it serves both a process that loads a model, and a program that
examines a folder for a release that is not installed.

Guarantees:

- A configuration that the release understands as it is comes back equal, without findings.
- Each finding names a key. `Outcome.TRANSLATED`: the release would misread or ignore the key in the file; the returned
  dictionary has the form that the release understands, with the same meaning. `Outcome.UNREADABLE`: the release cannot
  compute the value, or the value is not known here. It is kept as far as possible, and a model built from it is not the
  model of the file.
- Nothing is guessed. The source of a class in that release shows which arguments its configuration takes, which types
  of rotary embedding its model computes, and which keys these read.
- ``rope_parameters`` takes precedence over keys next to it, and ``rope_scaling`` over both, as in the releases that
  write them.

A release is given by a function that takes the name of a module (``transformers.models.llama.configuration_llama``) and
returns its source, or None. `hotfix.versions.verdict.read_installed` is one, for the installed release.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Callable, Optional

Reader = Callable[[str], Optional[str]]

THETA = ("rope_theta", "rotary_emb_base")
FRACTION = ("partial_rotary_factor", "rotary_pct")
LAYERS = {
    ("rope_theta", "rope_local_base_freq"): "Gemma 3",
    ("global_rope_theta", "local_rope_theta"): "ModernBERT",
}
"""Arguments for the base of full and of sliding attention, where a class has two."""

_COUNTS: dict[str, frozenset[str]] = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor"}),
    "llama3": frozenset({"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}),
    "longrope": frozenset(
        {"short_factor", "long_factor", "factor", "attention_factor", "original_max_position_embeddings"}
    ),
    "yarn": frozenset(
        {
            "factor",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
            "original_max_position_embeddings",
        }
    ),
}
"""The keys that 5.x uses for each type of rotary embedding; it keeps others without reading them."""

COMPUTED_WITH = {("LlamaConfig", "llama3"): "rope-scaling-validation-llama31"}
"""Types of rotary embedding that the model of a class computes in every release, and the fix with which it does."""

_CARRIED = frozenset().union(*_COUNTS.values())
_DTYPE = r"b?float\d+\w*|u?int\d+|complex\d+|bool"
"""A dtype as releases write it; any other value of the key is the program's own."""
_NEUTRAL = {"truncate": True}
_BASE = "transformers.configuration_utils"
_ROPE = "transformers.modeling_rope_utils"
AUTO = ("transformers.models.auto.configuration_auto", "transformers.models.auto.auto_mappings")
"""Modules with the tables of model types."""
_NO_CONFIGURATION = ("quantization_config", "compression_config", "rope_parameters", "rope_scaling")


class Rule(str, Enum):
    """A kind of keys that later releases write in another form."""

    ROPE = "rope_parameters"  #: base, scaling and fraction of the rotary embedding, in one dictionary
    DTYPE = "dtype"  #: of the weights, formerly ``torch_dtype``
    TEXT = "text_config"  #: of Qwen2-VL and Qwen2.5-VL, formerly part of the main configuration
    WINDOW = "sliding_window"  #: 0 for none, which some classes refuse


EVERY = frozenset(Rule)


class Outcome(str, Enum):
    """The result for a key."""

    TRANSLATED = "translated"  #: the key has the form that the release understands
    UNREADABLE = "unreadable"  #: the release cannot compute the value, or its meaning is unknown


@dataclass(frozen=True)
class Finding:
    """A key in a file that the release would misread, ignore or refuse.

    Attributes:
        key: path of the key, such as ``text_config.rope_parameters.rope_theta``.
        outcome: the result.
        sentence: how the release would read the key, and its translation.
        file: name of the file.
        fix: id of the fix with which the release can compute the value; empty if there is none.
    """

    key: str
    outcome: Outcome
    sentence: str
    file: str = "config.json"
    fix: str = ""


@dataclass(frozen=True)
class Understood:
    """The arguments and rotary embeddings that a configuration class and its model support in one release.

    Attributes:
        name: name of the class.
        module: its module.
        arguments: named arguments of its ``__init__``, with constant defaults.
        subordinate: names of its sub-configurations and their classes (``AutoConfig``: by ``model_type``).
        text: source of the class.
        model: source of its model's module; empty if there is none.
        types: types of rotary embedding that the model computes.
    """

    name: str
    module: str
    arguments: Mapping[str, Any]
    subordinate: Mapping[str, str]
    text: str
    model: str
    types: frozenset[str]


@dataclass
class Release:
    """The source of the configurations of one release.

    Attributes:
        read: takes the name of a module and returns its source, or None.
    """

    read: Reader
    _texts: dict[str, str] = field(default_factory=dict, repr=False)
    _trees: dict[str, ast.Module] = field(default_factory=dict, repr=False)
    _classes: dict[tuple[str, str], Optional[Understood]] = field(default_factory=dict, repr=False)
    _types: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    def text(self, module: str) -> str:
        """Source of a module; empty if there is none."""
        if module not in self._texts:
            self._texts[module] = self.read(module) or ""
        return self._texts[module]

    def knows_rope_parameters(self) -> bool:
        """Whether configurations have ``rope_parameters``: 5.0.0 and later."""
        return "rope_parameters" in self.text(_BASE)

    def knows_dtype(self) -> bool:
        """Whether the key is ``dtype`` and no longer ``torch_dtype``: 4.56.0 and later."""
        return '"dtype"' in self.text(_BASE)

    def class_of(self, model_type: str) -> Optional[Understood]:
        """The configuration class of a ``model_type``, or None if the release has none."""
        if not self._types:
            self._types.update(self._model_types())
        place = self._types.get(model_type)
        return self.understood(*place) if place else None

    def understood(self, module: str, name: str) -> Optional[Understood]:
        """Read the source of a configuration class; None if there is none.

        Args:
            module: module of the class.
            name: name of the class.
        """
        if (module, name) not in self._classes:
            self._classes[module, name] = self._understood(module, name)
        return self._classes[module, name]

    def rope_function(self, kind: str) -> str:
        """Source of the function that computes a type of rotary embedding for all models; empty if there is none."""
        return self.rope_functions().get(kind, "")

    def rope_functions(self) -> dict[str, str]:
        """Source of the functions that compute rotary embeddings for all models, by type."""
        text = self.text(_ROPE)
        table = re.search(r"^ROPE_INIT_FUNCTIONS\b[^{]*\{(.*?)^\}", text, re.M | re.S)
        functions = {}
        for kind, name in re.findall(r'"(\w+)": (\w+)', table.group(1) if table else ""):
            body = re.search(rf"^def {name}\(.*?(?=^(?:def|class|[@#A-Z])|\Z)", text, re.M | re.S)
            functions[kind] = _without_docstring(body.group(0) if body else "")
        return functions

    def _understood(self, module: str, name: str) -> Optional[Understood]:
        text = self.text(module)
        definition = self._definition(module, name)
        if definition is None:
            return None
        source = ast.get_source_segment(text, definition) or ""
        arguments = dict(self._arguments(module, definition))
        model = self.text(_model_module(module))
        subordinate = {key: cls for key, cls in _subordinates(definition)}
        types = self._computed(source, model)
        return Understood(name, module, arguments, subordinate, source, model, types)

    def _definition(self, module: str, name: str) -> Optional[ast.ClassDef]:
        if module not in self._trees:
            self._trees[module] = ast.parse(self.text(module))
        for node in self._trees[module].body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node
        return None

    def _arguments(self, module: str, definition: ast.ClassDef) -> Iterator[tuple[str, Any]]:
        """Arguments of a class, including those of its bases in the same module."""
        for base in definition.bases:
            parent = self._definition(module, base.id) if isinstance(base, ast.Name) else None
            if parent is not None:
                yield from self._arguments(module, parent)
        for node in definition.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                plain = node.args.args[len(node.args.args) - len(node.args.defaults) :]
                yield from ((argument.arg, None) for argument in node.args.args[1:])
                yield from ((argument.arg, _constant(value)) for argument, value in zip(plain, node.args.defaults))
                yield from (
                    (argument.arg, _constant(value))
                    for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults)
                )
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):  # classes of 5.x are dataclasses
                yield node.target.id, _constant(node.value)

    def _computed(self, text: str, model: str) -> frozenset[str]:
        """Types of rotary embedding that a model computes."""
        types = {"default"}
        if "rope_scaling" in model:
            if "ROPE_INIT_FUNCTIONS" in model:
                types.update(self.rope_functions())
            types.update(
                kind
                for kind, name in (("linear", "LinearScalingRotary"), ("dynamic", "DynamicNTKScalingRotary"))
                if name in model
            )
            types.update(
                kind
                for kind, pattern in (("longrope", r"class \w+(LongRoPE|SuScaled)\w*Rotary"),)
                if re.search(pattern, model)
            )
        listed = re.search(r"rope_scaling_type (?:not in \[([^\]]*)\]|!= (\"\w+\"))", text)
        if listed:  # the configuration refuses all others
            named = set(re.findall(r'"(\w+)"', listed.group(1) or listed.group(2)))
            types &= {"default", *named, *(["longrope"] if "su" in named else [])}
        return frozenset(types)

    def _model_types(self) -> Iterator[tuple[str, tuple[str, str]]]:
        names: dict[str, str] = {}
        special: dict[str, str] = {}
        deprecated: list[str] = []
        for module in AUTO:
            for node in ast.parse(self.text(module)).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
                for name, into in (("CONFIG_MAPPING_NAMES", names), ("SPECIAL_MODEL_TYPE_TO_MODULE_NAME", special)):
                    if isinstance(target, ast.Name) and target.id == name:
                        into.update(_pairs(node))
                if isinstance(target, ast.Name) and target.id == "DEPRECATED_MODELS":
                    deprecated = re.findall(r"'(\w+)'", ast.dump(node))
        for model_type, name in names.items():
            folder = special.get(model_type, model_type.replace("-", "_"))
            place = f"deprecated.{folder}" if folder in deprecated else folder
            yield model_type, (f"transformers.models.{place}.configuration_{folder}", name)


def configuration(
    config: Mapping[str, Any],
    release: Release,
    of: Optional[tuple[str, str]] = None,
    rules: frozenset[Rule] = EVERY,
    others: frozenset[str] = frozenset(),
) -> tuple[dict[str, Any], list[Finding]]:
    """Bring a configuration into the form that a release understands.

    Args:
        config: content of ``config.json``; it is not changed.
        release: the release that will read it.
        of: module and name of the configuration class, if it is not that of the ``model_type`` (remote code, or a class
            that the caller names).
        rules: the rules to apply; all other keys stay as they are, without a finding.
        others: model types whose classes are not the library's; their sub-configurations stay as they are.

    Returns:
        A new dictionary, and the findings. A ``model_type`` that the release lacks is left as it is, without a finding:
        the release raises its own error.
    """
    understood = release.understood(*of) if of else release.class_of(str(config.get("model_type", "")))
    if understood is None or release.knows_rope_parameters():
        return dict(config), []
    return _converted(dict(config), release, understood, "", rules, others)


def sub_class(understood: Understood, key: str, config: Mapping[str, Any], release: Release) -> Optional[Understood]:
    """Read the class of a sub-configuration; None if it is unknown.

    Args:
        understood: the main configuration.
        key: name of the sub-configuration.
        config: content of the sub-configuration.
        release: the release.
    """
    name = understood.subordinate.get(key, "AutoConfig")
    model_type = str(config.get("model_type", ""))
    if name != "AutoConfig":
        own = release.understood(understood.module, name)
        if own is not None:
            return own
        imported = re.search(rf"from \.\.(\w+)(?:\.\w+)? import [^\n]*\b{name}\b", release.text(understood.module))
        if imported:
            folder = imported.group(1)
            return release.understood(f"transformers.models.{folder}.configuration_{folder}", name)
    return release.class_of(model_type)


# ----------------------------------------------------------------------------------------------------------------------
# Below: one configuration.


def _converted(
    config: dict[str, Any],
    release: Release,
    understood: Understood,
    at: str,
    rules: frozenset[Rule],
    others: frozenset[str],
) -> tuple[dict[str, Any], list[Finding]]:
    findings: list[Finding] = []
    if Rule.TEXT in rules:
        config, findings = _flattened(config, understood, at)
    for key, value in list(config.items()):
        if not isinstance(value, dict) or key in _NO_CONFIGURATION:
            continue
        if not (key.endswith("_config") or "model_type" in value) or str(value.get("model_type")) in others:
            continue
        below = sub_class(understood, key, value, release)
        if below is not None:
            config[key], below_it = _converted(dict(value), release, below, f"{at}{key}.", rules, others)
            findings += below_it
        elif value.get("rope_parameters") and Rule.ROPE in rules:
            sentence = f"{understood.name} has no class for {key}, so it is unknown how it reads these values."
            findings.append(Finding(f"{at}{key}.rope_parameters", Outcome.UNREADABLE, sentence))
    if (
        Rule.DTYPE in rules
        and re.fullmatch(_DTYPE, str(config.get("dtype", "")))
        and not release.knows_dtype()
        and "dtype" not in understood.arguments
    ):
        value = config.pop("dtype")
        if config.get("torch_dtype") is None:
            config["torch_dtype"] = value
            sentence = (
                f"{understood.name} of this release reads only torch_dtype; hotfix passes {value} under that name."
            )
            findings.append(Finding(f"{at}dtype", Outcome.TRANSLATED, sentence))
    if Rule.WINDOW in rules and config.get("sliding_window") == 0 and config.get("use_sliding_window") is False:
        config["sliding_window"] = None
        sentence = "The masks of this release reject a window of 0; hotfix passes None, which also means no window."
        findings.append(Finding(f"{at}sliding_window", Outcome.TRANSLATED, sentence))
    if Rule.ROPE in rules and "rope_parameters" in config and "rope_parameters" not in understood.arguments:
        findings += _Rope(config, release, understood, f"{at}rope_parameters").converted()
    return config, findings


def _flattened(config: dict[str, Any], understood: Understood, at: str) -> tuple[dict[str, Any], list[Finding]]:
    """Before 4.52.0, Qwen2-VL and Qwen2.5-VL have the keys of the text model in the main configuration."""
    text = config.get("text_config")
    own = str(config.get("model_type", ""))
    if not isinstance(text, dict) or not own or text.get("model_type") not in (own, f"{own}_text"):
        return config, []
    if "text_config" in understood.arguments or "text_config" in understood.subordinate:
        return config, []
    if not {"hidden_size", "num_hidden_layers", "vocab_size"} <= understood.arguments.keys():
        return config, []
    hidden = ("model_type", "architectures", "transformers_version")
    # Both have the ids of special tokens; generation uses those of the main configuration.
    moved = {key: value for key, value in text.items() if key not in hidden and config.get(key) is None}
    rest = {key: value for key, value in config.items() if key != "text_config"}
    sentence = f"{understood.name} of this release has these keys among its own and would use its defaults."
    return {**rest, **moved}, [Finding(f"{at}text_config", Outcome.TRANSLATED, sentence)]


class _Rope:
    """Translates the ``rope_parameters`` of one configuration to the arguments of its class."""

    def __init__(self, config: dict[str, Any], release: Release, understood: Understood, key: str) -> None:
        self.config = config
        self.release = release
        self.understood = understood
        self.key = key
        self.findings: list[Finding] = []

    def converted(self) -> list[Finding]:
        given = self.config.pop("rope_parameters")
        scaling = self.config.get("rope_scaling")
        if isinstance(scaling, dict) and scaling:
            # In the releases that write rope_parameters, rope_scaling takes precedence.
            given = scaling if "rope_theta" in scaling else None
        if given is None or given == {}:
            return []
        if not isinstance(given, dict):
            self._unreadable("", f"is {given!r}, and a dictionary was expected")
            return self.findings
        if any(isinstance(value, dict) for value in given.values()):
            self._by_layer(given)
        else:
            self._flat(given, self._name_of(THETA))
        return self.findings

    def _by_layer(self, given: Mapping[str, Any]) -> None:
        layers = {name: value for name, value in given.items() if value is not None}
        strangers = [name for name, value in layers.items() if not isinstance(value, dict)]
        for name in strangers:
            self._unreadable(name, "is listed among the layer types but is not one")
        layers = {name: _without_none(value) for name, value in layers.items() if name not in strangers}
        full, sliding = layers.get("full_attention"), layers.get("sliding_attention")
        bases = next((pair for pair in LAYERS if set(pair) <= self.understood.arguments.keys()), None)
        if bases and full is not None and layers.keys() <= {"full_attention", "sliding_attention"}:
            self._flat(full, bases[0], "full_attention.")
            if sliding is not None:
                self._base_alone(sliding, bases[1], "sliding_attention.")
        elif len({json.dumps(value, sort_keys=True) for value in layers.values()}) == 1:
            self._flat(next(iter(layers.values())), self._name_of(THETA))
        elif (
            full is not None
            and sliding is not None
            and layers.keys() == {"full_attention", "sliding_attention"}
            and re.search(r"\"sliding_attention\": \w+\(config=config, rope_type=\"default\"\)", self.understood.model)
            and full.get("rope_theta") == sliding.get("rope_theta")
            and _kind(sliding) == "default"
        ):
            # Olmo 3 in 4.57 has one base, and scales it for full attention only.
            self._flat(full, self._name_of(THETA), "full_attention.")
        else:
            names = ", ".join(sorted(layers))
            self._unreadable("", f"differs by layer ({names}), and {self.understood.name} of this release has one base")

    def _base_alone(self, given: Mapping[str, Any], name: str, at: str) -> None:
        """Set the base of a layer type for which the release computes the default type only."""
        given = dict(given)
        base = given.pop("rope_theta", None)
        kind = _kind(given)
        given = {key: value for key, value in given.items() if key not in ("rope_type", "type")}
        if kind != "default" or given.pop("partial_rotary_factor", 1.0) != 1.0:
            self._unreadable(f"{at}rope_type", f"is {kind!r}, and this release computes the default type there")
        for key in sorted(given.keys() & _CARRIED - {"original_max_position_embeddings"}):
            self._unreadable(f"{at}{key}", "is ignored by this release for that layer type")
        if base is not None:
            self._set(name, base, f"{at}rope_theta")

    def _flat(self, given: Mapping[str, Any], theta: str, at: str = "") -> None:
        given = _without_none(given)
        base = given.pop("rope_theta", None)
        if base is not None:
            self._base(theta, base, at)
        fraction = given.pop("partial_rotary_factor", None)
        if fraction is not None:
            self._fraction(fraction, at)
        kind = _kind(given)
        rest = {key: value for key, value in given.items() if key not in ("rope_type", "type")}
        if kind not in self.understood.types:
            computed = ", ".join(sorted(self.understood.types))
            fix = COMPUTED_WITH.get((self.understood.name, kind), "")
            self._unreadable(f"{at}rope_type", f"is {kind!r}; the model of this release computes {computed}", fix)
            self.config["rope_scaling"] = {"rope_type": kind, **rest}
            return
        rest = self._read_by(kind, rest, at)
        if kind == "default" and not rest:
            if self.understood.arguments.get("rope_scaling") is not None:
                self.config["rope_scaling"] = None  # its own default is another type
            elif "rope_scaling" in self.config and not self.config["rope_scaling"]:
                self.config["rope_scaling"] = None
            return
        self._scaling(kind, rest, at)

    def _base(self, name: str, base: Any, at: str) -> None:
        by_all = ".rope_theta" in self.release.text(_ROPE) and "ROPE_INIT_FUNCTIONS" in self.understood.model
        if name in self.understood.arguments:
            self._set(name, base, f"{at}rope_theta")
        elif base == 10000.0:
            return  # the base of a class without such an argument
        elif by_all or f".{name}" in self.understood.model:
            self._set(name, base, f"{at}rope_theta")
        else:
            self._unreadable(f"{at}rope_theta", f"is {base}, and {self.understood.name} of this release has no base")

    def _fraction(self, fraction: Any, at: str) -> None:
        name = self._name_of(FRACTION)
        by_all = "partial_rotary_factor" in self.release.text(_ROPE) and "ROPE_INIT_FUNCTIONS" in self.understood.model
        if name in self.understood.arguments or f".{name}" in self.understood.model:
            self._set(name, fraction, f"{at}partial_rotary_factor")
        elif fraction == 1.0 or (fraction == 0.5 and "head_dim // 2" in self.understood.model):
            return  # the fraction that the model of this release computes anyway
        elif by_all:
            self._set("partial_rotary_factor", fraction, f"{at}partial_rotary_factor")
        else:
            sentence = f"is {fraction}, and the model of this release rotates whole heads"
            self._unreadable(f"{at}partial_rotary_factor", sentence)

    def _read_by(self, kind: str, rest: dict[str, Any], at: str) -> dict[str, Any]:
        """Move keys to the places where the release reads them, and report those that it does not read."""
        function = self.release.rope_function(kind) if "ROPE_INIT_FUNCTIONS" in self.understood.model else ""
        reads = function + self.understood.model + self.understood.text
        rest = {key: value for key, value in rest.items() if _NEUTRAL.get(key) != value or f'"{key}"' in reads}
        counts = _COUNTS.get(kind, frozenset(rest))
        original = rest.get("original_max_position_embeddings")
        longest = self.config.get("max_position_embeddings", self.understood.arguments.get("max_position_embeddings"))
        if kind not in ("llama3", "yarn", "longrope"):
            # 5.x keeps this key, but uses max_position_embeddings.
            rest.pop("original_max_position_embeddings", None)
        elif kind == "longrope" and original is not None:
            rest.pop("original_max_position_embeddings")
            own = "original_max_position_embeddings" in self.understood.arguments
            if own or re.search(r"config[.,] ?\"?original_max_position_embeddings", reads):
                self._set("original_max_position_embeddings", original, f"{at}original_max_position_embeddings")
                factor = rest.get("factor")
                if factor is not None and longest and factor == longest / original:
                    rest.pop("factor")  # the release takes the ratio, too
                elif factor is not None:
                    sentence = (
                        f"is {factor}, and this release takes the ratio of the two lengths ({longest}/{original})"
                    )
                    self._unreadable(f"{at}factor", sentence)
        elif kind == "yarn" and original is not None:
            by_ratio = "factor = config.max_position_embeddings / original_max_position_embeddings" in function
            if original == longest and (by_ratio or '"original_max_position_embeddings"' not in reads):
                rest.pop("original_max_position_embeddings")  # the release uses the same number by default
            elif by_ratio and longest and rest.get("factor") != longest / original:
                sentence = f"is {rest.get('factor')}, and this release takes {longest}/{original}"
                self._unreadable(f"{at}factor", sentence)
        for key in sorted(rest):
            if key in _CARRIED and key not in counts:
                rest.pop(key)  # 5.x does not read it either
            elif f'"{key}"' not in reads and f"'{key}'" not in reads:
                self._unreadable(f"{at}{key}", f"is {rest[key]!r}, and nothing in this release reads it")
        return rest

    def _scaling(self, kind: str, rest: Mapping[str, Any], at: str) -> None:
        text = self.understood.text
        name, spelled = "rope_type", kind
        if "rope_type" not in text + self.understood.model or ('get("type"' in text and "rope_type" not in text):
            name = "type"
        if kind == "longrope" and '"su"' in text and '"longrope"' not in text:
            spelled = "su"
        scaling = {name: spelled, **rest}
        fields = re.search(r"len\(self\.rope_scaling\) != (\d)", text)
        if fields and len(scaling) != int(fields.group(1)):
            sentence = f"makes {', '.join(sorted(scaling))}, and this release takes {fields.group(1)} fields"
            self._unreadable(at.rstrip("."), sentence)
        self.config["rope_scaling"] = scaling
        model = self.understood.name
        sentence = f"{model} of this release reads only rope_scaling; hotfix passes {spelled} under that name."
        self.findings.append(Finding(f"{self.key}.{at}rope_type", Outcome.TRANSLATED, sentence))

    def _set(self, name: str, value: Any, key: str) -> None:
        before = self.config.get(name, self.understood.arguments.get(name))
        if before != value:  # an equal number may be written another way (10000 and 10000.0)
            self.config[name] = value
            sentence = f"{self.understood.name} of this release would use {name}={before}; hotfix passes {value}."
            self.findings.append(Finding(f"{self.key}.{key}", Outcome.TRANSLATED, sentence))

    def _unreadable(self, key: str, sentence: str, fix: str = "") -> None:
        name = f"{self.key}.{key}".rstrip(".")
        self.findings.append(Finding(name, Outcome.UNREADABLE, f"{name} {sentence}.", fix=fix))

    def _name_of(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if name in self.understood.arguments), names[0])


# ----------------------------------------------------------------------------------------------------------------------
# Below: pieces of source.


def _kind(given: Mapping[str, Any]) -> str:
    kind = given.get("rope_type") or given.get("type") or "default"
    # "mrope" is the default type with sections, "axial" the unnamed type of the vision towers of 4.x, and "su" the old
    # name of longrope.
    return {"mrope": "default", "axial": "default", "su": "longrope"}.get(str(kind), str(kind))


def _without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _model_module(module: str) -> str:
    package, _, leaf = module.rpartition(".")
    return f"{package}.{leaf.replace('configuration', 'modeling', 1)}" if leaf.startswith("configuration") else ""


def _constant(node: Optional[ast.expr]) -> Any:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _subordinates(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if getattr(node.targets[0], "id", "") != "sub_configs":
                continue
            for key, value in zip(node.value.keys, node.value.values):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Name):
                    yield str(key.value), value.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Config"):
            for word in node.keywords:  # Gemma3TextConfig(**text_config)
                if word.arg is None and isinstance(word.value, ast.Name):
                    yield word.value.id, node.func.id


def _pairs(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """The pairs of strings in a table, written as a dictionary or as tuples."""
    for part in ast.walk(node):
        if isinstance(part, ast.Dict):
            pairs = list(zip(part.keys, part.values))
        elif isinstance(part, ast.Tuple) and len(part.elts) == 2:
            pairs = [(part.elts[0], part.elts[1])]
        else:
            continue
        for key, value in pairs:
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                yield str(key.value), str(value.value)


def _without_docstring(text: str) -> str:
    return re.sub(r'"""(?:.|\n)*?"""', "", text, count=1)


def named(findings: list[Finding], file: str) -> list[Finding]:
    """The same findings of a file with another name."""
    return [replace(finding, file=file) for finding in findings]
