"""The parts of a checkpoint that a release of transformers would misread or refuse.

These files are read: ``config.json``, those of the tokenizer and the processor, and of weights in safetensors the index
and the headers, never the weights. Nothing is executed or fetched, and no library is imported. A checkpoint may be
anybody's: sizes have limits, and no link is followed out of the folder (`hotfix.reports.trees`).

`hotfix.loading.forms` reads from the source of a release which configurations it understands: from the installed files
for the installed release, from distilled sources for others. A misreading that a fix repairs is found by the rule of
the fix (`hotfix.checkpoints`); the others have a rule here, with the releases for which it holds.
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from packaging.version import Version

from ... import checkpoints
from ...checkpoints import Rule
from ...checkpoints._checkpoint import (
    CONFIG,
    CORE,
    INDEX,
    SINGLE,
    TOKENIZER,
    TOKENIZER_CONFIG,
    Checkpoint,
    Effect,
    Misreading,
    dictionary,
)
from ...loading import forms
from ...reports import trees
from .. import CommandError, bugs

V5 = Version("5.0.0")
LARGEST_JSON = 64 * 2**20  # bytes; the largest tokenizer.json has half of that
LARGEST_HEADER = 16 * 2**20  # bytes; one of 50,000 tensors has a third of that
HEAVIEST = 320 * 2**20  # bytes in memory of all that is read of a folder
HEAVIEST_HEADER = HEAVIEST // 2
REFUSED_HEADER = 100_000_000  # bytes; safetensors itself reads no larger one
MOST_FILES = 4096  # files of weights

_JSON = (*CORE, "generation_config.json", INDEX, TOKENIZER)
_OF_V5 = ("SentencePieceBackend", "PythonBackend")


def read(path: str) -> Checkpoint:
    """Read the folder of a checkpoint.

    Args:
        path: the folder; the folder of a repository in the cache of the Hub; or the name of a cached repository.

    Raises:
        CommandError: there is none, or nothing in it is a checkpoint.
    """
    folder = _folder(path)
    entries = [entry.name for entry in folder.iterdir()]
    files = frozenset(name for name in entries if (folder / name).is_file())
    if not files.intersection(CORE):
        odd = sorted({*CORE}.intersection(entries))
        raise CommandError(
            f"{folder}: {', '.join(odd)}: not a regular file"
            if odd
            else f"{folder}: no {CONFIG} in it, nor a tokenizer"
        )
    reading = _Reading(folder, files)
    content = {name: document for name in _JSON if (document := reading.json(name)) is not None}
    for name in {*CORE}.intersection(reading.unread):
        raise CommandError(f"{folder / name}: {reading.unread[name]}; the checkpoint cannot be judged without it")
    keys, formats, shapes = reading.weights(content.get(INDEX, {}))
    return Checkpoint(folder, files, content, keys, formats, reading.unreadable, reading.unread, shapes)


def judge(checkpoint: Checkpoint, version: Version, release: forms.Release) -> list[Misreading]:
    """The parts that a release would misread or refuse, the harmful ones first.

    Args:
        checkpoint: the checkpoint.
        version: the release.
        release: the part of its source that is about configurations.
    """
    version = Version(version.base_version)
    findings = [finding for rule in RULES for finding in rule(checkpoint, version, release)]
    for id in checkpoints.by_fix():
        if _may_have(id, version):
            findings += checkpoints.of_fix(id, checkpoint, version, release)
    order = {file: number for number, file in reversed(list(enumerate((*CORE, *checkpoint.json))))}
    return sorted(findings, key=lambda misreading: (not misreading.is_harmful, order.get(misreading.file, len(order))))


def _may_have(id: str, version: Version) -> bool:
    """Whether a release has the bug of a fix; a release that was never examined counts as the one before it."""
    known = bisect_right(bugs.examined(), version)
    return id in bugs.known() and known > 0 and bugs.known()[id].is_in(bugs.examined()[known - 1])


# ----------------------------------------------------------------------------------------------------------------------
# Below: the rules. Each gets the checkpoint and the release, and yields its findings.


def files(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Files that no release can read, and files that were not checked."""
    for name, why in checkpoint.unreadable.items():
        yield Misreading(name, "", Effect.REFUSED, f"It cannot be read ({why}).")
    for name, why in checkpoint.unread.items():
        yield Misreading(name, "", Effect.NOTE, f"It was not checked ({why}).")


