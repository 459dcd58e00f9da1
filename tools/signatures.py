"""The parameters that functions and methods of transformers have gained, lost, renamed or moved, by release.

    python -m tools.signatures            read the wheels in the cache, write docs/data/signatures.txt and the page
    python -m tools.signatures --check    compare the written files with the wheels; nothing is written

The table has the functions and methods that other packages call or override: those of the modules in `SURFACE`, and in
`hotfix.names` nothing of it is read at run time. Nothing is imported from a wheel: signatures are read from syntax
trees, those of dataclasses from their fields. A name that ``@deprecate_kwarg`` translates counts as a parameter.

A line of the table is one change::

    trainer:Trainer.log 4.47.0 added start_time=None at 2
    trainer:Trainer._save_checkpoint 4.47.0 removed metrics=None at 3
    masking_utils:create_causal_mask 5.9.0 renamed input_embeds inputs_embeds
    trainer:Trainer.create_optimizer 5.2.0 default model None ...

It has the function, the first release with the change, its kind and the parameter: ``added`` and ``removed`` with the
default and the position (``at *`` for a parameter that is given by name only), ``renamed`` with both names, ``moved``
with both positions, ``default`` with both defaults, ``any`` and ``no`` for ``**kwargs`` that came or went.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.util import decode_source
from pathlib import Path
from typing import Any, NamedTuple, Optional

from packaging.version import Version

from hotfix.names import parameters_adapted
from hotfix.names.parameters_adapted import Row
from hotfix.versions import source

from . import symbols, wheels

PACKAGE = symbols.PACKAGE
ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "data" / "signatures.txt"
PAGE = ROOT / "docs" / "signatures.md"
ROWS = parameters_adapted.FILE

SURFACE = re.compile(
    r"transformers\.(trainer(_callback|_seq2seq|_utils|_pt_utils|_optimizer)?|training_args(_seq2seq)?|modeling_utils"
    r"|modeling_layers|modeling_attn_mask_utils|modeling_flash_attention_utils|modeling_rope_utils|masking_utils"
    r"|cache_utils|configuration_utils|pytorch_utils|optimization|activations|initialization"
    r"|tokenization_(utils|utils_base|utils_fast|utils_tokenizers|utils_sentencepiece|python)"
    r"|processing_utils|image_processing_(base|utils|utils_fast|backends)|image_transforms|image_utils"
    r"|feature_extraction_(utils|sequence_utils)|video_processing_utils|video_utils|audio_utils"
    r"|generation\.(utils|configuration_utils|logits_process|stopping_criteria|streamers|candidate_generator)"
    r"|data\.data_collator|pipelines\.base|quantizers\.base|loss\.loss_utils"
    r"|integrations\.(peft|deepspeed|accelerate|sdpa_attention|flash_attention|eager_paged|flex_attention)"
    r"|modeling_outputs|backbone_utils|utils\.(backbone_utils|generic|hub|import_utils|logging))$"
)
"""The modules whose functions and methods other packages call or override."""

MODELS = re.compile(
    r"transformers\.models\.(llama|mistral|qwen2|qwen2_vl|qwen2_5_vl|qwen3|gemma|gemma2|phi3|bert|roberta|gpt2|t5|bart"
    r"|clip|vit|llava|whisper|mixtral|gpt_neox|opt|bloom|falcon)\.(modeling|processing|image_processing"
    r"|tokenization|feature_extraction)_(?!tf_|flax_)\w+$"
)
"""The models that most code inherits from or copies."""

OF_MODELS = re.compile(
    r"(^apply_rotary_pos_emb\w*|^repeat_kv|(Model|For\w+|Attention|Layer|Block|MLP|RotaryEmbedding)\.forward"
    r"|RotaryEmbedding\.__init__|\.(__call__|_?preprocess|prepare_inputs_for_generation|_?pad|batch_decode|get_rope_index"
    r"|get_\w+_features|_update_causal_mask|_init_weights|_prepare_cache_for_generation))$"
)
"""The functions of models that are called or overridden."""

INTERNAL = re.compile(
    r"^modeling_utils:(_(?!init_weights)\w+|\w+\._(load_pretrained_model\w*|load_state_dict\w*|find_\w+|adjust_missing\w+"
    r"|initialize_missing_keys|move_missing\w+))$|^generation\.utils:\w+\.(greedy_search|sample|beam_sample|beam_search"
    r"|group_beam_search|constrained_beam_search|contrastive_search|assisted_decoding)$|Output\.__init__$"
)
"""Parts that nobody outside calls, and the searches whose names 4.39.0 gave to functions that only raise."""


class Parameter(NamedTuple):
    """A parameter of a function.

    Attributes:
        name: its name.
        place: its position without ``self``; None if it is given by name only.
        default: the default as source; None if it must be given.
        deprecated: whether only a decorator knows the name.
    """

    name: str
    place: Optional[int]
    default: Optional[str] = None
    deprecated: bool = False

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{self.name}{default} at {'*' if self.place is None else self.place}"


class Signature(NamedTuple):
    """The parameters of a function by name, and whether it takes any other argument by name."""

    parameters: Mapping[str, Parameter]
    any_name: bool


LONGEST_DEFAULT = 60


def signature_of(node: ast.AST, is_method: bool) -> Signature:
    """The signature of a definition; ``self`` and ``cls`` do not count."""
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = list(zip(positional, defaults))
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if is_method and "staticmethod" not in decorators:
        pairs = pairs[1:]
    result = {item.arg: Parameter(item.arg, place, _text(default)) for place, (item, default) in enumerate(pairs)}
    for first, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        result[first.arg] = Parameter(first.arg, None, _text(default))
    for decorator in node.decorator_list:
        for name in _translated(decorator):
            result.setdefault(name, Parameter(name, None, "...", deprecated=True))
    return Signature(result, arguments.kwarg is not None)


def _text(default: Optional[ast.expr]) -> Optional[str]:
    if default is None:
        return None
    text = "".join(ast.unparse(default).split())
    return text if len(text) <= LONGEST_DEFAULT else "..."


def _translated(decorator: ast.expr) -> Iterator[str]:
    """The old names that a decorator translates: the first argument of ``@deprecate_kwarg("old", …)``."""
    if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "deprecate_kwarg":
        first = [*decorator.args[:1], *(pair.value for pair in decorator.keywords if pair.arg == "old_name")]
        yield from (item.value for item in first if isinstance(item, ast.Constant) and isinstance(item.value, str))


def _signatures(body: Iterable[ast.stmt], owner: str) -> Iterator[tuple[str, Signature]]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [ast.unparse(decorator) for decorator in statement.decorator_list]
            if not any("overload" in decorator or decorator.endswith(".setter") for decorator in decorators):
                yield f"{owner}{statement.name}", signature_of(statement, bool(owner))
        elif isinstance(statement, ast.ClassDef):
            own = dict(_signatures(statement.body, f"{owner}{statement.name}."))
            if any(re.match(r"dataclass\b", ast.unparse(decorator)) for decorator in statement.decorator_list):
                own.setdefault(f"{owner}{statement.name}.__init__", _of_fields(statement))
            yield from own.items()
        elif isinstance(statement, (ast.If, ast.Try)):
            inner = [*statement.body, *statement.orelse]
            for handler in getattr(statement, "handlers", ()):
                inner += handler.body
            yield from _signatures(inner, owner)


def _of_fields(definition: ast.ClassDef) -> Signature:
    """The signature of the constructor of a dataclass, without inherited fields."""
    results: dict[str, Parameter] = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if "ClassVar" in ast.unparse(statement.annotation):
                continue
            name, value = statement.target.id, statement.value
            if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "field":
                given = {pair.arg: pair.value for pair in value.keywords}
                if isinstance(given.get("init"), ast.Constant) and given["init"].value is False:  # type: ignore[attr-defined]
                    continue
                factory = given.get("default_factory")
                value = given.get("default")
                default = f"{ast.unparse(factory)}()" if factory is not None else _text(value)
            else:
                default = _text(value)
            results[name] = Parameter(name, len(results), default and "".join(default.split())[:LONGEST_DEFAULT])
    return Signature(results, False)


# ---------------------------------------------------------------------------------------------------------------------
# Below: changes.


class Change(NamedTuple):
    """A change of a signature.

    Attributes:
        function: ``module:qualname``, without the name of the package.
        release: the first release with it.
        kind: see the docstring of this module.
        detail: the parameter, and what became of it.
    """

    function: str
    release: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return " ".join(self).rstrip()


def changes(before: Signature, after: Signature) -> Iterator[tuple[str, str]]:
    """The kind and detail of each difference between two signatures of a function."""
    old, new = before.parameters, after.parameters
    lost = [value for value in old.values() if value.name not in new]
    gained = [value for value in new.values() if value.name not in old and not value.deprecated]
    for item in list(lost):
        same = [
            two for two in gained if two.place is not None and (two.place, two.default) == (item.place, item.default)
        ]
        if same and not item.deprecated and _looks_alike(item.name, same[0].name):
            lost.remove(item)
            gained.remove(same[0])
            yield "renamed", f"{item.name} {same[0].name}"
    yield from (("removed", str(item)) for item in lost)
    yield from (("added", str(item)) for item in gained)
    both = {name for name in old if name in new and None not in (old[name].place, new[name].place)}
    for name in old.keys() & new.keys():
        item, two = old[name], new[name]
        if item.deprecated or two.deprecated:
            if two.deprecated and not item.deprecated:
                yield "translated", name
            continue
        if item.default != two.default:
            yield "default", f"{name} {_default(item)} {_default(two)}"
    order = [
        [value.name for value in each.values() if value.place is not None and value.name in both] for each in (old, new)
    ]
    if order[0] != order[1]:
        yield "moved", f"{','.join(order[0])} {','.join(order[1])}"
    if before.any_name != after.any_name:
        yield ("any" if after.any_name else "no"), "**"


def _looks_alike(name: str, other: str) -> bool:
    """Whether one name may stand for the other: they share a word, or one is a plural."""
    words, others = set(name.strip("_").split("_")), set(other.strip("_").split("_"))
    return bool(words & others) or name.rstrip("s") == other.rstrip("s")


def _place(parameter: Parameter) -> str:
    return "*" if parameter.place is None else str(parameter.place)


def _default(parameter: Parameter) -> str:
    return "-" if parameter.default is None else parameter.default


class Call(NamedTuple):
    """A statement of the library that calls a hook.

    Attributes:
        owner: the object with the hook, as source: ``self``.
        hook: the name of the method.
        names: the arguments that are given by name.
        positions: the number of the others; None if ``*args`` is among them.
    """

    owner: str
    hook: str
    names: frozenset[str]
    positions: Optional[int]


class Facts(NamedTuple):
    """The signatures of a source, and the calls of hooks in each of its functions, a tuple for each statement."""

    signatures: dict[str, Signature]
    calls: dict[str, list[tuple[Call, ...]]]


def facts_of(text: str, hooks: frozenset[str]) -> Facts:
    """The facts of a source."""
    tree = source.parse(text)
    calls = {}
    if any(hook in text for hook in hooks):
        for name, node in source.functions(tree):
            result = [
                tuple(each) for each in map(partial(_calls, hooks), parameters_adapted.simple_statements(node)) if each
            ]
            if result:
                calls[name] = result
    return Facts(dict(_signatures(tree.body, "")), calls)


def _calls(hooks: frozenset[str], statement: ast.AST) -> list[Call]:
    return [
        Call(
            ast.unparse(node.func.value),
            node.func.attr,
            frozenset(pair.arg for pair in node.keywords if pair.arg),
            None if any(isinstance(argument, ast.Starred) for argument in node.args) else len(node.args),
        )
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in hooks
    ]


class Release(NamedTuple):
    """The signatures of a release, and its calls of hooks, by ``module:qualname`` without the name of the package."""

    signatures: dict[str, Signature]
    calls: dict[str, list[tuple[Call, ...]]]


def read(library: wheels.Library, hooks: frozenset[str]) -> dict[Version, Release]:
    """The facts of each release."""
    wanted: dict[Path, list[wheels.Content]] = defaultdict(list)
    for content in library.contents:
        if any(SURFACE.match(module) or MODELS.match(module) for module in content.modules):
            wanted[content.wheel].append(content)
    results = {}
    for contents in wanted.values():
        for content, data in wheels.texts(contents):
            results[content.number] = facts_of(decode_source(data), hooks)
    releases = {}
    for version, modules in library.modules.items():
        release = releases[version] = Release({}, {})
        for module, number in modules.items():
            if number not in results or not (SURFACE.match(module) or MODELS.match(module)):
                continue
            short = module.partition(".")[2]
            release.signatures.update({f"{short}:{name}": each for name, each in results[number].signatures.items()})
            release.calls.update({f"{short}:{name}": each for name, each in results[number].calls.items()})
    return releases


def is_listed(function: str) -> bool:
    """Whether the table has the changes of a function."""
    module, _, name = function.partition(":")
    if MODELS.match(f"{PACKAGE}.{module}"):
        return OF_MODELS.search(name) is not None and not INTERNAL.search(function)
    return not INTERNAL.search(function)


def table(releases: Mapping[Version, Release]) -> list[Change]:
    """All changes, sorted by function and release."""
    known: dict[str, Signature] = {}
    results = []
    for version, release in sorted(releases.items()):
        for function, signature in release.signatures.items():
            if not is_listed(function):
                continue
            before = known.get(function)
            if before is not None and before != signature:
                results += [Change(function, str(version), *change) for change in changes(before, signature)]
            known[function] = signature
    return sorted(results, key=lambda change: (change.function, Version(change.release), change.kind, change.detail))


# ---------------------------------------------------------------------------------------------------------------------
# Below: the rows that the two adapters read.

REMOVED: dict[str, dict[str, str]] = {
    "generation.utils:GenerationMixin._has_unfinished_sequences": {"cur_len": "*", "max_length": "*"},
    "generation.utils:GenerationMixin._prepare_cache_for_generation": {"device": "@self"},
    "generation.utils:GenerationMixin._update_model_kwargs_for_generation": {"standardize_cache_format": ""},
    "modeling_utils:ModuleUtilsMixin.create_extended_attention_mask_for_decoder": {"device": "@attention_mask"},
    "modeling_utils:ModuleUtilsMixin.get_extended_attention_mask": {"device": "@attention_mask"},
    "modeling_utils:no_init_weights": {"_enable": ""},
    "pipelines.base:PipelineRegistry.register_pipeline": {"tf_model": ""},
    "trainer:Trainer._save_checkpoint": {"metrics": ""},
    "training_args:TrainingArguments.set_evaluate": {"jit_mode": ""},
    "training_args:TrainingArguments.set_lr_scheduler": {"warmup_ratio": ""},
    "training_args:TrainingArguments.set_testing": {"jit_mode": ""},
}
"""Removed parameters that callers may pass, with the values that may be omitted; empty for the old default.

