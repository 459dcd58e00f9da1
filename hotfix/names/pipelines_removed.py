"""``pipeline("summarization")``, ``"translation"``, ``"text2text-generation"`` and ``"question-answering"`` are gone.

Symptom   ``KeyError: "Unknown task summarization, available tasks are [...]"``, and since 5.19.0 ``KeyError: 'The task
          summarization has been removed from transformers. ...'``; the same of ``translation``,
          ``translation_en_to_fr``, ``text2text-generation`` and ``question-answering``; ``ImportError: cannot import
          name 'SummarizationPipeline' from 'transformers'``.
Cause     The pipelines of models that read one text and write another were removed, and later that of models that find
          an answer in a text. The models are still there.
Releases  5.0.0 and later; question answering 5.3.0 and later
Upstream  transformers#43256, transformers#43325 (not put back)
Here      The four tasks and their classes, which return what 4.57.6 returns, by its defaults (4 beams, 256 new tokens)
          and by what the configuration of a T5 or BART says of a task. A ``max_length`` of the caller or of the
          configuration is obeyed; 4.57.6 preferred its own 256. There are no warnings about lengths; an assistant model
          is passed as a model, not by its name. Question answering wants a fast tokenizer. Only a program that would
          end gets them: a program that handles the KeyError gets the error, and the table of tasks stays as it is.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional

from hotfix.fix import Fix
from hotfix.names.pipelines_of_questions import QuestionAnswering
from hotfix.names.pipelines_of_text import Text2Text, Translation, languages
from hotfix.patching import scope

T5_BASE = "google-t5/t5-base", "a9723ea"


class Task(NamedTuple):
    """What `pipeline` needs to know of a task.

    Attributes:
        pipeline: the name of the class.
        default: the entry for the checkpoint that is used if the caller names none; only the languages of T5 have one.
        model: the auto class of the model.
    """

    pipeline: str
    default: dict[Any, Any]
    model: str = "AutoModelForSeq2SeqLM"


TASKS = {
    "text2text-generation": Task("Text2TextGenerationPipeline", {"model": T5_BASE}),
    "summarization": Task("SummarizationPipeline", {"model": ("sshleifer/distilbart-cnn-12-6", "a4f8f3e")}),
    "translation": Task("TranslationPipeline", {("en", to): {"model": T5_BASE} for to in ("fr", "de", "ro")}),
    "question-answering": Task(
        "QuestionAnsweringPipeline",
        {"model": ("distilbert/distilbert-base-cased-distilled-squad", "564e9b5")},
        "AutoModelForQuestionAnswering",
    ),
}

FIX = Fix(
    title='KeyError: "Unknown task summarization" from pipeline(); translation, question-answering, ... are gone, too',
    kind="removed-api",
    upstream=("transformers#43256", "transformers#43325"),
    group="removed-names",
    errors=(
        *(f'KeyError: "Unknown task {task}, available tasks are …"' for task in TASKS),
        *(f"KeyError: 'The task {task} has been removed from transformers. …'" for task in TASKS),
        "KeyError: 'The task translation_en_to_fr has been removed from transformers. …'",
        'KeyError: "Unknown task translation_en_to_fr, available tasks are …"',
        "KeyError: 'translation'",
    ),
    everyone="only after the KeyError of a task, where the program does not handle it: the new code tests it",
    prefilter="task: str",
)

V5, V53 = ">=5.0.0", ">=5.3.0"
LEAF = "transformers.pipelines"


@FIX.adds_made((f"{LEAF}:Text2TextGenerationPipeline", V5), exported_by=("transformers",))
def text2text_generation(pipelines: Any) -> type:
    """The class of all three."""
    base = pipelines.base.Pipeline
    made: type = type(base)("Text2TextGenerationPipeline", (Text2Text, base), {"__module__": LEAF})
    return made


@FIX.adds_made((f"{LEAF}:SummarizationPipeline", V5), exported_by=("transformers",))
def summarization(pipelines: Any) -> type:
    """The one that summarizes."""
    base = pipelines.Text2TextGenerationPipeline
    made: type = type(base)("SummarizationPipeline", (base,), {"__module__": LEAF, "return_name": "summary"})
    return made


@FIX.adds_made((f"{LEAF}:TranslationPipeline", V5), exported_by=("transformers",))
def translation(pipelines: Any) -> type:
    """The one that translates."""
    base = pipelines.Text2TextGenerationPipeline
    made: type = type(base)("TranslationPipeline", (Translation, base), {"__module__": LEAF})
    return made


@FIX.adds_made((f"{LEAF}:QuestionAnsweringPipeline", V53), exported_by=("transformers",))
def question_answering(pipelines: Any) -> type:
    """The one that finds answers."""
    base = pipelines.base.ChunkPipeline
    made: type = type(base)("QuestionAnsweringPipeline", (QuestionAnswering, base), {"__module__": LEAF})
    return made


@FIX.wraps((f"{LEAF}.base:PipelineRegistry.check_task", V5), fingerprint_of=(f"{LEAF}:pipeline",))
def with_the_removed_tasks(original: Callable[..., Any]) -> Callable[..., Any]:
    """The entry of a removed task, in place of the error."""

    def check_task(self: Any, task: str) -> Any:
        try:
            return original(self, task)
        except KeyError as _hotfix_error:
            entry = _entry(self, task, sys._getframe(1))
            if entry is None:
                raise
            return entry

    return check_task


@FIX.wraps((f"{LEAF}:_resolve_deprecated_task", ">=5.19.0"))
def that_are_not_refused(original: Callable[[str], str]) -> Callable[[str], str]:
    """The name of a removed task, in place of the error."""

    def _resolve_deprecated_task(task: str) -> str:
        try:
            return original(task)
        except KeyError as _hotfix_error:
            registry = sys.modules[LEAF].PIPELINE_REGISTRY
            if _entry(registry, task, sys._getframe(1)) is None:
                raise
            return task

    return _resolve_deprecated_task


@FIX.recognises
def is_broken(function: Any) -> bool:
    """Pipelines lost their old tasks together with the other frameworks."""
    names = {argument.arg for argument in function.args.args}
    return function.name == "_resolve_deprecated_task" or (function.name == "pipeline" and "framework" not in names)


def _entry(registry: Any, task: str, frame: Any) -> Optional[tuple[str, dict[str, Any], Any]]:
    """The name, the entry and the option of a removed task; None if the program handles the error."""
    from transformers.models.auto import modeling_auto

    pipelines = sys.modules[LEAF]
    name = "translation" if languages(task) else task
    row = TASKS.get(name)
    if row is None or registry is not pipelines.PIPELINE_REGISTRY or name in registry.supported_tasks:
        return None
    if scope.is_handled(FIX.id, KeyError, frame, library="transformers"):
        return None
    model = getattr(modeling_auto, row.model)
    entry = {"impl": getattr(pipelines, row.pipeline), "pt": (model,), "default": row.default, "type": "text"}
    return name, entry, languages(task)