def model(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """The model type, if the release lacks it."""
    model_type = checkpoint.model_type
    if not checkpoint.config:
        return
    if checkpoint.needs_code:
        sentence = "The model is code that comes with the checkpoint; how that code reads the rest was not judged."
        yield Misreading(CONFIG, "auto_map", Effect.NOTE, sentence)
    elif not model_type:
        sentence = "It is missing, and AutoConfig needs it to choose the class."
        yield Misreading(CONFIG, "model_type", Effect.REFUSED, sentence)
    elif release.class_of(model_type) is None:
        sentence = f"This release has no model {model_type!r}."
        yield Misreading(CONFIG, "model_type", Effect.LACKING, sentence)


def configuration(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Parts that 5.x writes into ``config.json`` and that no fix translates."""
    if checkpoint.needs_code:
        return
    for finding in checkpoint.translation(release):
        if finding.key.rpartition(".")[2] != "dtype" and finding.outcome is not forms.Outcome.TRANSLATED:
            yield Misreading(
                finding.file, finding.key, Effect.MISREAD, finding.sentence, (finding.fix,) if finding.fix else ()
            )


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
        yield Misreading(CONFIG, "rope_scaling", Effect.REFUSED, sentence, (fix,) if fix else ())


def heads(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Heads whose size is not the hidden size divided by their number, in a release that requires it."""
    understood = release.class_of(checkpoint.model_type)
    sizes = [checkpoint.config.get(name) for name in ("head_dim", "num_attention_heads", "hidden_size")]
    if understood is None or not all(isinstance(size, int) and size > 0 for size in sizes):
        return
    size, number, hidden = (int(value) for value in sizes if value is not None)
    known = "head_dim" in understood.arguments or re.search(r'config(?:\.|, ")head_dim', understood.model)
    if size * number != hidden and not known:
        sentence = f"It is {size}, and {understood.name} of this release takes {hidden}/{number}: weights do not fit."
        yield Misreading(CONFIG, "head_dim", Effect.REFUSED, sentence)


def tokenizer_class(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Tokenizer classes that came with 5.0, and that no fix replaces."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    name = described.get("tokenizer_class")
    if name in _OF_V5 and version < V5 and "AutoTokenizer" not in dictionary(described.get("auto_map")):
        sentence = f"{name} came with 5.0.0; AutoTokenizer of this release refuses it."
        yield Misreading(TOKENIZER_CONFIG, "tokenizer_class", Effect.REFUSED, sentence)


def weights_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Experts in one tensor, which no fix splits."""
    fused, understood = checkpoint.fused_experts, release.class_of(checkpoint.model_type)
    if checkpoint.needs_code or understood is None:
        return
    if fused and version < V5 and "gate_up_proj" not in understood.model:
        sentence = "The experts are one tensor; this release looks for one of each and initializes them at random."
        file = INDEX if INDEX in checkpoint.files else SINGLE
        yield Misreading(file, fused, Effect.MISREAD, sentence)


def experts_layout(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Experts of Qwen3-VL: their axes on the Hub are swapped against 5.x, which saves its own order since 5.2."""
    if checkpoint.model_type != "qwen3_vl_moe" or release.class_of("qwen3_vl_moe") is None:
        return
    file = INDEX if INDEX in checkpoint.files else SINGLE
    is_early = V5 <= version < Version("5.2.0")
    own = checkpoint.single_expert
    if own and not is_early:
        sentence = "5.0 and 5.1 alone write and read each expert by itself; this release initializes them at random."
        yield Misreading(file, own, Effect.MISREAD, sentence)
    fused, shape = checkpoint.fused_shape
    hidden = dictionary(checkpoint.config.get("text_config")).get("hidden_size")
    if len(shape) != 3 or hidden not in shape[1:] or shape[1] == shape[2] or version >= Version("5.2.0"):
        return
    if (shape[1] == hidden) is is_early:
        wanted = [shape[0], shape[2], shape[1]]
        sentence = f"It has the shape {shape}, and the model of this release {wanted}: weights do not fit."
        yield Misreading(file, fused, Effect.REFUSED, sentence)


def other_weights(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Weights whose names cannot be read without executing code."""
    pickled = [name for name in checkpoint.files if name.endswith((".bin", ".pt", ".pth")) and "model" in name]
    if pickled and not checkpoint.keys:
        yield Misreading(min(pickled), "", Effect.NOTE, "Weights are pickled: their names were not looked at.")


RULES: tuple[Rule, ...] = (
    files,
    model,
    configuration,
    scaling,
    heads,
    tokenizer_class,
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
    if not snapshots.is_dir() or (folder / CONFIG).is_file():
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
    """Reads the files of a folder, with at most `HEAVIEST` bytes of memory."""

    def __init__(self, folder: Path, files: frozenset[str]) -> None:
        self.folder = folder
        self.files = files
        self.unreadable: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self._tree = trees.Tree(folder)
        self._left = HEAVIEST

    def json(self, name: str) -> Optional[dict[str, Any]]:
        """The content of a JSON file; None if it is missing, or was not read."""
        if name not in self.files:
            return None
        try:
            data = self._tree.read(self.folder / name, LARGEST_JSON)
            content = trees.json_of(data, self._left)
            if not isinstance(content, dict):
                raise ValueError(f"a {type(content).__name__} where a dictionary was expected")
        except (OSError, ValueError) as error:
            self._left_out(name, error)
            return None
        self._left -= trees.weight_of_json(data)
        return content

    def weights(
        self, index: Mapping[str, Any]
    ) -> tuple[frozenset[str], dict[str, Optional[str]], dict[str, Sequence[int]]]:
        """The names of the weights, the format of each file, and shapes."""
        table = dictionary(index.get("weight_map"))
        names = sorted({str(name) for name in table.values()}) if table else sorted(self.files & {SINGLE})
        if len(names) > MOST_FILES:
            self.unread[INDEX] = f"more than {MOST_FILES} files of weights; only the first were checked"
        keys, formats, shapes = {str(key) for key in table}, {}, {}
        for name in names[:MOST_FILES]:
            try:
                if name not in self.files:
                    raise ValueError(f"{INDEX} names it, but it is missing")
                header = self._header(name)
            except (OSError, ValueError) as error:
                self._left_out(name, error)
                continue
            formats[name] = dictionary(header.pop("__metadata__", None)).get("format")
            keys.update(header)
            shapes.update({key: entry.get("shape", ()) for key, entry in header.items()})
        return frozenset(keys), formats, shapes

    def _header(self, name: str) -> dict[str, Any]:
        """The header of a file of safetensors: eight bytes of length, and JSON.

        Raises:
            Refused: it is not read.
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
                raise ValueError("it is not a safetensors file, or it is incomplete")
            if length > REFUSED_HEADER:
                raise ValueError(f"its header has {length} bytes, and safetensors reads {REFUSED_HEADER}")
            if length > LARGEST_HEADER:
                raise trees.Refused(f"its header is larger than {trees.size_of(LARGEST_HEADER)}")
            data = stream.read(length)
        header = trees.json_of(data, min(self._left, HEAVIEST_HEADER))
        if not isinstance(header, dict):
            raise ValueError("its header is not a dictionary")
        ends = [_end_of(key, entry) for key, entry in header.items() if key != "__metadata__"]
        metadata = header.get("__metadata__") or {}
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("the metadata in its header are not strings")
        if max(ends, default=0) + 8 + length > size:
            raise ValueError("it is incomplete")
        self._left -= trees.weight_of_json(data) // 2  # names and shapes are kept
        return header

    def _left_out(self, name: str, error: Exception) -> None:
        if isinstance(error, trees.Refused):
            self.unread[name] = str(error)
        else:
            self.unreadable[name] = f"{type(error).__name__}: {error}"


def _end_of(name: str, entry: Any) -> int:
    """The end of the bytes of a tensor.

    Raises:
        ValueError: its entry in the header does not describe a tensor.
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
