"""Names that weights have in files of later releases, and those that a model of this release gives them.

Pure, as `forms`: names in, names out; only the standard library is used, and no tensor is looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

_TOWER = r"^((?:model\.)?(?:vision_tower|vision_encoder|image_encoder|vision_model)\.|)"
_OF_A_TOWER = r"(embeddings|encoder|pre_layrnorm|pre_layernorm|post_layernorm|head)\."

RULES: tuple[tuple[str, str], ...] = (
    # What 5.x takes for one module is two in 4.x: a tower, and the model of it.
    (rf"{_TOWER}{_OF_A_TOWER}", r"\1vision_model.\2."),
    # Since 4.52.1 a model of text and pictures has its parts in ``model``.
    (r"^model\.language_model\.", "language_model.model."),
    # 5.4 and 5.5 write the ``model`` of both.
    (r"^model\.language_model\.model\.", "language_model.model."),
    (r"^model\.language_model\.model\.", "model.language_model."),
    (r"^lm_head\.", "language_model.lm_head."),
    (r"^lm_head\.", "embed_out."),  # GPT-NeoX
    (r"^model\.language_model\.", "model."),
    (r"^model\.visual\.", "visual."),
    (r"^model\.(vision_tower|multi_modal_projector|image_newline|vision_model|qformer)\b", r"\1"),
)


def candidates(name: str) -> Iterator[str]:
    """What a name of a later release may be called in this one, by one or two of the rules."""
    for pattern, replacement in RULES:
        once = re.sub(pattern, replacement, name, count=1)
        if once != name:
            yield once
            twice = re.sub(RULES[0][0], RULES[0][1], once, count=1)
            if twice != once:
                yield twice


def renamed(names: Mapping[str, str], expected: Iterable[str]) -> dict[str, str]:
    """The names that change: each to the only one of this release that it can be.

    Args:
        names: for each name in a file the name that this release would look for; it is not changed.
        expected: the names that the model has.

    Returns:
        For each name in the file that would not be found, and that is one of the model's own by exactly one reading,
        that one. A name that the file has already is never given twice. A part of the model changes as a whole: where
        the file has names of this release for it, or names for less than half of it, all of them stay.
    """
    wanted = set(expected)
    free = wanted.difference(names.values())
    changes: dict[str, str] = {}
    for name, looked_for in names.items():
        if looked_for in wanted:
            continue
        # A prefix that the release has put before it, or taken away, may have been one too many.
        fitting = set(candidates(looked_for)) & free or {name, *candidates(name)} & free
        if len(fitting) == 1:
            changes[name] = fitting.pop()
    times = Counter(changes.values())
    changes = {name: new for name, new in changes.items() if times[new] == 1}
    known = wanted.difference(changes.values()).intersection(names.values())
    groups = {group: _is_of_later_layout(group, changes.values(), wanted, known) for group in _groups(changes)}
    return {name: new for name, new in changes.items() if groups[_group(name, new)]}


def _groups(changes: Mapping[str, str]) -> set[str]:
    return {_group(name, new) for name, new in changes.items()}


def _group(name: str, new: str) -> str:
    """The part of a model that a name is moved into: what the new name begins with, up to where both are the same."""
    before, after = name.split("."), new.split(".")
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    parts = new.split(".")
    return ".".join(after or parts[: max(1, min(2, len(parts) - 1))]) + "."


def _is_of_later_layout(group: str, moved: Iterable[str], wanted: Iterable[str], known: Iterable[str]) -> bool:
    """Whether a file has a part of the model under names of a later release, and only so."""
    if any(name.startswith(group) for name in known):
        return False
    return 2 * sum(name.startswith(group) for name in moved) >= sum(name.startswith(group) for name in wanted)
