"""What was read of a checkpoint, and what a release makes of it: what the rules of fixes and the command share."""

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
    _translations: dict[int, tuple[forms.Release, Sequence[forms.Finding]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def config(self) -> Mapping[str, Any]:
        """``config.json``."""
        return self.json.get(CONFIG, {})

    @property
    def model_type(self) -> str:
        """What kind of model it is; empty where it does not say so."""
        return str(self.config.get("model_type", ""))

    @property
    def writer(self) -> str:
        """The release that wrote it, by its own words; empty where there are none."""
        for name in (CONFIG, "generation_config.json"):
            said = self.json.get(name, {}).get("transformers_version")
            if said:
                return str(said)
        return ""

    @property
    def needs_code(self) -> bool:
        """Whether its model comes as code with it."""
        return "AutoConfig" in dictionary(self.config.get("auto_map"))

    def translation(self, release: forms.Release) -> Sequence[forms.Finding]:
        """What a release misreads in the configuration; kept, since several rules ask for it."""
        if id(release) not in self._translations:
            self._translations[id(release)] = release, forms.configuration(self.config, release)[1]
        return self._translations[id(release)][1]

    # What the rules ask of the names of weights. It is asked for each release, and a checkpoint may have many.

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
    """A configuration and those in it, each with the beginning of its keys."""
    yield at, config
    for key, value in config.items():
        if key.endswith("_config") and isinstance(value, dict):
            yield from configurations(value, f"{at}{key}.")  # not deep: `trees.DEPTH`


def dictionary(value: Any) -> Mapping[str, Any]:
    """A value, or an empty dictionary where it is none."""
    return value if isinstance(value, dict) else {}


def parsed(text: str) -> Optional[Version]:
    """A version; None where a text is none."""
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None
