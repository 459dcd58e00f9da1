"""Facts about a run from the files of its checkpoint, or of its folder of results.

These files are read: config.json, generation_config.json, adapter_config.json, preprocessor_config.json,
tokenizer_config.json, trainer_state.json, the model card, args.json, hotfix.lock, the records of hotfix, and files with
pins (`hotfix.commands.pins.readers`); in a folder of results also those of the newest checkpoint. Nothing is executed,
nothing is unpickled (training_args.bin, *.pt, *.pth are not opened), no library is imported. A file that cannot be read
is listed with the reason; the others are read anyway.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from packaging.utils import canonicalize_name

from ...reports import lock
from ...reports.trees import Refused, Tree, json_of
from ...trigger import FACTS, Files, Said
from .. import CommandError
from ..bugs import PACKAGE
from ..pins import project_files, readers

LARGEST = {"trainer_state.json": 256 * 2**20}  # a line of its log for every step
LIMIT = 16 * 2**20
HEAVIEST = 4 * 2**30  # bytes of memory, as an upper bound that the usual document is far below
_NODES = 100_000  # dictionaries and lists of a configuration
_RECORD = re.compile(r".*-\d+-[0-9a-f]{8}\.json")
_RECORDS = 64
_VERSION = 60  # characters
_ITEM = re.compile(r"[-*] +([A-Za-z][\w .-]*?)[ :] *v?(\d[\w.+!-]*)[ \t]*")
_SETTING = re.compile(r"- ([a-z_]+): (.+)")
_SETTINGS = "hyperparameters were used during training:"
_NEVER_READ = "training_args.bin"


@dataclass(frozen=True)
class Release:
    """A release of transformers that a file names.

    Attributes:
        release: the text in the file.
        file: the file.
        what: the statement of the file about it.
    """

    release: str
    file: str
    what: str


@dataclass
class Run:
    """The facts from a folder.

    Attributes:
        folder: the folder.
        releases: the releases of transformers that its files name.
        files: the other facts.
        repaired: the ids of repaired bugs, with the hotfix.lock or record that names them.
        struck: the number of calls that triggered a bug, by id, with the file that counts them.
        pinned: the packages in files that list everything that is installed; None if there is no such file.
        unread: the files that were not read, with the reason.
        notes: further sentences for the report.
    """

    folder: Path
    releases: list[Release] = field(default_factory=list)
    files: Files = field(default_factory=lambda: Files(Path()))
    repaired: dict[str, str] = field(default_factory=dict)
    struck: dict[str, tuple[int, str]] = field(default_factory=dict)
    pinned: Optional[frozenset[str]] = None
    unread: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read(folder: Path) -> Run:
    """Read the folder of a checkpoint, or of results.

    Raises:
        CommandError: it is no folder.
    """
    if not folder.is_dir():
        what = "a file; name the folder that it is in" if folder.exists() else "there is no such folder"
        raise CommandError(f"{folder}: {what}")
    try:
        return _Reader(folder).read()
    except OSError as error:
        raise CommandError(f"{folder}: {error.strerror or error}") from None


# ----------------------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, folder: Path) -> None:
        self.run = Run(folder)
        self.said: list[Said] = []
        self.config: Mapping[str, Any] = {}
        self.processor: Mapping[str, Any] = {}
        self.tokenizer: Mapping[str, Any] = {}
        self.packages: dict[str, set[str]] = {}
        self.tree = Tree(folder)

    def read(self) -> Run:
        """Read all known files of the folder and of its newest checkpoint."""
        places = ["", *self._newest_checkpoint()]
        for place in places:
            self._configuration(place)
            self._adapter(place)
            self.processor = self.processor or self._json(f"{place}preprocessor_config.json") or {}
            self.tokenizer = self.tokenizer or self._json(f"{place}tokenizer_config.json") or {}
            self._state(place)
            self._arguments(place)
            self._lock(place)
            self._marks(place)
        self._card()
        self._records()
        self._pins()
        self.run.files = self._files()
        return self.run

    # -- the files of a run --------------------------------------------------------------------------------------------

    def _configuration(self, place: str) -> None:
        for name in ("config.json", "generation_config.json"):
            content = self._json(place + name)
            if content is None:
                continue
            self._release(content.get("transformers_version"), place + name, "it was written with it")
            if name != "config.json":
                continue
            self.config = self.config or content
            file = place + name
            for part in self._every_dictionary(content, file):
                self._text("model_types", part.get("model_type"), file)
                if part is not content:
                    self._release(part.get("transformers_version"), file, "a part of it was written with it")
            for architecture in _list(content.get("architectures")):
                self._text("architectures", architecture, file)
            self.say("own_code", bool(content.get("auto_map")), file)
            text_config = content.get("text_config")
            for part in (content, text_config) if isinstance(text_config, dict) else (content,):
                self._text("dtype", part.get("dtype") or part.get("torch_dtype"), file)
                self._text("attention", part.get("_attn_implementation") or part.get("attn_implementation"), file)
                self._number("max_positions", part.get("max_position_embeddings"), file)
                self._window(part, file)

    def _window(self, config: Mapping[str, Any], file: str) -> None:
        """The window of a configuration; a file that transformers wrote contains every attribute of its class."""
        if "sliding_window" in config:
            used = config.get("use_sliding_window") is not False
            self._number("sliding_window", config["sliding_window"] if used and config["sliding_window"] else 0, file)
        elif config.get("transformers_version") and not isinstance(config.get("text_config"), dict):
            self.say("sliding_window", 0, file)

    def _adapter(self, place: str) -> None:
        file = f"{place}adapter_config.json"
        content = self._json(file)
        if content is None:
            return
        self.say("is_adapter", True, file)
        mapping = content.get("auto_mapping")
        mapping = mapping if isinstance(mapping, dict) else {}
        library = mapping.get("parent_library")
        if isinstance(library, str) and library.startswith(f"{PACKAGE}.models."):
            self._text("model_types", library.split(".")[2], file)
            self._text("architectures", mapping.get("base_model_class"), file)
        elif not any(fact.name == "model_types" for fact in self.said):
            base = content.get("base_model_name_or_path")
            named = f" {_short(base)}" if isinstance(base, str) and base else ""
            self.run.notes.append(f"{file}: the model type of its base{named} is not in the file")

    def _state(self, place: str) -> None:
        file = f"{place}trainer_state.json"
        content = self._json(file)
        if content is not None:
            self.say("by_trainer", True, file)
            self._number("batch_size", content.get("train_batch_size"), file)

    def _arguments(self, place: str) -> None:
        """The arguments of a training that ms-swift and others save as JSON."""
        for name in ("args.json", "training_args.json"):
            file = place + name
            content = self._json(file)
            if content is None:
                continue
            self._number("accumulation_steps", content.get("gradient_accumulation_steps"), file)
            self._number("batch_size", content.get("per_device_train_batch_size"), file)
            self._text("attention", content.get("attn_impl") or content.get("attn_implementation"), file)

    def _lock(self, place: str) -> None:
        file = place + lock.FILE
        content = self._json(file)
        if content is None:
            return
        if not isinstance(content.get("patches"), list) or not isinstance(content.get("packages"), dict):
            self.run.unread[file] = "not a lock file of hotfix"
            return
        try:
            edited = lock.edited_since({"digest": "", **content})
        except (TypeError, ValueError):  # lines that are no text
            edited = "not a lock file of hotfix"
        if edited:
            self.run.unread[file] = edited
            return
        self._environment(content, file)

    def _records(self) -> None:
        names = sorted(path.name for path in self.run.folder.iterdir() if _RECORD.fullmatch(path.name))
        for file in names[:_RECORDS]:
            content = self._json(file)
            if content and isinstance(content.get("patches"), list) and isinstance(content.get("packages"), dict):
                self._environment(content, file)
                self._counts(content, file)
        if len(names) > _RECORDS:
            self.run.notes.append(f"of {len(names)} records of hotfix, {_RECORDS} were read")

    def _environment(self, content: Mapping[str, Any], file: str) -> None:
        """The facts about its process in a lock file or a record."""
        for name, version in content["packages"].items():
            self._package(str(name), version, file, "the training ran with it")
        for line in content["patches"]:
            words = str(line).split()
            if words:
                self.run.repaired.setdefault(words[0], file)

    def _counts(self, content: Mapping[str, Any], file: str) -> None:
        """The observed calls in a record."""
        for counted in _list(content.get("observed")):
            struck = counted.get("struck") if isinstance(counted, dict) else None
            if isinstance(struck, int) and struck > 0 and isinstance(counted.get("fix"), str):
                before = self.run.struck.get(counted["fix"], (0, file))
                self.run.struck[counted["fix"]] = (before[0] + struck, before[1])

    def _marks(self, place: str) -> None:
        """The facts that the names of files show."""
        folder = self.run.folder / place
        names = {path.name for path in folder.iterdir()}
        if _NEVER_READ in names:
            self.say("by_trainer", True, place + _NEVER_READ)
            self.run.unread[place + _NEVER_READ] = "a pickle, which could run anything; never opened"
        if "zero_to_fp32.py" in names or any(re.fullmatch(r"global_step\d+", name) for name in names):
            self.say("deepspeed", True, f"{place or './'}: zero_to_fp32.py or global_step*")
        elif {"optimizer.pt", "trainer_state.json"} <= names:  # DeepSpeed keeps that elsewhere
            self.say("deepspeed", False, f"{place}optimizer.pt")
        has_ranks = any(re.fullmatch(r"rng_state_\d{1,6}\.pth", name) for name in names)
        if "rng_state.pth" in names and not has_ranks:
            self.say("processes", 1, f"{place}rng_state.pth")

    # -- the model card ------------------------------------------------------------------------------------------------

    def _card(self) -> None:
        file = "README.md"
        text = self._text_of(file)
        if text is None:
            return
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if re.fullmatch(r"#+ +Framework versions\s*", line):
                for item in _items(lines[number + 1 :]):
                    match = _ITEM.fullmatch(item)
                    if match:
                        name = {"Pytorch": "torch"}.get(match[1], match[1])
                        self._package(name, match[2], file, "the training ran with it")
            if line.rstrip().endswith(_SETTINGS):
                self._settings(dict(_pairs(_items(lines[number + 1 :]))), file)

    def _settings(self, settings: Mapping[str, str], file: str) -> None:
        """The list of hyperparameters that the Trainer writes; it leaves out default values."""
        if "train_batch_size" not in settings:
            return
        self.say("by_trainer", True, file)
        self._number("batch_size", settings["train_batch_size"], file)
        self._number("accumulation_steps", settings.get("gradient_accumulation_steps", "1"), file)
        if "num_devices" in settings:
            self._number("processes", settings["num_devices"], file)
        self._text("parallel", settings.get("distributed_type"), file)

    # -- what pins packages --------------------------------------------------------------------------------------------

    def _pins(self) -> None:
        try:
            files = project_files.find(self.run.folder)
        except CommandError:  # there usually are none
            return
        complete: set[str] = set()
        for path in files:
            file = path.relative_to(self.run.folder).as_posix()
            if not self._may_be_read(file):
                continue
            try:
                read = readers.read(str(path))
            except CommandError as error:
                self.run.unread[file] = str(error).partition(": ")[2] or str(error)
                continue
            for name, wanted in read.packages.items():
                for pin in wanted:
                    if pin.version is not None:
                        self._package(name, str(pin.version), file, "it is pinned")
                    elif name == PACKAGE:
                        asks = pin.opaque or f"it allows {PACKAGE}{pin.specifier}"
                        self.run.notes.append(f"{file}: {asks}, which is not a single release")
            if read.complete:
                complete |= read.packages.keys()
                self.run.pinned = frozenset(complete)

    # -- what was said -------------------------------------------------------------------------------------------------

    def say(self, name: str, value: Any, file: str) -> None:
        """Record a fact from a file."""
        fact = Said(name, value, file)
        if fact not in self.said:
            self.said.append(fact)

    def _text(self, name: str, value: Any, file: str) -> None:
        if isinstance(value, str) and 0 < len(value) <= 200:
            self.say(name, value, file)

    def _number(self, name: str, value: Any, file: str) -> None:
        if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
            self.say(name, value, file)

    def _release(self, value: Any, file: str, what: str) -> None:
        if value is None:
            return
        if not isinstance(value, str) or not 0 < len(value) <= _VERSION:
            self.run.notes.append(f"{file}: its transformers_version is not a version")
        elif all((known.release, known.file) != (value, file) for known in self.run.releases):
            self.run.releases.append(Release(value, file, what))

    def _package(self, name: str, version: Any, file: str, what: str) -> None:
        name = canonicalize_name(name)
        if name == PACKAGE:
            self._release(version, file, what)
        elif isinstance(version, str) and len(version) <= _VERSION:
            self.packages.setdefault(name, set()).add(version)

    def _files(self) -> Files:
        several = {"model_types", "architectures"}
        values: dict[str, Any] = {}
        for name in FACTS:
            distinct = list(dict.fromkeys(fact.value for fact in self.said if fact.name == name))
            if name in several:
                values[name] = distinct
            elif len(distinct) == 1:
                values[name] = distinct[0]
            elif distinct:
                stated = ", ".join(f"{fact.value} ({fact.file})" for fact in self.said if fact.name == name)
                self.run.notes.append(f"the files do not agree on {FACTS[name]}: {stated}")
        return Files(
            **{
                **values,
                "folder": self.run.folder,
                "releases": tuple(dict.fromkeys(mention.release for mention in self.run.releases)),
                "model_types": frozenset(values["model_types"]),
                "architectures": tuple(values["architectures"]),
                "config": self.config,
                "processor": self.processor,
                "tokenizer": self.tokenizer,
                "packages": {
                    name: next(iter(versions)) for name, versions in self.packages.items() if len(versions) == 1
                },
                "said": tuple(self.said),
            }
        )

    # -- reading -------------------------------------------------------------------------------------------------------

    def _newest_checkpoint(self) -> list[str]:
        """The checkpoint with the highest number, if there is one, with a slash."""
        numbers = [
            int(match[1])
            for match in (re.fullmatch(r"checkpoint-(\d{1,12})", path.name) for path in self.run.folder.iterdir())
            if match
        ]
        name = f"checkpoint-{max(numbers)}" if numbers else ""
        if not name or not (self.run.folder / name).is_dir() or not self.tree.contains(self.run.folder / name):
            return []
        if len(numbers) > 1:
            self.run.notes.append(f"of {len(numbers)} checkpoints, only the newest, {name}, was read")
        return [f"{name}/"]

    def _may_be_read(self, file: str) -> bool:
        """Whether a file is there and is a regular file of this folder."""
        path = self.run.folder / file
        if not path.is_symlink() and not path.exists():
            return False
        reason = self.tree.refusal(path)
        if reason:
            self.run.unread[file] = reason
        return not reason

    def _bytes(self, file: str) -> Optional[bytes]:
        if not self._may_be_read(file):
            return None
        path = self.run.folder / file
        try:
            return self.tree.read(path, LARGEST.get(path.name, LIMIT))
        except OSError as error:
            self.run.unread[file] = error.strerror or str(error)
            return None

    def _text_of(self, file: str) -> Optional[str]:
        data = self._bytes(file)
        try:
            text = data.decode("utf-8-sig") if data is not None else None
        except UnicodeDecodeError:
            text = "\0"
        if text is None or "\0" not in text:
            return text
        self.run.unread[file] = "not a text file in UTF-8"
        return None

    def _json(self, file: str) -> Optional[dict[str, Any]]:
        data = self._bytes(file)
        if data is None:
            return None
        try:
            content = json_of(data.removeprefix(codecs.BOM_UTF8), HEAVIEST)
        except Refused as refused:
            self.run.unread[file] = str(refused)
            return None
        except UnicodeDecodeError:
            self.run.unread[file] = "not a text file in UTF-8"
            return None
        except ValueError as error:
            self.run.unread[file] = f"not JSON: {_short(str(error))}"
            return None
        if not isinstance(content, dict):
            self.run.unread[file] = f"a {type(content).__name__} where a dictionary was expected"
            return None
        return content

    def _every_dictionary(self, content: dict[str, Any], file: str) -> Iterator[dict[str, Any]]:
        waiting: list[Any] = [content]
        seen = 0
        while waiting:
            value = waiting.pop()
            seen += 1
            if seen > _NODES:
                self.run.notes.append(f"{file}: more than {_NODES} parts; the rest was not read")
                return
            if isinstance(value, dict):
                yield value
            parts = value.values() if isinstance(value, dict) else value
            waiting += [part for part in parts if isinstance(part, (dict, list))]


def _items(lines: list[str]) -> Iterator[str]:
    """The items of the list that begins in these lines, perhaps after an empty one."""
    begun = False
    for line in lines:
        if re.match(r"[-*] ", line):
            begun = True
            yield line.rstrip()
        elif begun or line.strip():
            return


def _pairs(items: Iterator[str]) -> Iterator[tuple[str, str]]:
    for item in items:
        match = _SETTING.fullmatch(item)
        if match:
            yield match[1], match[2].strip()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."
