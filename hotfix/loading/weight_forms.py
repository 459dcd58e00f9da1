"""Rename the weights in files of later releases to the names in a model of this release.

Pure, as `forms`: names in, names out. It uses only the standard library, and reads no tensor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

_TOWER = r"^((?:model\.)?(?:vision_tower|vision_encoder|image_encoder|vision_model)\.|)"
_OF_A_TOWER = r"(embeddings|encoder|pre_layrnorm|pre_layernorm|post_layernorm|head)\."

RULES: tuple[tuple[str, str], ...] = (
    # One module of 5.x is two in 4.x: a tower, and its model.
    (rf"{_TOWER}{_OF_A_TOWER}", r"\1vision_model.\2."),
    # Since 4.52.1 a vision-language model has its parts in ``model``.
    (r"^model\.language_model\.", "language_model.model."),
    # 5.4 and 5.5 write both ``model`` prefixes.
    (r"^model\.language_model\.model\.", "language_model.model."),
    (r"^model\.language_model\.model\.", "model.language_model."),
    (r"^lm_head\.", "language_model.lm_head."),
    (r"^lm_head\.", "embed_out."),  # GPT-NeoX
    (r"^model\.language_model\.", "model."),
    (r"^model\.visual\.", "visual."),
    (r"^model\.(vision_tower|multi_modal_projector|image_newline|vision_model|qformer)\b", r"\1"),
)


def candidates(name: str) -> Iterator[str]:
    """Possible names in this release for a name of a later one, by one or two of the rules."""
    for pattern, replacement in RULES:
        once = re.sub(pattern, replacement, name, count=1)
        if once != name:
            yield once
            twice = re.sub(RULES[0][0], RULES[0][1], once, count=1)
            if twice != once:
                yield twice


def renamed(names: Mapping[str, str], expected: Iterable[str], kept: Collection[str] = ()) -> dict[str, str]:
    """Find the names that change, each to its only possible name in this release.

    Args:
        names: the name that this release would look for, by name in the file; it is not changed.
        expected: the names in the model.
        kept: names in the file that do not change.

    Returns:
        The name in the model, for each name in the file that would not be found and has exactly one possible name. No
        two weights get the same name. A part of the model changes as a whole: if the file has names of this release
        for it, or names for less than half of it, all of them stay.
    """
    wanted = set(expected)
    free = wanted.difference(names.values())
    changes: dict[str, str] = {}
    for name, looked_for in names.items():
        if looked_for in wanted or name in kept:
            continue
        # The release may have added or removed one prefix too many.
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
    """The part of a model that a name moves into: the new name up to the end that both names share."""
    before, after = name.split("."), new.split(".")
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    parts = new.split(".")
    return ".".join(after or parts[: max(1, min(2, len(parts) - 1))]) + "."


def _is_of_later_layout(group: str, moved: Iterable[str], wanted: Iterable[str], known: Iterable[str]) -> bool:
    """Whether a file has a part of the model under names of a later release only."""
    if any(name.startswith(group) for name in known):
        return False
    return 2 * sum(name.startswith(group) for name in moved) >= sum(name.startswith(group) for name in wanted)