``cur_len`` and ``max_length`` counted in graphs of torch.compile only. ``device`` was ignored, or that of the mask or
of the model is taken.
"""

NEWER: dict[str, dict[str, str]] = {
    "data.data_collator:DataCollatorForLanguageModeling.numpy_mask_tokens": {"offset_mapping": ""},
    "data.data_collator:DataCollatorForLanguageModeling.torch_mask_tokens": {"offset_mapping": ""},
    "modeling_utils:PreTrainedModel._get_resized_embeddings": {"mean_resizing": ""},
    "modeling_utils:PreTrainedModel._get_resized_lm_head": {"mean_resizing": ""},
    "modeling_utils:PreTrainedModel._resize_token_embeddings": {"mean_resizing": ""},
    "modeling_utils:PreTrainedModel._set_gradient_checkpointing": {"every_n_layers": ""},
    "modeling_utils:PreTrainedModel.gradient_checkpointing_enable": {
        "every_n_layers": "1",
        "gradient_checkpointing_kwargs": "None|{}",
        "offload": "False",
    },
    "processing_utils:ProcessorMixin._get_arguments_from_pretrained": {"processor_dict": "*"},
    "tokenization_utils_base:PreTrainedTokenizerBase.pad": {"padding_side": ""},
}
"""Newer parameters that the library passes to overrides, with the values that may be omitted; empty for the default.

