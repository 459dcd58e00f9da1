"""Guess the bug from a description in plain words: "qwen2.5-vl flash attention crash 4.49".

A description names a model, a release and a symptom. The guesses are the known bugs of that model in that release, the
ones with most words of the description first. Without a model, at least two of its words have to occur in the report of
a bug. Bugs whose report has a function or an attribute of the description come before these, for any model. A guess is
never called a match.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ..._support.memo import memo

if TYPE_CHECKING:
    from ..bugs import Bug

MOST = 5
_LONGEST = 300  # characters; a longer text is a log
_FEWEST = 2  # words in common with a bug, where the description names no model
_RELEASE = re.compile(r"(?<![\w.])v?([45]\.\d+(?:\.\d+)?)(?![\w]|\.\d)")
_WORD = re.compile(r"[a-z][a-z0-9]+")
_NAME = re.compile(r"\w*[a-z]_[a-z]\w*")  # of a function or an attribute
_MOST_OF_A_NAME = 3  # bugs; a name that more bugs have says little
_WORDS_TOO = {"auto", "bit", "git", "led", "van"}
"""Folders of models whose names are ordinary words."""
# fmt: off
_ORDINARY = frozenset([
    "after", "all", "and", "any", "are", "batch", "before", "but", "cannot", "does", "error", "fails", "for",
    "from", "has", "have", "hugging", "huggingface", "in", "is", "it", "its", "model", "models", "my", "not", "of",
    "on", "or", "some", "than", "that", "the", "there", "they", "this", "to", "transformers", "version", "when",
    "where", "which", "while", "with", "without", "wrong",
])
# fmt: on


@dataclass(frozen=True)
class Guess:
    """The known bugs that fit a description.

    Attributes:
        models: the models that it names, as folders of transformers.
        release: the release that it names, or the installed one; None if there is neither.
        bugs: the bugs, the likeliest first.
    """

    models: tuple[str, ...]
    release: Optional[Version]
    bugs: tuple[Bug, ...]

    def sentence(self) -> str:
        """The line above the bugs."""
        from .. import bugs

        of = f" of {', '.join(self.models)}" if self.models else ""
        in_release = f" in {bugs.PACKAGE} {self.release}" if self.release else ""
        return f"Known bugs{of}{in_release} that have words of this description (a guess):"


def guess(text: str, installed: Optional[Version]) -> Optional[Guess]:
    """The known bugs that fit a description in plain words, if there are any.

    Args:
        text: the description.
        installed: the release for a description that names none.
    """
    if len(text) > _LONGEST:
        return None
    release = _release_in(text) or installed
    models = tuple(_models_in(text))
    words = set(_stems(_RELEASE.sub(" ", text)))
    rarity, vocabulary = _vocabulary()
    named = {bug for name in _NAME.findall(text) for bug in _bugs_with(name)}
    ranked = []
    for bug, theirs in vocabulary.items():
        common = words & theirs
        is_named = bug in named and not _models_of(bug)
        if _is_in(bug, release, () if is_named else models) and (models or len(common) >= _FEWEST):
            ranked.append(((is_named, sum(rarity[word] for word in common)), bug))
    ranked.sort(key=lambda scored: scored[0], reverse=True)
    return Guess(models, release, tuple(bug for _, bug in ranked[:MOST])) if ranked else None


# ---------------------------------------------------------------------------------------------------------------------
# Below: models, releases and words.


def _release_in(text: str) -> Optional[Version]:
    """The release that a text names; the last patch of a minor release that it names without one."""
    from .. import bugs

    for match in _RELEASE.finditer(text):
        named = Version(match[1])
        if len(named.release) > 2:
            return named
        patches = [release for release in bugs.examined() if release.release[:2] == named.release[:2]]
        if patches:
            return patches[-1]
    return None


def _models_in(text: str) -> Iterator[str]:
    """The models that a text names; of "qwen2.5-vl" not also qwen2."""
    taken: set[int] = set()
    for model, pattern in _patterns().items():
        for match in pattern.finditer(text.lower()):
            if not taken & set(range(*match.span())):
                taken.update(range(*match.span()))
                yield model
                break


@memo
def _patterns() -> dict[str, re.Pattern[str]]:
    """A pattern for the ways to write each model that has a known bug, long names first."""
    from .. import bugs

    models = {model for bug in bugs.known().values() for model in _models_of(bug)} - _WORDS_TOO
    patterns = {}
    for model in sorted(models, key=lambda name: (-len(name), name)):
        parts = map(re.escape, re.findall(r"[a-z]+|\d+", model))
        patterns[model] = re.compile(r"(?<![a-z0-9])" + r"[\W_]?".join(parts) + r"(?![a-z0-9])")
    return patterns


def _bugs_with(name: str) -> Sequence[Bug]:
    """The bugs with a function or an attribute in their title or errors, if they are few."""
    from .. import bugs

    whole = re.compile(rf"\b{re.escape(name)}\b")
    matches = [bug for bug in bugs.known().values() if any(map(whole.search, (bug.title, *bug.errors)))]
    return matches if len(matches) <= _MOST_OF_A_NAME else ()


def _is_in(bug: Bug, release: Optional[Version], models: Sequence[str]) -> bool:
    """Whether a release has a bug, in one of these models if there are any."""
    from ... import session
    from .. import bugs

    entry = session.current().catalogue.entries.get(bug.id)
    if entry is None or not models:
        return (not models or bool(_models_of(bug) & set(models))) and (release is None or bug.is_in(release))
    ranges = [releases for target, releases in entry.targets.items() if _model_of(target) in models]
    counted = bugs.counts_as(release) if release else None
    return any(counted is None or SpecifierSet(text).contains(counted, prereleases=True) for text in ranges)


def _models_of(bug: Bug) -> set[str]:
    """The folders of the models in which a bug is."""
    return {model for target in bug.where if (model := _model_of(target))}


def _model_of(target: str) -> str:
    parts = target.partition(":")[0].split(".")
    return parts[2] if parts[1:2] == ["models"] and len(parts) > 3 else ""


@memo
def _vocabulary() -> tuple[Mapping[str, float], dict[Bug, frozenset[str]]]:
    """The weight of each word, and the words of each bug."""
    from .. import bugs

    vocabulary = {
        bug: frozenset(_stems(" ".join((bug.id, bug.kind, bug.title, *bug.errors)))) for bug in bugs.known().values()
    }
    counts = Counter(word for words in vocabulary.values() for word in words)
    return {word: math.log((len(vocabulary) + 1) / count) for word, count in counts.items()}, vocabulary


def _stems(text: str) -> Iterator[str]:
    """The words of a text without the commonest endings, so that "crashes" and "crashed" are "crash"."""
    for word in _WORD.findall(text.lower().replace("_", " ")):
        if word not in _ORDINARY:
            yield re.sub(r"(?:ing|ed|es|s)$", "", word) if len(word) > 4 else word
