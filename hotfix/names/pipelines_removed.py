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
          is passed as a model, not by its name. Question answering wants a fast tokenizer.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.pipelines_of_questions import QuestionAnswering
from hotfix.names.pipelines_of_text import Text2Text, Translation

FIX = Fix(
    title='KeyError: "Unknown task summarization" from pipeline(); translation, question-answering, ... are gone, too',
    kind="removed-api",
    upstream=("transformers#43256", "transformers#43325"),
    optin="the tasks are added to a table that programs search, and lengths are not obeyed exactly as in 4.57.6",
    group="removed-names",
)

V5, V53 = ">=5.0.0", ">=5.3.0"
LEAF = "transformers.pipelines"
T5_BASE = "google-t5/t5-base", "a9723ea"


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


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['text2text-generation']", V5))
def task_of_text2text_generation(pipelines: Any) -> dict[str, Any]:
    """The task of ``pipeline("text2text-generation")``."""
    return _task(pipelines.Text2TextGenerationPipeline, {"model": T5_BASE})


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['summarization']", V5))
def task_of_summarization(pipelines: Any) -> dict[str, Any]:
    """The task of ``pipeline("summarization")``."""
    return _task(pipelines.SummarizationPipeline, {"model": ("sshleifer/distilbart-cnn-12-6", "a4f8f3e")})


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['translation']", V5))
def task_of_translation(pipelines: Any) -> dict[str, Any]:
    """The task of ``pipeline("translation_en_to_fr")``; only the languages of T5 have a default."""
    return _task(pipelines.TranslationPipeline, {("en", to): {"model": T5_BASE} for to in ("fr", "de", "ro")})


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['question-answering']", V53))
def task_of_question_answering(pipelines: Any) -> dict[str, Any]:
    """The task of ``pipeline("question-answering")``."""
    default = {"model": ("distilbert/distilbert-base-cased-distilled-squad", "564e9b5")}
    return _task(pipelines.QuestionAnsweringPipeline, default, "AutoModelForQuestionAnswering")


def _task(pipeline: type, default: Any, model: str = "AutoModelForSeq2SeqLM") -> dict[str, Any]:
    from transformers.models.auto import modeling_auto

    return {"impl": pipeline, "pt": (getattr(modeling_auto, model),), "default": default, "type": "text"}


FIX.edits(
    (f"{LEAF}.base:PipelineRegistry.check_task", V53),  # until then it knew of languages
    old="raise KeyError(__X)",
    new="""
        from hotfix.names.pipelines_of_text import languages
        if languages(task) and "translation" in self.supported_tasks:
            return "translation", self.supported_tasks["translation"], languages(task)
        raise KeyError(__X)
    """,
    unless="task.startswith('translation')",
)

FIX.edits(
    (f"{LEAF}:_resolve_deprecated_task", ">=5.19.0"),
    old="removed_task in REMOVED_TASKS",
    new="removed_task in REMOVED_TASKS and removed_task not in SUPPORTED_TASKS",
)
