"""Questions about the files of a run that several triggers share."""

from __future__ import annotations

from typing import Optional

from packaging.specifiers import SpecifierSet

from hotfix.fix import Fix
from hotfix.trigger import Files

_HEADS = """
    Model LMHeadModel DoubleHeadsModel ForAudioClassification ForCausalLM ForConditionalGeneration ForCTC
    ForImageClassification ForMaskedLM ForMultipleChoice ForNextSentencePrediction ForObjectDetection ForPreTraining
    ForQuestionAnswering ForSemanticSegmentation ForSequenceClassification ForSpeechSeq2Seq ForTokenClassification
"""
"""The ends of the names of classes, behind that of the model."""


def is_of_the_library(run: Files) -> bool:
    """Whether the class of the model has a name that the library gives, and is none of somebody's own."""
    kinds = {type_.replace("-", "").replace("_", "").lower() for type_ in run.model_types}
    names = {f"{kind}{head}".lower() for kind in kinds for head in _HEADS.split()}
    return not run.own_code and bool(run.architectures) and names.issuperset(map(str.lower, run.architectures))


def is_other_class(run: Files, *fixes: Fix) -> bool:
    """Whether the model is a class of the library, by its name, and none of those that fixes are about.

    Args:
        run: what its files say.
        fixes: their targets are methods of models.
    """
    broken = {name for fix in fixes for name in classes(fix)}
    return is_of_the_library(run) and broken.isdisjoint(run.architectures)


def is_broken_class(run: Files, fix: Fix) -> bool:
    """Whether the model is one of the classes of a fix, in the given release."""
    return not run.own_code and any(name in classes(fix, run.release) for name in run.architectures)


def classes(fix: Fix, release: str = "") -> set[str]:
    """The classes whose methods are targets of a fix; with a release, those that are broken in it."""
    return {
        target.qualname.partition(".")[0]
        for target in fix.targets
        if not release or SpecifierSet(target.releases).contains(release, prereleases=True)
    }


def is_without_flash(run: Files) -> Optional[bool]:
    """Whether the attention was another one than flash attention; None where the files do not tell."""
    return None if run.attention is None else "flash" not in run.attention
