"""The files of a checkpoint and their misreadings by a release: data for the rules of fixes and for the command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

from packaging.version import InvalidVersion, Version

from ..loading import forms

_LONGEST = 60  # characters of a version

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
PROCESSOR = "processor_config.json"
CORE = (CONFIG, TOKENIZER_CONFIG, PROCESSOR)
NEW_LAYOUT = ("model.language_model.", "model.visual.", "model.vision_tower.", "model.multi_modal_projector.")
TWO_LAYOUTS = ("model.language_model.model.", "model.text_model.model.")
_TOWER = re.compile(
    r"^(?:model\.)?(?:vision_tower|vision_encoder|image_encoder|vision_model)\.(?:embeddings|encoder)\."
)
_FUSED = (".experts.gate_up_proj", ".experts.down_proj")


class Effect(str, Enum):
    """The effect of an entry of a checkpoint in a release."""

    MISREAD = "misread"  #: it loads, but differs from the saved model
    REFUSED = "refused"  #: an error
    LACKING = "lacking"  #: the release has no such model
    NOTE = "note"  #: it has no effect, or could not be judged


@dataclass(frozen=True)
class Misreading:
    """One thing that a release misreads or refuses.

    Attributes:
        file: the file that has it.
        key: its key in the file; empty for the whole file.
        effect: the effect.
        sentence: the reason.
        fixes: ids of fixes that convert it to the form of the release; empty if there is none.
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
    """The files of a checkpoint folder.

    Attributes:
        folder: the folder.
        files: the names of all files in it.
        json: the content of each relevant JSON file, by name.
        keys: the names of all weights in safetensors files; other files are not read.
        formats: the format in the header of each file of weights; None if the header has none.
        unreadable: files that cannot be read, with the reason, by name.
        unread: files that were not read, with the reason, by name; a release may read them.
        shapes: the shapes of the weights in the headers that were read, by name.
    """

    folder: Path
    files: frozenset[str]
    json: Mapping[str, Mapping[str, Any]]
    keys: frozenset[str] = frozenset()
    formats: Mapping[str, Optional[str]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    _translations: dict[int, tuple[forms.Release, Sequence[forms.Finding]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def config(self) -> Mapping[str, Any]:
        """``config.json``."""
        return self.json.get(CONFIG, {})

    @property
    def model_type(self) -> str:
        """The ``model_type``; empty if there is none."""
        return str(self.config.get("model_type", ""))

    @property
    def writer(self) -> str:
        """The release that wrote it, according to its files; empty if they do not name one."""
        for name in (CONFIG, "generation_config.json"):
            said = self.json.get(name, {}).get("transformers_version")
            if said:
                return str(said)
        return ""

    @property
    def needs_code(self) -> bool:
        """Whether it has the code of its model."""
        return "AutoConfig" in dictionary(self.config.get("auto_map"))

    def translation(self, release: forms.Release) -> Sequence[forms.Finding]:
        """The entries of the configuration that a release misreads; cached, since several rules need them."""
        if id(release) not in self._translations:
            self._translations[id(release)] = release, forms.configuration(self.config, release)[1]
        return self._translations[id(release)][1]

    # Facts about the names of weights, cached because rules need them for each release, and a checkpoint may have many.

    @cached_property
    def new_layout(self) -> str:
        """The first weight in the layout of 4.52 and later; empty if there is none."""
        return min((key for key in self.keys if key.startswith(NEW_LAYOUT)), default="")

    @cached_property
    def two_layouts(self) -> str:
        """The first weight that has the prefixes of two layouts."""
        return min((key for key in self.keys if key.startswith(TWO_LAYOUTS)), default="")

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


def configurations(config: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A configuration and all nested ones, each with the prefix of its keys."""
    yield at, config
    for key, value in config.items():
        if key.endswith("_config") and isinstance(value, dict):
            yield from configurations(value, f"{at}{key}.")  # not deep: `trees.DEPTH`


def dictionary(value: Any) -> Mapping[str, Any]:
    """A value, or an empty dictionary if it is not a dictionary."""
    return value if isinstance(value, dict) else {}


def parsed(text: str) -> Optional[Version]:
    """A version; None if the text is not one."""
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None
