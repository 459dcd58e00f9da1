"""What one release of transformers would misread or refuse in the folder of a checkpoint.

Read are ``config.json``, the files of tokenizer and processor, and of weights in safetensors the index and the headers,
never the weights themselves. Nothing is executed, nothing is fetched, and no library is imported. A checkpoint may be
anybody's: sizes have limits, and no link is followed out of the folder (`hotfix.reports.trees`).

What a release understands of a configuration is read from its source by `hotfix.loading.forms`: of the installed one
from what is installed, of others from what was distilled of them. What it does with the other files stands here, with
the releases for which it holds.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

from packaging.version import InvalidVersion, Version

from ...loading import forms, tokenizer_forms
from ...reports import trees
from .. import CommandError

V5 = Version("5.0.0")
LARGEST_JSON = 64 * 2**20  # bytes; the largest tokenizer.json has half of that
LARGEST_HEADER = 16 * 2**20  # bytes; one of 50,000 tensors has a third of that
HEAVIEST = 320 * 2**20  # bytes in memory of all that is read of a folder
HEAVIEST_HEADER = HEAVIEST // 2
REFUSED_HEADER = 100_000_000  # bytes; safetensors itself reads no larger one
MOST_FILES = 4096  # files of weights
_LONGEST = 60  # characters of a version

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_PROCESSOR = "processor_config.json"
_CORE = (_CONFIG, _TOKENIZER_CONFIG, _PROCESSOR)
_JSON = (*_CORE, "generation_config.json", _INDEX, _TOKENIZER)
_WITH_TEMPLATE = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer")
_OF_V5 = ("TokenizersBackend", "SentencePieceBackend", "PythonBackend")
_NEW_LAYOUT = ("model.language_model.", "model.visual.", "model.vision_tower.", "model.multi_modal_projector.")
_TWO_LAYOUTS = ("model.language_model.model.", "model.text_model.model.")
_BASE_IS_TEXT = ("gemma3", "shieldgemma2")  # before 4.52 they loaded these names into their model of text alone
_TOWER = re.compile(
    r"^(?:model\.)?(?:vision_tower|vision_encoder|image_encoder|vision_model)\.(?:embeddings|encoder)\."
)
_TOWERS = ("clip_vision_model", "siglip_vision_model")
_EXPERTS = {
    "qwen3_moe": (128, Version("5.1.0")),
    "qwen3_omni_moe_talker_text": (128, Version("5.1.0")),
    "qwen3_vl_moe_text": (60, Version("5.4.0")),
}
"""By type the number of experts that a class takes where it is told of none, and the first that knows both keys."""
_FUSED = (".experts.gate_up_proj", ".experts.down_proj")


class Effect(str, Enum):
    """What a release makes of something in a checkpoint."""

    MISREAD = "misread"  #: it loads, and is not what was saved
    REFUSED = "refused"  #: an error
    LACKING = "lacking"  #: the release has no such model at all
    NOTE = "note"  #: it does no harm, or could not be judged


@dataclass(frozen=True)
class Misreading:
    """One thing that a release misreads or refuses.

    Attributes:
        file: in which it stands.
        key: where in it; empty for the file as a whole.
        effect: what becomes of it.
        sentence: why.
        fixes: ids of fixes that bring it into the form that the release understands; empty where there is none.
    """

    file: str
    key: str
    effect: Effect
    sentence: str
    fixes: tuple[str, ...] = ()

    @property
    def is_harmful(self) -> bool:
        """Whether the release does not read what was saved."""
        return self.effect is not Effect.NOTE

    def to_dict(self) -> dict[str, Any]:
        """The public form, as in ``hotfix check-model --json``."""
        return {**asdict(self), "effect": self.effect.value, "fixes": list(self.fixes)}


@dataclass(frozen=True)
class Checkpoint:
    """What was read of a folder.

    Attributes:
        folder: the folder.
        files: the names of all files in it.
        json: the content of each JSON file that is looked at, by name.
        keys: the names of all weights; of files that are no safetensors nothing is known.
        formats: what the header of each file of weights says of its format; None where it says nothing.
        unreadable: what nobody can read, and why, by name.
        unread: what was not looked at, and why, by name; a release may read it.
        shapes: of the weights, by name, as far as headers were read.
    """

    folder: Path
    files: frozenset[str]
    json: Mapping[str, Mapping[str, Any]]
    keys: frozenset[str] = frozenset()
    formats: Mapping[str, Optional[str]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def config(self) -> Mapping[str, Any]:
        """``config.json``."""
        return self.json.get(_CONFIG, {})

    @property
    def model_type(self) -> str:
        """What kind of model it is; empty where it does not say so."""
        return str(self.config.get("model_type", ""))

    @property
    def writer(self) -> str:
        """The release that wrote it, by its own words; empty where there are none."""
        for name in (_CONFIG, "generation_config.json"):
            said = self.json.get(name, {}).get("transformers_version")
            if said:
                return str(said)
        return ""

    @property
    def needs_code(self) -> bool:
        """Whether its model comes as code with it."""
        return "AutoConfig" in _dictionary(self.config.get("auto_map"))

    # What the rules ask of the names of weights. It is asked for each release, and a checkpoint may have many.

    @cached_property
    def new_layout(self) -> str:
        """The first weight in the layout of 4.52 and later; empty if there is none."""
        return min((key for key in self.keys if key.startswith(_NEW_LAYOUT)), default="")

    @cached_property
    def two_layouts(self) -> str:
        """The first weight that has the prefixes of two layouts."""
        return min((key for key in self.keys if key.startswith(_TWO_LAYOUTS)), default="")

    @cached_property
    def tower(self) -> str:
        """The first weight of a vision tower without the module ``vision_model``."""
        return min((key for key in self.keys if _TOWER.search(key)), default="")

    @cached_property
    def fused_experts(self) -> str:
        """The first weight with all experts in one tensor."""
        return min((key for key in self.keys if key.endswith(_FUSED)), default="")

    @cached_property
    def single_expert(self) -> str:
        """The first weight with one expert in a tensor."""
        return min((key for key in self.keys if ".experts.0.gate_proj." in key), default="")

    @cached_property
    def fused_shape(self) -> tuple[str, list[int]]:
        """The first ``gate_up_proj`` of all experts whose shape is known, and that shape."""
        name = min((key for key in self.shapes if key.endswith(_FUSED[0])), default="")
        return name, list(self.shapes.get(name, ()))


def read(path: str) -> Checkpoint:
    """Read the folder of a checkpoint.

    Args:
        path: the folder; that of a repository in the cache of the Hub; or the name of a repository that is there.

    Raises:
        CommandError: there is none, or nothing in it is a checkpoint.
    """
    folder = _folder(path)
    entries = [entry.name for entry in folder.iterdir()]
    files = frozenset(name for name in entries if (folder / name).is_file())
    if not files.intersection(_CORE):
        odd = sorted({*_CORE}.intersection(entries))
        raise CommandError(
            f"{folder}: {', '.join(odd)}: not a regular file"
            if odd
            else f"{folder}: no {_CONFIG} in it, nor a tokenizer"
        )
    reading = _Reading(folder, files)
    content = {name: document for name in _JSON if (document := reading.json(name)) is not None}
    for name in {*_CORE}.intersection(reading.unread):
        raise CommandError(f"{folder / name}: {reading.unread[name]}; nothing can be said without it")
    keys, formats, shapes = reading.weights(content.get(_INDEX, {}))
    return Checkpoint(folder, files, content, keys, formats, reading.unreadable, reading.unread, shapes)


def judge(checkpoint: Checkpoint, version: Version, release: forms.Release) -> list[Misreading]:
    """What one release would misread or refuse, what is harmful first.

    Args:
        checkpoint: what was read.
        version: the release.
        release: its source, as far as configurations go.
    """
    version = Version(version.base_version)
    found = [finding for rule in RULES for finding in rule(checkpoint, version, release)]
    return sorted(found, key=lambda one: not one.is_harmful)


# ----------------------------------------------------------------------------------------------------------------------
# Below: the rules. Each takes the checkpoint and the release, and yields what it found.


def files(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What no release can read, and what was not looked at."""
    for name, why in checkpoint.unreadable.items():
        yield Misreading(name, "", Effect.REFUSED, f"It cannot be read ({why}).")
    for name, why in checkpoint.unread.items():
        yield Misreading(name, "", Effect.NOTE, f"It was not looked at ({why}).")