Any ``processor_dict``: before 5.0.0, the override found out by itself what it needs.
"""

UNLISTED = frozenset({"tokenization_utils_tokenizers:TokenizersBackend._encode_plus"})
"""Functions with such a call that stay as they are: this one calls ``pad`` for one argument of 5.23.0 alone."""

OWNERS = ("self", "cls", "self.model")
"""The objects whose methods are hooks, in the functions that call them."""

HOOKS = frozenset(function.rpartition(".")[2] for function in NEWER)


def removed_rows(releases: Mapping[Version, Release]) -> Iterator[Row]:
    """The rows of the parameters in `REMOVED`."""
    for function, wanted in REMOVED.items():
        for parameter, value in wanted.items():
            having = [
                (release.signatures[function].parameters[parameter], _positional(release.signatures[function]))
                for _, release in sorted(releases.items())
                if function in release.signatures and parameter in release.signatures[function].parameters
            ]
            lacking: dict[tuple[Optional[int], str], list[Version]] = {}
            for version, release in sorted(releases.items()):
                signature = release.signatures.get(function)
                if signature is None or signature.any_name or parameter in signature.parameters:
                    continue
                state = _last_place(having[-1], _positional(signature))
                lacking.setdefault(state, []).append(version)
            strictest = max((beside for _, beside in lacking), default="")
            places = {place for place, _ in lacking}
            every = sorted(version for versions in lacking.values() for version in versions)
            if len(places) == 1:  # else the position depends on the release, and there is no row
                allowed = value or str(having[-1][0].default)
                releases_of_row = _specifier(every, sorted(releases))
                yield Row("removed", function, releases_of_row, parameter, places.pop(), allowed, strictest)


def _specifier(broken: list[Version], every: list[Version]) -> str:
    """A specifier for these releases among all: from the first on, without those that are not among them."""
    parts = [f">={broken[0]}"]
    after = [version for version in every if version > broken[-1]]
    if after:
        parts.append(f"<{after[0]}")
    between = [version for version in every if broken[0] < version < broken[-1] and version not in broken]
    series: dict[str, list[Version]] = {}
    for version in between:
        series.setdefault(f"{version.major}.{version.minor}", []).append(version)
    for name, versions in series.items():
        is_whole = not any(f"{version.major}.{version.minor}" == name for version in broken)
        parts += [f"!={name}.*"] if is_whole else [f"!={version}" for version in versions]
    return ",".join(parts)


def _positional(signature: Signature) -> list[str]:
    return [parameter.name for parameter in signature.parameters.values() if parameter.place is not None]


def _last_place(had: tuple[Parameter, list[str]], names: list[str]) -> tuple[Optional[int], str]:
    """The position at which a removed parameter may still be given, and the argument that must be None for that.

    It is behind all others, and these are the same as before; another one may differ if it is None.
    """
    parameter, before = had
    place = parameter.place
    if place is None or len(names) > place:
        return None, ""
    other = [number for number, (item, two) in enumerate(zip(before, names)) if item != two]
    if len(other) > 1 or len(names) < place - 1:
        return None, ""
    return place, f"{other[0]}=None" if other else ""


def newer_rows(releases: Mapping[Version, Release]) -> Iterator[Row]:
    """The rows of the parameters in `NEWER`, for each function of the library that passes them."""
    sites = sorted({site for release in releases.values() for site in release.calls})
    for site in sites:
        if site in UNLISTED or not SURFACE.match(f"{PACKAGE}.{site.partition(':')[0]}"):
            continue
        states: dict[Row, list[tuple[Version, Any]]] = {}
        for number, (version, release) in enumerate(sorted(releases.items())):
            known = [*_newer_in(release, site)]
            count = sum(
                any(_is_passed(call, row) for call in calls for row in known) for calls in release.calls.get(site, ())
            )
            for row in known:
                own = states.setdefault(row._replace(place=None), [])
                own += [(version, None) for version in sorted(releases)[len(own) : number]]
                own.append((version, (row.place, count)))
        for row, own in states.items():
            own += [(version, None) for version in sorted(releases)[len(own) :]]
            for specifier, (place, count) in _runs(own):
                yield row._replace(releases=specifier, place=place, count=count)


def _newer_in(release: Release, site: str) -> Iterator[Row]:
    for function, wanted in NEWER.items():
        base = release.signatures.get(function)
        for parameter, value in wanted.items() if base else ():
            item = base.parameters.get(parameter) if base else None
            if item is None and value in ("", "*"):
                continue
            place = item.place if item else None
            allowed = value or str(item and item.default)
            for owner in OWNERS:
                row = Row("newer", function, "", parameter, place, allowed, "", site, owner)
                if any(_is_passed(call, row) for calls in release.calls.get(site, ()) for call in calls):
                    yield row


def _is_passed(call: Call, row: Row) -> bool:
    if (call.hook, call.owner) != (row.method, row.owner):
        return False
    given = call.positions is not None and row.place is not None and call.positions > row.place
    return row.parameter in call.names or given


def _runs(states: list[tuple[Version, Any]]) -> Iterator[tuple[str, Any]]:
    """Each state that is not None, with the releases that have it as a specifier."""
    last: Any = None
    begin = None
    for version, state in [*states, (None, None)]:
        if state != last and last is not None:
            yield f">={begin}" if version is None else f">={begin},<{version}", last
        if state != last:
            begin, last = version, state


def adapted(releases: Mapping[Version, Release]) -> list[Row]:
    """All rows for the adapters, in their order in the file."""
    return sorted([*removed_rows(releases), *newer_rows(releases)], key=str)


# ---------------------------------------------------------------------------------------------------------------------
# Below: what becomes of each change, and the page.

REASONS = {
    "needed": "a parameter without a default: the caller does not have the value",
    "renamed": "an argument has another name, which a fix of its own has to translate",
    "runs": "no error follows: a default, more arguments by name, an old name that the release translates",
    "silent": "the argument goes into `**kwargs`, and no error follows",
    "order": "arguments by position have another meaning",
    "value": "only values without effect can be omitted, and the old default is none: the parameter had to be given",
    "unpassed": "the library does not pass it to overrides",
}
"""Why a change has no adapter."""

FIXES = {
    "generation.utils:GenerationMixin._extract_past_from_model_output": "extract-past-from-model-output-changed",
    "generation.utils:GenerationMixin.prepare_inputs_for_generation": "v5-generate-position-ids",
    "modeling_utils:PreTrainedModel._check_and_adjust_attn_implementation": "v5-check-attn-override-signature",
    "modeling_utils:PreTrainedModel.tie_weights": "v5-tie-weights-override-signature",
    "tokenization_utils_base:PreTrainedTokenizerBase._pad": "remote-pad-without-padding-side",
    "trainer:Trainer.__init__": "trainer-tokenizer-kwarg-removed",
    "trainer:Trainer._get_train_sampler": "trainer-get-train-sampler-arity",
    "trainer:Trainer.compute_loss": "trainer-compute-loss-arity",
    "trainer:Trainer.get_batch_samples": "trainer-get-batch-samples-clash",
    "trainer:Trainer.log": "trainer-log-arity",
    "trainer:Trainer.training_step": "trainer-compute-loss-arity",
    "trainer_seq2seq:Seq2SeqTrainer.__init__": "trainer-tokenizer-kwarg-removed",
    "training_args:TrainingArguments.__init__": "training-args-evaluation-strategy-removed",
    **{
        f"masking_utils:create_{kind}": "arguments-renamed"
        for kind in (
            "bidirectional_mask",
            "bidirectional_sliding_window_mask",
            "causal_mask",
            "chunked_causal_mask",
            "masks_for_generate",
            "sliding_window_causal_mask",
        )
    },
}
"""Functions with a fix of their own, which deals with the parameters that were removed or added."""


def state_of(change: Change, releases: Mapping[Version, Release], known: set[tuple[str, str]]) -> str:
    """What becomes of a change: ``adapted``, ``fix``, ``open``, or a word of `REASONS`.

    Args:
        change: the change.
        releases: the facts of each release.
        known: function and parameter of all rows.
    """
    parameter = re.match(r"[\w*]+", change.detail)
    if parameter and (change.function, parameter[0]) in known:
        return "adapted"
    if change.kind in ("added", "removed", "renamed") and change.function in FIXES:
        return "fix"
    if change.kind in ("default", "any", "translated"):
        return "runs"
    if change.kind == "moved":
        return "order"
    if change.kind == "renamed":
        return "renamed"
    if change.kind == "added":
        return "unpassed" if "=" in change.detail else "needed"
    if change.kind == "removed" and releases[Version(change.release)].signatures[change.function].any_name:
        return "silent"
    return "open" if "=" in change.detail else "value"


def rendered(changes_found: Iterable[Change]) -> str:
    """The table as text."""
    return "".join(f"{change}\n" for change in changes_found)


def page(changes: list[Change], releases: Mapping[Version, Release], rows: list[Row]) -> str:
    """The page: counts, and what the adapters do."""
    known = {(row.function, row.parameter) for row in rows}
    states = {change: state_of(change, releases, known) for change in changes}
    order = ["adapted", "fix", "open", *sorted(REASONS)]
    by_module: dict[str, Counter[str]] = defaultdict(Counter)
    for change, state in states.items():
        module = change.function.partition(":")[0]
        by_module["models" if module.startswith("models.") else module.partition(".")[0]][state] += 1
    total = Counter(states.values())
    lines = [
        "# Changed signatures",
        "",
        f"Between {min(releases)} and {max(releases)}, {len({change.function for change in changes})} functions and",
        "methods of transformers that other code calls or overrides have changed their parameters",
        f"{len(changes)} times.",
        "`python -m tools.signatures` reads this from the wheels and writes this page and the table",
        "`docs/data/signatures.txt`, a line for each change.",
        "",
        "Two adapters act where a call would raise a TypeError:",
        "`parameters-removed` omits an argument that the",
        "function has lost, `parameters-newer` one that an override does not take. An argument is omitted only if it",
        "has a value that changes nothing.",
        "",
        "| state | changes | meaning |",
        "| --- | --- | --- |",
        f"| adapted | {total['adapted']} | one of the two adapters omits the argument |",
        f"| fix | {total['fix']} | a fix of its own deals with it |",
        f"| open | {total['open']} | a parameter with a default was removed, and no adapter omits it |",
        *(f"| {word} | {total[word]} | {REASONS[word]} |" for word in sorted(REASONS)),
        "",
        "| part | changes | " + " | ".join(order) + " |",
        "| --- | --- |" + " --- |" * len(order),
    ]
    for module, counts in sorted(by_module.items(), key=lambda pair: (-sum(pair[1].values()), pair[0])):
        cells = " | ".join(str(counts[word] or "") for word in order)
        lines.append(f"| `{module}` | {sum(counts.values())} | {cells} |")
    lines += ["", "| function | parameter | releases | omitted values |", "| --- | --- | --- | --- |"]
    merged: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        merged.setdefault((row.function, row.parameter, row.value), []).append(row.releases)
    for (function, parameter, value), specifiers in sorted(merged.items()):
        meaning = {"*": "all", "@self": "None, the model's", "@attention_mask": "None, the mask's"}.get(
            value, f"`{value}`"
        )
        first = min(specifiers, key=lambda text: Version(text[2:].partition(",")[0]))
        end = "" if any("<" not in text for text in specifiers) else max(text.partition("<")[2] for text in specifiers)
        begin = first[2:].partition(",")[0]
        lines.append(
            f"| `{function}` | `{parameter}` | {begin} and later{f', before {end}' if end else ''} | {meaning} |"
        )
    return "\n".join([*lines, ""])


def main(arguments: Optional[list[str]] = None) -> int:
    """Run the command; returns 1 if the written files differ from the wheels."""
    parser = argparse.ArgumentParser(prog="python -m tools.signatures", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="the folder of the wheels")
    chosen = parser.parse_args(arguments)
    library = wheels.catalogue(PACKAGE, wheels.cached(PACKAGE, chosen.cache))
    releases = read(library, HOOKS)
    result, rows = table(releases), adapted(releases)
    texts = {TABLE: rendered(result), ROWS: "".join(f"{row}\n" for row in rows), PAGE: page(result, releases, rows)}
    if chosen.check:
        wrong = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is not what the wheels say: python -m tools.signatures")
        print("the same" if not wrong else f"{len(wrong)} files differ")
        return int(bool(wrong))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
