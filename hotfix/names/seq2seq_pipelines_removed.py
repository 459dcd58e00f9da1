"""``pipeline("summarization")``, ``"translation"`` and ``"text2text-generation"`` are gone.

Symptom   ``KeyError: "Unknown task summarization, available tasks are [...]"``, and since 5.19.0 ``KeyError: 'The task
          summarization has been removed from transformers. ...'``; the same of ``translation``,
          ``translation_en_to_fr`` and ``text2text-generation``; ``ImportError: cannot import name
          'SummarizationPipeline' from 'transformers'``.
Cause     5.0.0 removed the pipelines of models that read one text and write another; these models are still there.
Releases  5.0.0 to 5.23.0
Upstream  transformers#43256 (not put back)
Here      The three tasks and their classes: what 4.57.6 returns, by its defaults (4 beams, 256 new tokens) and by what
          the configuration of a T5 or BART says of a task. A ``max_length`` of the caller or of the configuration is
          obeyed; 4.57.6 preferred its own 256. It does not advise on lengths, and a model that assists in generating
          is given as one, not by its name.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    id="seq2seq-pipelines-removed",
    title='KeyError: "Unknown task summarization" from pipeline(); translation and text2text-generation are gone, too',
    kind="removed-api",
    upstream=("transformers#43256",),
    optin=True,
    group="removed-names",
)

V5 = ">=5.0.0"
LEAF = "transformers.pipelines"
DEFAULTS = {"max_new_tokens": 256, "num_beams": 4}
T5_BASE = "google-t5/t5-base", "a9723ea"


class Text2Text:
    """What stands before `Pipeline` in the classes; its methods are those that every pipeline has."""

    _load_tokenizer = True
    _load_processor = _load_feature_extractor = _load_image_processor = _load_video_processor = False

    return_name = "generated"

    def __init__(self: Any, model: Any, *args: Any, task: str = "", **kwargs: Any) -> None:
        from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

        of_tasks = getattr(model.config, "task_specific_params", None) or {}
        if task == "translation":  # into the first language that the model knows of
            task = next((one for one in of_tasks if one.startswith("translation")), task)
        self._of_task = dict(of_tasks.get(task, {}))
        self.prefix = self._of_task.pop("prefix", None) or getattr(model.config, "prefix", None) or ""
        call: Any = super()
        call.__init__(model, *args, task=task, **kwargs)
        self.check_model_type(MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)

    def _sanitize_parameters(
        self: Any,
        return_tensors: Optional[bool] = None,
        return_text: Optional[bool] = None,
        clean_up_tokenization_spaces: Optional[bool] = None,
        truncation: Any = None,
        stop_sequence: Optional[str] = None,
        **generating: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Who gets which argument: the tokenizer, ``generate()``, or what makes the result."""
        if stop_sequence is not None:
            generating["eos_token_id"] = self.tokenizer.encode(stop_sequence, add_special_tokens=False)[0]
        written = {"return_tensors": return_tensors, "clean_up_tokenization_spaces": clean_up_tokenization_spaces}
        return _given(truncation=truncation), generating, _given(**written)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Read texts, and return what the model writes, in a list of dictionaries.

        Args:
            args: a text, or a list of texts.
            kwargs: of ``generate()``, and ``return_tensors``, ``clean_up_tokenization_spaces``, ``truncation``,
                ``stop_sequence``, of which the first token counts.
        """
        call: Any = super()
        results = call.__call__(*args, **kwargs)
        texts = args[0]
        if isinstance(texts, list) and all(isinstance(one, str) for one in texts):
            return [one[0] for one in results] if all(len(one) == 1 for one in results) else results
        return results

    def preprocess(self: Any, texts: Any, truncation: Any = False) -> Any:
        """Tokens, of shape (batch, length)."""
        several = isinstance(texts, list)
        texts = [f"{self.prefix}{one}" for one in texts] if several else f"{self.prefix}{texts}"
        tokens = self.tokenizer(texts, padding=several, truncation=truncation, return_tensors="pt")
        tokens.pop("token_type_ids", None)  # no model that generates takes them
        return tokens

    def _forward(self: Any, tokens: Any, **generating: Any) -> dict[str, Any]:
        if "generation_config" not in generating:
            generating = self._settings(generating)
        written = self.model.generate(**tokens, **generating)
        written = getattr(written, "sequences", written)
        batch = len(tokens["input_ids"])
        return {"output_ids": written.reshape(batch, len(written) // batch, *written.shape[1:])}

    def _settings(self: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """What the caller asks for, over what the configuration says of the task, over the defaults."""
        model, pad = self.model.generation_config, self.tokenizer.pad_token_id
        settings = {**self._of_task, **asked}
        if "max_new_tokens" in asked and "max_length" not in asked:
            settings.pop("max_length", None)
        defaults = dict(DEFAULTS)
        if settings.get("max_length", getattr(model, "max_length", None)) not in (None, 20):  # 20 is what 4.x goes by
            del defaults["max_new_tokens"]
        if pad is not None and getattr(model, "pad_token_id", None) is None:
            defaults["pad_token_id"] = pad
        return {**defaults, **settings}

    def postprocess(
        self: Any, written: Any, return_tensors: bool = False, clean_up_tokenization_spaces: bool = False
    ) -> list[dict[str, Any]]:
        """One dictionary for each text that was written."""
        if return_tensors:
            return [{f"{self.return_name}_token_ids": ids} for ids in written["output_ids"][0]]
        how = {"skip_special_tokens": True, "clean_up_tokenization_spaces": clean_up_tokenization_spaces}
        return [{f"{self.return_name}_text": self.tokenizer.decode(ids, **how)} for ids in written["output_ids"][0]]


class Translation:
    """What stands before that in the class that translates: some tokenizers are told the languages."""

    return_name = "translation"

    def _sanitize_parameters(
        self: Any, src_lang: Optional[str] = None, tgt_lang: Optional[str] = None, **kwargs: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if src_lang is None and tgt_lang is None:
            src_lang, tgt_lang = languages(self.task) or (None, None)
        call: Any = super()
        reading, generating, writing = call._sanitize_parameters(**kwargs)
        return {**reading, **_given(src_lang=src_lang, tgt_lang=tgt_lang)}, generating, writing

    def preprocess(self: Any, texts: Any, truncation: Any = False, **of_languages: Any) -> Any:
        """Tokens, of shape (batch, length)."""
        build = getattr(self.tokenizer, "_build_translation_inputs", None)
        if build is None:
            call: Any = super()
            return call.preprocess(texts, truncation)
        both = {"src_lang": None, "tgt_lang": None, **of_languages}
        return build(texts, return_tensors="pt", truncation=truncation, **both)


def languages(task: str) -> Optional[tuple[str, str]]:
    """``("en", "fr")`` of ``translation_en_to_fr``; None of any other task."""
    parts = task.split("_")
    return (parts[1], parts[3]) if len(parts) == 4 and parts[::2] == ["translation", "to"] else None


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


# ---------------------------------------------------------------------------------------------------------------------
# Below: the names and the tasks.


@FIX.adds_made((f"{LEAF}:Text2TextGenerationPipeline", V5), exported_by=("transformers",))
def text2text_generation(pipelines: Any) -> type:
    """The class of all three."""
    base = pipelines.Pipeline
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


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['text2text-generation']", V5))
def task_of_text2text_generation(pipelines: Any) -> dict[str, Any]:
    """What ``pipeline("text2text-generation")`` loads."""
    return _task(pipelines.Text2TextGenerationPipeline, {"model": T5_BASE})


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['summarization']", V5))
def task_of_summarization(pipelines: Any) -> dict[str, Any]:
    """What ``pipeline("summarization")`` loads."""
    return _task(pipelines.SummarizationPipeline, {"model": ("sshleifer/distilbart-cnn-12-6", "a4f8f3e")})


@FIX.adds_made((f"{LEAF}:SUPPORTED_TASKS['translation']", V5))
def task_of_translation(pipelines: Any) -> dict[str, Any]:
    """What ``pipeline("translation_en_to_fr")`` loads; there is no default for other languages than T5's."""
    return _task(pipelines.TranslationPipeline, {("en", to): {"model": T5_BASE} for to in ("fr", "de", "ro")})


def _task(pipeline: type, default: Any) -> dict[str, Any]:
    from transformers.models.auto.modeling_auto import AutoModelForSeq2SeqLM

    return {"impl": pipeline, "pt": (AutoModelForSeq2SeqLM,), "default": default, "type": "text"}


FIX.edits(
    (f"{LEAF}.base:PipelineRegistry.check_task", ">=5.3.0"),  # until then it knew of languages
    old="raise KeyError(__X)",
    new="""
        from hotfix.names.seq2seq_pipelines_removed import languages
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