def model(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Whether the release has such a model."""
    model_type = checkpoint.model_type
    if not checkpoint.config:
        return
    if checkpoint.needs_code:
        sentence = "The model is code that comes with the checkpoint; what that makes of the rest was not judged."
        yield Misreading(_CONFIG, "auto_map", Effect.NOTE, sentence)
    elif not model_type:
        yield Misreading(_CONFIG, "model_type", Effect.REFUSED, "It is not there, and AutoConfig goes by it.")
    elif release.class_of(model_type) is None:
        sentence = f"This release has no model {model_type!r}."
        yield Misreading(_CONFIG, "model_type", Effect.LACKING, sentence)


def configuration(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What 5.x has written into ``config.json`` and 4.x reads under other names."""
    if checkpoint.needs_code:
        return
    rope, dtype = ("v5-rope-parameters-ignored-by-v4",), ("torch-dtype-key-dtype-in-v4",)
    for one in forms.configuration(checkpoint.config, release)[1]:
        if one.key.rpartition(".")[2] == "dtype":
            sentence = f'{one.sentence} `torch_dtype="auto"` goes by the weights.'
            yield Misreading(one.file, one.key, Effect.NOTE, sentence, dtype)
        elif one.outcome is forms.Outcome.TRANSLATED:
            yield Misreading(one.file, one.key, Effect.MISREAD, one.sentence, rope)
        else:
            yield Misreading(one.file, one.key, Effect.MISREAD, one.sentence, (one.fix,) if one.fix else ())


def fraction(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """How much of a head GPT-NeoX rotates."""
    said = _dictionary(checkpoint.config.get("rope_parameters")).get("partial_rotary_factor")
    if checkpoint.model_type == "gpt_neox" and V5 <= version <= Version("5.4.0") and said not in (None, 0.25):
        sentence = f"It is {said}, and this release writes {checkpoint.config.get('rotary_pct', 0.25)} over it."
        key = "rope_parameters.partial_rotary_factor"
        yield Misreading(_CONFIG, key, Effect.MISREAD, sentence, ("v5-gpt-neox-rotary-pct-lost",))


def scaling(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Rotary embeddings, in the form of 4.x, of a type that the release does not compute."""
    understood = release.class_of(checkpoint.model_type)
    given = checkpoint.config.get("rope_scaling")
    if understood is None or not isinstance(given, Mapping) or release.knows_rope_parameters():
        return
    spelled = str(given.get("rope_type") or given.get("type") or "default")
    kind = {"mrope": "default", "su": "longrope"}.get(spelled, spelled)
    fix = forms.COMPUTED_WITH.get((understood.name, kind), "")
    if kind not in understood.types:
        computed = ", ".join(sorted(understood.types))
        sentence = f"It is of the type {spelled!r}; {understood.name} of this release takes {computed}."
        yield Misreading(_CONFIG, "rope_scaling", Effect.REFUSED, sentence, (fix,) if fix else ())
    elif spelled == "longrope" and '"su"' in understood.text and '"longrope"' not in understood.text:
        sentence = f"{understood.name} of this release knows the type 'longrope' as 'su', and refuses any other word."
        yield Misreading(_CONFIG, "rope_scaling.type", Effect.REFUSED, sentence, ("phi3-longrope-type-refused",))


def heads(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Heads of another size than the hidden size shared among them, in a release that knows no other."""
    understood = release.class_of(checkpoint.model_type)
    sizes = [checkpoint.config.get(name) for name in ("head_dim", "num_attention_heads", "hidden_size")]
    if understood is None or not all(isinstance(one, int) and one > 0 for one in sizes):
        return
    size, number, hidden = (int(one) for one in sizes if one is not None)
    known = "head_dim" in understood.arguments or re.search(r'config(?:\.|, ")head_dim', understood.model)
    if size * number != hidden and not known:
        sentence = f"It is {size}, and {understood.name} of this release takes {hidden}/{number}: weights do not fit."
        yield Misreading(_CONFIG, "head_dim", Effect.REFUSED, sentence)


def experts(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """How many experts a model has, under the key of 5.x."""
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    for at, config in _configurations(checkpoint.config):
        default, since = _EXPERTS.get(str(config.get("model_type", "")), (0, V5))
        number = config.get("num_local_experts")
        if default and version < since and "num_experts" not in config and number not in (None, default):
            sentence = (
                f"It is {number}; this release looks for num_experts and takes {default}: weights do not fit. "
                f"{since} is the first that knows both keys."
            )
            yield Misreading(_CONFIG, f"{at}num_local_experts", Effect.REFUSED, sentence, ("qwen3-moe-experts-key",))


def tokenizer_class(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Classes of tokenizers that 5.0 has brought."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    name = described.get("tokenizer_class")
    if name in _OF_V5 and version < V5 and "AutoTokenizer" not in _dictionary(described.get("auto_map")):
        sentence = f"{name} came with 5.0.0; AutoTokenizer of this release refuses it."
        fixes = ("tokenizer-class-tokenizersbackend",) if name == _OF_V5[0] else ()
        yield Misreading(_TOKENIZER_CONFIG, "tokenizer_class", Effect.REFUSED, sentence, fixes)


def special_tokens(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """A list of further special tokens, where a release looks for names of them."""
    given = checkpoint.json.get(_TOKENIZER_CONFIG, {}).get("extra_special_tokens")
    if isinstance(given, list) and Version("4.47.0") <= version < V5:
        sentence = "It is a list, and this release asks for its keys: AttributeError."
        fixes = ("extra-special-tokens-list",)
        yield Misreading(_TOKENIZER_CONFIG, "extra_special_tokens", Effect.REFUSED, sentence, fixes)


def listed_tokens(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What 4.47 to 4.57 write: a list of special tokens beside an empty dictionary of them."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    key = "additional_special_tokens"
    empty = "extra_special_tokens" in described and not described["extra_special_tokens"]
    if described.get(key) and empty and Version("5.1.0") <= version < Version("5.18.0"):
        sentence = "This release takes the empty extra_special_tokens in its place: they are special no more."
        yield Misreading(_TOKENIZER_CONFIG, key, Effect.MISREAD, sentence, ("v5-additional-special-tokens-lost",))


def first_token(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What is put around a text, where classes of 4.x go by settings that 5.x does not write."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    name = str(described.get("tokenizer_class", ""))
    if version >= V5 or name.replace("TokenizerFast", "Tokenizer") not in _WITH_TEMPLATE:
        return
    meant, found = tokenizer_forms.ends_of_template(described, checkpoint.json.get(_TOKENIZER, {}))
    if found and (meant["add_bos_token"], meant["add_eos_token"]) != (True, False):
        sentence = f"{found[0].sentence} {name} of this release puts the token for the beginning before a text."
        yield Misreading(
            _TOKENIZER_CONFIG, "add_bos_token", Effect.MISREAD, sentence, ("v5-add-bos-token-not-written",)
        )


def chat_template(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Chat templates in a file of their own."""
    name = "chat_template.jinja"
    inside = checkpoint.json.get(_TOKENIZER_CONFIG, {}).get("chat_template")
    if name in checkpoint.files and not inside and version < Version("4.47.0"):
        sentence = "The tokenizer of this release reads no such file: it has no chat template."
        yield Misreading(name, "", Effect.MISREAD, sentence, ("chat-template-jinja-file-ignored",))


def merges(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """The form in which tokenizers 0.20 and later write their merges."""
    written = _dictionary(checkpoint.json.get(_TOKENIZER, {}).get("model")).get("merges")
    is_new = isinstance(written, list) and bool(written) and isinstance(written[0], list)
    if is_new and version < Version("4.45.0"):
        sentence = "They are pairs; the package tokenizers before 0.20, which this release asks for, takes texts only."
        yield Misreading(_TOKENIZER, "model.merges", Effect.REFUSED, sentence, ("tokenizers-modelwrapper-merges-list",))


def large_vocabulary(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """4.57.2 cannot load a large tokenizer from a folder in which there is a configuration."""
    vocabulary = _dictionary(checkpoint.json.get(_TOKENIZER, {}).get("model")).get("vocab")
    size = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    writer = _version(str(checkpoint.config.get("transformers_version", "")))
    if size > 100_000 and version == Version("4.57.2") and writer is not None and writer <= version:
        sentence = f"It has {size} tokens, and beside {_CONFIG} this release loads none with more than 100,000."
        yield Misreading(_TOKENIZER, "model.vocab", Effect.REFUSED, sentence, ("tokenizer-local-config-dict",))


def processor(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Processors that are written into one file."""
    described = checkpoint.json.get(_PROCESSOR, {})
    for key in ("image_processor", "video_processor", "feature_extractor"):
        own = "video_preprocessor_config.json" if key == "video_processor" else "preprocessor_config.json"
        if isinstance(described.get(key), dict) and own not in checkpoint.files and version < Version("4.56.0"):
            sentence = f"This release looks for it in {own}, which is not there."
            yield Misreading(_PROCESSOR, key, Effect.REFUSED, sentence, ("processor-config-nested",))


def weights_format(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Files of weights that do not say in which framework's form they are."""
    for name, said in checkpoint.formats.items():
        if said is None and version < Version("4.48.0"):
            sentence = "Its header names no format: AttributeError: 'NoneType' object has no attribute 'get'."
            yield Misreading(name, "__metadata__", Effect.REFUSED, sentence, ("safetensors-metadata-none",))


def weights_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Names of weights that the release does not look for."""
    file = _INDEX if _INDEX in checkpoint.files else _SINGLE
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    new = checkpoint.new_layout if version < Version("4.52.0") else ""
    if new:
        writer = "5.4 and 5.5 name weights so" if new.startswith(_TWO_LAYOUTS) else "Weights are named so since 4.52"
        sentence = f"{writer}; this release leaves them and initialises its own at random."
        is_base = new.startswith(_TWO_LAYOUTS) and checkpoint.model_type in _BASE_IS_TEXT
        fixes = ("gemma3-two-layouts-into-base" if is_base else "vlm-checkpoint-key-layout-new-to-old",)
        yield Misreading(file, new, Effect.MISREAD, sentence, fixes)
    both = checkpoint.two_layouts
    if both and not new and not Version("5.4.0") <= version < Version("5.6.0") and version < Version("5.9.0"):
        sentence = "5.4 and 5.5 name weights so; this release leaves them and initialises its own at random."
        yield Misreading(file, both, Effect.MISREAD, sentence, ("vlm-checkpoint-key-layout-new-to-old",))
    tower = checkpoint.tower
    kind = _dictionary(checkpoint.config.get("vision_config")).get("model_type", "clip_vision_model")
    if tower and version < Version("5.6.0") and kind in _TOWERS and not tower.startswith("vision_model."):
        sentence = "Towers have a module `vision_model` before 5.6, which looks for it and initialises it at random."
        yield Misreading(file, tower, Effect.MISREAD, sentence, ("vlm-checkpoint-key-layout-new-to-old",))
    fused = checkpoint.fused_experts
    understood = release.class_of(checkpoint.model_type)
    if fused and version < V5 and understood is not None and "gate_up_proj" not in understood.model:
        sentence = "The experts are one tensor; this release looks for one of each and initialises them at random."
        yield Misreading(file, fused, Effect.MISREAD, sentence)


def experts_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Experts of Qwen3-VL: the Hub has their axes the other way round than 5.x, which writes its own since 5.2."""
    if checkpoint.model_type != "qwen3_vl_moe" or release.class_of("qwen3_vl_moe") is None:
        return
    file = _INDEX if _INDEX in checkpoint.files else _SINGLE
    is_early = V5 <= version < Version("5.2.0")
    own = checkpoint.single_expert
    if own and not is_early:
        sentence = "5.0 and 5.1 alone write and read each expert by itself; this release initialises them at random."
        yield Misreading(file, own, Effect.MISREAD, sentence)
    fused, shape = checkpoint.fused_shape
    hidden = _dictionary(checkpoint.config.get("text_config")).get("hidden_size")
    if len(shape) != 3 or hidden not in shape[1:] or shape[1] == shape[2] or version >= Version("5.2.0"):
        return
    if (shape[1] == hidden) is is_early:
        wanted = [shape[0], shape[2], shape[1]]
        sentence = f"It has the shape {shape}, and the model of this release {wanted}: weights do not fit."
        yield Misreading(file, fused, Effect.REFUSED, sentence)


def other_weights(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Weights whose names cannot be read without executing something."""
    pickled = [name for name in checkpoint.files if name.endswith((".bin", ".pt", ".pth")) and "model" in name]
    if pickled and not checkpoint.keys:
        yield Misreading(min(pickled), "", Effect.NOTE, "Weights are pickled: their names were not looked at.")


Rule = Callable[[Checkpoint, Version, forms.Release], Iterator[Misreading]]
RULES: tuple[Rule, ...] = (
    files,
    model,
    configuration,
    fraction,
    scaling,
    heads,
    experts,
    tokenizer_class,
    special_tokens,
    listed_tokens,
    first_token,
    chat_template,
    merges,
    large_vocabulary,
    processor,
    weights_format,
    weights_layout,
    experts_layout,
    other_weights,
)


# ----------------------------------------------------------------------------------------------------------------------
# Below: reading.


def _folder(path: str) -> Path:
    try:
        folder = Path(path).expanduser()
    except RuntimeError as error:  # ~somebody who does not exist
        raise CommandError(f"{path}: {error}") from None
    if not folder.is_dir() and re.fullmatch(r"[\w.-]+/[\w.-]+", path):
        folder = _cache() / f"models--{path.replace('/', '--')}"
    if not folder.is_dir():
        raise CommandError(f"{path}: no such folder, and no such repository in {_cache()}; nothing is downloaded")
    snapshots = folder / "snapshots"
    if not snapshots.is_dir() or (folder / _CONFIG).is_file():
        return folder
    commits = sorted(entry for entry in snapshots.iterdir() if entry.is_dir() and not entry.is_symlink())
    try:
        main = trees.Tree(folder).read(folder / "refs" / "main", 1000).decode("utf-8", "replace").strip()
    except OSError:  # it need not be there
        main = ""
    chosen = [commit for commit in commits if commit.name == main]
    if chosen:
        return chosen[0]
    if len(commits) == 1:
        return commits[0]
    raise CommandError(f"{folder}: it has {len(commits)} snapshots; name the folder of one of them")


def _cache() -> Path:
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home, "hub")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


class _Reading:
    """Reads the files of one folder, as far as that takes no more memory than `HEAVIEST`."""

    def __init__(self, folder: Path, files: frozenset[str]) -> None:
        self.folder = folder
        self.files = files
        self.unreadable: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self._tree = trees.Tree(folder)
        self._left = HEAVIEST

    def json(self, name: str) -> Optional[dict[str, Any]]:
        """The content of a JSON file; None where it is not there, or is not read."""
        if name not in self.files:
            return None
        try:
            data = self._tree.read(self.folder / name, LARGEST_JSON)
            content = trees.json_of(data, self._left)
            if not isinstance(content, dict):
                raise ValueError(f"a {type(content).__name__}, and a dictionary was expected")
        except (OSError, ValueError) as error:
            self._left_out(name, error)
            return None
        self._left -= trees.weight_of_json(data)
        return content

    def weights(
        self, index: Mapping[str, Any]
    ) -> tuple[frozenset[str], dict[str, Optional[str]], dict[str, Sequence[int]]]:
        """The names of the weights, the format of each file, and shapes."""
        table = _dictionary(index.get("weight_map"))
        names = sorted({str(name) for name in table.values()}) if table else sorted(self.files & {_SINGLE})
        if len(names) > MOST_FILES:
            self.unread[_INDEX] = f"more than {MOST_FILES} files of weights; only the first were looked at"
        keys, formats, shapes = {str(key) for key in table}, {}, {}
        for name in names[:MOST_FILES]:
            try:
                if name not in self.files:
                    raise ValueError(f"{_INDEX} names it, and it is not there")
                header = self._header(name)
            except (OSError, ValueError) as error:
                self._left_out(name, error)
                continue
            formats[name] = _dictionary(header.pop("__metadata__", None)).get("format")
            keys.update(header)
            shapes.update({key: entry.get("shape", ()) for key, entry in header.items()})
        return frozenset(keys), formats, shapes

    def _header(self, name: str) -> dict[str, Any]:
        """The header of a file of safetensors: eight bytes of length, and JSON.

        Raises:
            Refused: it is not looked at.
            ValueError: it is not such a file, or was not written to its end.
        """
        file = self.folder / name
        reason = self._tree.refusal(file)
        if reason:
            raise trees.Refused(reason)
        size = file.stat().st_size
        with file.open("rb") as stream:
            first = stream.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
            if not 2 <= length <= size - 8:
                raise ValueError("it is no file of safetensors, or it was not written to its end")
            if length > REFUSED_HEADER:
                raise ValueError(f"its header has {length} bytes, and safetensors reads {REFUSED_HEADER}")
            if length > LARGEST_HEADER:
                raise trees.Refused(f"its header is larger than {trees.size_of(LARGEST_HEADER)}")
            data = stream.read(length)
        header = trees.json_of(data, min(self._left, HEAVIEST_HEADER))
        if not isinstance(header, dict):
            raise ValueError("its header is no dictionary")
        ends = [_end_of(key, entry) for key, entry in header.items() if key != "__metadata__"]
        metadata = header.get("__metadata__") or {}
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("the metadata in its header are no texts")
        if max(ends, default=0) + 8 + length > size:
            raise ValueError("it was not written to its end")
        self._left -= trees.weight_of_json(data) // 2  # names and shapes are kept
        return header

    def _left_out(self, name: str, error: Exception) -> None:
        if isinstance(error, trees.Refused):
            self.unread[name] = str(error)
        else:
            self.unreadable[name] = f"{type(error).__name__}: {error}"


def _end_of(name: str, entry: Any) -> int:
    """Where the bytes of a tensor end.

    Raises:
        ValueError: its entry in the header is not that of a tensor.
    """
    offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not (_are_sizes(offsets) and len(offsets) == 2 and offsets[0] <= offsets[1]):
        raise ValueError(f"the entry {name[:100]!r} in its header has no data_offsets")
    if not _are_sizes(entry.get("shape", [])):
        raise ValueError(f"the entry {name[:100]!r} in its header has no shape")
    end: int = offsets[1]
    return end


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


def _configurations(config: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A configuration and those in it, each with the beginning of its keys."""
    yield at, config
    for key, value in config.items():
        if key.endswith("_config") and isinstance(value, dict):
            yield from _configurations(value, f"{at}{key}.")  # not deep: `trees.DEPTH`


def _dictionary(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _version(text: str) -> Optional[Version]:
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None
