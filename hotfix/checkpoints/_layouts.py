"""Names of weights that change from release to release: what two fixes divide among themselves."""

from __future__ import annotations

from packaging.version import Version

from ._checkpoint import INDEX, SINGLE, TWO_LAYOUTS, Checkpoint

_BASE_IS_TEXT = ("gemma3", "shieldgemma2")  # before 4.52 they loaded these names into their model of text alone
NAMED_TWICE = "5.4 and 5.5 name weights so; this release leaves them and initialises its own at random."
NEW = Version("4.52.0")
"""The first release that names weights in the newer way."""


def file_of(checkpoint: Checkpoint) -> str:
    """The file that has the names of the weights."""
    return INDEX if INDEX in checkpoint.files else SINGLE


def is_read_into_base(checkpoint: Checkpoint) -> bool:
    """Whether a release before `NEW` reads what has two layouts into the model of text of this model."""
    return checkpoint.new_layout.startswith(TWO_LAYOUTS) and checkpoint.model_type in _BASE_IS_TEXT
