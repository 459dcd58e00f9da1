"""What one release of transformers would misread or refuse in the folder of a checkpoint.

Read are ``config.json``, the files of tokenizer and processor, and of weights in safetensors the index and the headers,
never the weights themselves. Nothing is executed, nothing is fetched, and no library is imported.

What a release understands of a configuration is read from its source by `hotfix.loading.forms`: of the installed one
from what is installed, of others from what was distilled of them. What it does with the other files stands here, with
the releases for which it holds.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Optional

from packaging.version import InvalidVersion, Version

from ..loading import forms, tokenizer_forms
from . import CommandError

V5 = Version("5.0.0")
LARGEST_JSON = 256 * 2**20
LARGEST_HEADER = 128 * 2**20

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_PROCESSOR = "processor_config.json"
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
_FUSED = re.compile(r"\.experts\.(?:gate_up_proj|down_proj)$")


class Effect(str, Enum):
    """What a release makes of something in a checkpoint."""

    MISREAD = "misread"  #: it loads, and is not what was saved
    REFUSED = "refused"  #: an error
    LACKING = "lacking"  #: the release has no such model at all
    NOTE = "note"  #: it does no harm, or could not be judged


@dataclass(frozen=True)
class Finding:
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
        unreadable: what could not be read, and why, by name.
        shapes: of the weights, by name, as far as headers were read.
    """

    folder: Path
    files: frozenset[str]
    json: Mapping[str, Mapping[str, Any]]
    keys: frozenset[str] = frozenset()
    formats: Mapping[str, Optional[str]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
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


def read(path: str) -> Checkpoint:
    """Read the folder of a checkpoint.

    Args:
        path: the folder; that of a repository in the cache of the Hub; or the name of a repository that is there.

    Raises:
        CommandError: there is none, or nothing in it is a checkpoint.
    """
    folder = _folder(path)
    files = frozenset(entry.name for entry in folder.iterdir() if entry.is_file())
    wanted = {_CONFIG, "generation_config.json", _TOKENIZER, _TOKENIZER_CONFIG, _PROCESSOR, _INDEX}
    if not files & {_CONFIG, _TOKENIZER_CONFIG, _PROCESSOR}:
        raise CommandError(f"{folder}: no {_CONFIG} in it, nor a tokenizer")
    found: dict[str, Mapping[str, Any]] = {}
    unreadable: dict[str, str] = {}
    for name in sorted(wanted & files):
        try:
            found[name] = _json(folder / name)
        except (OSError, ValueError, RecursionError) as error:
            unreadable[name] = f"{type(error).__name__}: {error}"
    keys, formats, shapes = _weights(folder, files, found.get(_INDEX, {}), unreadable)
    return Checkpoint(folder, files, found, keys, formats, unreadable, shapes)


def judge(checkpoint: Checkpoint, version: Version, release: forms.Release) -> list[Finding]:
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


def files(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """What no release can read."""
    for name, why in checkpoint.unreadable.items():
        yield Finding(name, "", Effect.REFUSED, f"It cannot be read ({why}).")


def model(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Whether the release has such a model."""
    model_type = checkpoint.model_type
    if not checkpoint.config:
        return
    if checkpoint.needs_code:
        sentence = "The model is code that comes with the checkpoint; what that makes of the rest was not judged."
        yield Finding(_CONFIG, "auto_map", Effect.NOTE, sentence)
    elif not model_type:
        yield Finding(_CONFIG, "model_type", Effect.REFUSED, "It is not there, and AutoConfig goes by it.")
    elif release.class_of(model_type) is None:
        sentence = f"This release has no model {model_type!r}."
        yield Finding(_CONFIG, "model_type", Effect.LACKING, sentence)


def configuration(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """What 5.x has written into ``config.json`` and 4.x reads under other names."""
    if checkpoint.needs_code:
        return
    rope, dtype = ("v5-rope-parameters-ignored-by-v4",), ("torch-dtype-key-dtype-in-v4",)
    for one in forms.configuration(checkpoint.config, release)[1]:
        if one.key.rpartition(".")[2] == "dtype":
            sentence = f'{one.sentence} `torch_dtype="auto"` goes by the weights.'
            yield Finding(one.file, one.key, Effect.NOTE, sentence, dtype)
        elif one.outcome is forms.Outcome.TRANSLATED:
            yield Finding(one.file, one.key, Effect.MISREAD, one.sentence, rope)
        else:
            yield Finding(one.file, one.key, Effect.MISREAD, one.sentence, (one.fix,) if one.fix else ())


def fraction(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """How much of a head GPT-NeoX rotates."""
    said = _dictionary(checkpoint.config.get("rope_parameters")).get("partial_rotary_factor")
    if checkpoint.model_type == "gpt_neox" and V5 <= version <= Version("5.4.0") and said not in (None, 0.25):
        sentence = f"It is {said}, and this release writes {checkpoint.config.get('rotary_pct', 0.25)} over it."
        key = "rope_parameters.partial_rotary_factor"
        yield Finding(_CONFIG, key, Effect.MISREAD, sentence, ("v5-gpt-neox-rotary-pct-lost",))


def scaling(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
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
        yield Finding(_CONFIG, "rope_scaling", Effect.REFUSED, sentence, (fix,) if fix else ())
    elif spelled == "longrope" and '"su"' in understood.text and '"longrope"' not in understood.text:
        sentence = f"{understood.name} of this release knows the type 'longrope' as 'su', and refuses any other word."
        yield Finding(_CONFIG, "rope_scaling.type", Effect.REFUSED, sentence, ("phi3-longrope-type-refused",))


def heads(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Heads of another size than the hidden size shared among them, in a release that knows no other."""
    understood = release.class_of(checkpoint.model_type)
    sizes = [checkpoint.config.get(name) for name in ("head_dim", "num_attention_heads", "hidden_size")]
    if understood is None or not all(isinstance(one, int) and one > 0 for one in sizes):
        return
    size, number, hidden = (int(one) for one in sizes if one is not None)
    known = "head_dim" in understood.arguments or re.search(r'config(?:\.|, ")head_dim', understood.model)
    if size * number != hidden and not known:
        sentence = f"It is {size}, and {understood.name} of this release takes {hidden}/{number}: weights do not fit."
        yield Finding(_CONFIG, "head_dim", Effect.REFUSED, sentence)


def experts(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
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
            yield Finding(_CONFIG, f"{at}num_local_experts", Effect.REFUSED, sentence, ("qwen3-moe-experts-key",))


def tokenizer_class(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Classes of tokenizers that 5.0 has brought."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    name = described.get("tokenizer_class")
    if name in _OF_V5 and version < V5 and "AutoTokenizer" not in _dictionary(described.get("auto_map")):
        sentence = f"{name} came with 5.0.0; AutoTokenizer of this release refuses it."
        fixes = ("tokenizer-class-tokenizersbackend",) if name == _OF_V5[0] else ()
        yield Finding(_TOKENIZER_CONFIG, "tokenizer_class", Effect.REFUSED, sentence, fixes)


def special_tokens(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """A list of further special tokens, where a release looks for names of them."""
    given = checkpoint.json.get(_TOKENIZER_CONFIG, {}).get("extra_special_tokens")
    if isinstance(given, list) and Version("4.47.0") <= version < V5:
        sentence = "It is a list, and this release asks for its keys: AttributeError."
        fixes = ("extra-special-tokens-list",)
        yield Finding(_TOKENIZER_CONFIG, "extra_special_tokens", Effect.REFUSED, sentence, fixes)


def listed_tokens(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """What 4.47 to 4.57 write: a list of special tokens beside an empty dictionary of them."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    key = "additional_special_tokens"
    empty = "extra_special_tokens" in described and not described["extra_special_tokens"]
    if described.get(key) and empty and Version("5.1.0") <= version < Version("5.18.0"):
        sentence = "This release takes the empty extra_special_tokens in its place: they are special no more."
        yield Finding(_TOKENIZER_CONFIG, key, Effect.MISREAD, sentence, ("v5-additional-special-tokens-lost",))


def first_token(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """What is put around a text, where classes of 4.x go by settings that 5.x does not write."""
    described = checkpoint.json.get(_TOKENIZER_CONFIG, {})
    name = str(described.get("tokenizer_class", ""))
    if version >= V5 or name.replace("TokenizerFast", "Tokenizer") not in _WITH_TEMPLATE:
        return
    meant, found = tokenizer_forms.ends_of_template(described, checkpoint.json.get(_TOKENIZER, {}))
    if found and (meant["add_bos_token"], meant["add_eos_token"]) != (True, False):
        sentence = f"{found[0].sentence} {name} of this release puts the token for the beginning before a text."
        yield Finding(_TOKENIZER_CONFIG, "add_bos_token", Effect.MISREAD, sentence, ("v5-add-bos-token-not-written",))


def chat_template(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Chat templates in a file of their own."""
    name = "chat_template.jinja"
    inside = checkpoint.json.get(_TOKENIZER_CONFIG, {}).get("chat_template")
    if name in checkpoint.files and not inside and version < Version("4.47.0"):
        sentence = "The tokenizer of this release reads no such file: it has no chat template."
        yield Finding(name, "", Effect.MISREAD, sentence, ("chat-template-jinja-file-ignored",))


def merges(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """The form in which tokenizers 0.20 and later write their merges."""
    written = _dictionary(checkpoint.json.get(_TOKENIZER, {}).get("model")).get("merges")
    is_new = isinstance(written, list) and bool(written) and isinstance(written[0], list)
    if is_new and version < Version("4.45.0"):
        sentence = "They are pairs; the package tokenizers before 0.20, which this release asks for, takes texts only."
        yield Finding(_TOKENIZER, "model.merges", Effect.REFUSED, sentence, ("tokenizers-modelwrapper-merges-list",))


def large_vocabulary(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """4.57.2 cannot load a large tokenizer from a folder in which there is a configuration."""
    vocabulary = _dictionary(checkpoint.json.get(_TOKENIZER, {}).get("model")).get("vocab")
    size = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    writer = _version(str(checkpoint.config.get("transformers_version", "")))
    if size > 100_000 and version == Version("4.57.2") and writer is not None and writer <= version:
        sentence = f"It has {size} tokens, and beside {_CONFIG} this release loads none with more than 100,000."
        yield Finding(_TOKENIZER, "model.vocab", Effect.REFUSED, sentence, ("tokenizer-local-config-dict",))


def processor(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Processors that are written into one file."""
    described = checkpoint.json.get(_PROCESSOR, {})
    for key in ("image_processor", "video_processor", "feature_extractor"):
        own = "video_preprocessor_config.json" if key == "video_processor" else "preprocessor_config.json"
        if isinstance(described.get(key), dict) and own not in checkpoint.files and version < Version("4.56.0"):
            sentence = f"This release looks for it in {own}, which is not there."
            yield Finding(_PROCESSOR, key, Effect.REFUSED, sentence, ("processor-config-nested",))


def weights_format(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Files of weights that do not say in which framework's form they are."""
    for name, said in checkpoint.formats.items():
        if said is None and version < Version("4.48.0"):
            sentence = "Its header names no format: AttributeError: 'NoneType' object has no attribute 'get'."
            yield Finding(name, "__metadata__", Effect.REFUSED, sentence, ("safetensors-metadata-none",))


def weights_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Names of weights that the release does not look for."""
    file = _INDEX if _INDEX in checkpoint.files else _SINGLE
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    new = next((key for key in sorted(checkpoint.keys) if key.startswith(_NEW_LAYOUT)), "")
    if version >= Version("4.52.0"):
        new = ""
    if new:
        writer = "5.4 and 5.5 name weights so" if new.startswith(_TWO_LAYOUTS) else "Weights are named so since 4.52"
        sentence = f"{writer}; this release leaves them and initialises its own at random."
        is_base = new.startswith(_TWO_LAYOUTS) and checkpoint.model_type in _BASE_IS_TEXT
        fixes = ("gemma3-two-layouts-into-base" if is_base else "vlm-checkpoint-key-layout-new-to-old",)
        yield Finding(file, new, Effect.MISREAD, sentence, fixes)
    both = next((key for key in sorted(checkpoint.keys) if key.startswith(_TWO_LAYOUTS)), "")
    if both and not new and not Version("5.4.0") <= version < Version("5.6.0") and version < Version("5.9.0"):
        sentence = "5.4 and 5.5 name weights so; this release leaves them and initialises its own at random."
        yield Finding(file, both, Effect.MISREAD, sentence, ("vlm-checkpoint-key-layout-new-to-old",))
    tower = next((key for key in sorted(checkpoint.keys) if _TOWER.search(key)), "")
    kind = _dictionary(checkpoint.config.get("vision_config")).get("model_type", "clip_vision_model")
    if tower and version < Version("5.6.0") and kind in _TOWERS and not tower.startswith("vision_model."):
        sentence = "Towers have a module `vision_model` before 5.6, which looks for it and initialises it at random."
        yield Finding(file, tower, Effect.MISREAD, sentence, ("vlm-checkpoint-key-layout-new-to-old",))
    fused = next((key for key in sorted(checkpoint.keys) if _FUSED.search(key)), "")
    understood = release.class_of(checkpoint.model_type)
    if fused and version < V5 and understood is not None and "gate_up_proj" not in understood.model:
        sentence = "The experts are one tensor; this release looks for one of each and initialises them at random."
        yield Finding(file, fused, Effect.MISREAD, sentence)


def experts_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Experts of Qwen3-VL: the Hub has their axes the other way round than 5.x, which writes its own since 5.2."""
    if checkpoint.model_type != "qwen3_vl_moe" or release.class_of("qwen3_vl_moe") is None:
        return
    file = _INDEX if _INDEX in checkpoint.files else _SINGLE
    is_early = V5 <= version < Version("5.2.0")
    own = next((key for key in sorted(checkpoint.keys) if ".experts.0.gate_proj." in key), "")
    if own and not is_early:
        sentence = "5.0 and 5.1 alone write and read each expert by itself; this release initialises them at random."
        yield Finding(file, own, Effect.MISREAD, sentence)
    fused = next((key for key in sorted(checkpoint.shapes) if key.endswith(".experts.gate_up_proj")), "")
    hidden = _dictionary(checkpoint.config.get("text_config")).get("hidden_size")
    shape = list(checkpoint.shapes.get(fused, ()))
    if len(shape) != 3 or hidden not in shape[1:] or shape[1] == shape[2] or version >= Version("5.2.0"):
        return
    if (shape[1] == hidden) is is_early:
        wanted = [shape[0], shape[2], shape[1]]
        sentence = f"It has the shape {shape}, and the model of this release {wanted}: weights do not fit."
        yield Finding(file, fused, Effect.REFUSED, sentence)


def other_weights(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Finding]:
    """Weights whose names cannot be read without executing something."""
    pickled = [name for name in checkpoint.files if name.endswith((".bin", ".pt", ".pth")) and "model" in name]
    if pickled and not checkpoint.keys:
        yield Finding(min(pickled), "", Effect.NOTE, "Weights are pickled: their names were not looked at.")


Rule = Callable[[Checkpoint, Version, forms.Release], Iterator[Finding]]
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
    folder = Path(path).expanduser()
    if not folder.is_dir() and re.fullmatch(r"[\w.-]+/[\w.-]+", path):
        folder = _cache() / f"models--{path.replace('/', '--')}"
    if not folder.is_dir():
        raise CommandError(f"{path}: no such folder, and no such repository in {_cache()}; nothing is downloaded")
    snapshots = folder / "snapshots"
    if not snapshots.is_dir() or (folder / _CONFIG).is_file():
        return folder
    main = folder / "refs" / "main"
    commits = sorted(entry for entry in snapshots.iterdir() if entry.is_dir())
    chosen = snapshots / main.read_text().strip() if main.is_file() else None
    if chosen is not None and chosen.is_dir():
        return chosen
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


def _json(file: Path) -> Mapping[str, Any]:
    size = file.stat().st_size
    if size > LARGEST_JSON:
        raise ValueError(f"it has {size} bytes")
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"a {type(content).__name__}, and a dictionary was expected")
    return content


def _weights(
    folder: Path, files: frozenset[str], index: Mapping[str, Any], unreadable: dict[str, str]
) -> tuple[frozenset[str], dict[str, Optional[str]], dict[str, Sequence[int]]]:
    """The names of the weights, the format of each file, and shapes."""
    table = _dictionary(index.get("weight_map"))
    names = sorted({str(name) for name in table.values()}) if table else sorted(files & {_SINGLE})
    keys, formats, shapes = {str(key) for key in table}, {}, {}
    for name in names:
        try:
            if name not in files:
                raise ValueError(f"{_INDEX} names it, and it is not there")
            header = _header(folder / name)
        except (OSError, ValueError, RecursionError) as error:
            unreadable[name] = f"{type(error).__name__}: {error}"
            continue
        said = _dictionary(header.pop("__metadata__", None)).get("format")
        formats[name] = None if said is None else str(said)
        keys.update(header)
        shapes.update({key: one.get("shape", ()) for key, one in header.items()})
    return frozenset(keys), formats, shapes


def _header(file: Path) -> dict[str, Any]:
    """The header of a file of safetensors: eight bytes of length, and JSON."""
    with file.open("rb") as stream:
        first = stream.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
        if not 2 <= length <= min(LARGEST_HEADER, file.stat().st_size - 8):
            raise ValueError("it is no file of safetensors, or it was not written to its end")
        header = json.loads(stream.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is no dictionary")
    ends = [one["data_offsets"][1] for key, one in header.items() if key != "__metadata__"]
    if ends and max(ends) + 8 + length > file.stat().st_size:
        raise ValueError("it was not written to its end")
    return header


def _configurations(config: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A configuration and those in it, each with the beginning of its keys."""
    yield at, config
    for key, value in config.items():
        if key.endswith("_config") and isinstance(value, dict):
            yield from _configurations(value, f"{at}{key}.")


def _dictionary(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _version(text: str) -> Optional[Version]:
    try:
        return Version(text)
    except InvalidVersion:
        return None
