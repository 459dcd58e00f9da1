"""The pipelines that read one text and write another: summarize, translate, answer."""

from __future__ import annotations

from typing import Any, Optional

DEFAULTS = {"max_new_tokens": 256, "num_beams": 4}


class Text2Text:
    """The base before `Pipeline`, with the methods that every pipeline has."""

    _load_tokenizer = True
    _load_processor = _load_feature_extractor = _load_image_processor = _load_video_processor = False

    return_name = "generated"

    def __init__(self: Any, model: Any, *args: Any, task: str = "", **kwargs: Any) -> None:
        from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

        of_tasks = getattr(model.config, "task_specific_params", None) or {}
        if task == "translation":  # into the first language that the model knows of
            task = next((argument for argument in of_tasks if argument.startswith("translation")), task)
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
        """The arguments for the tokenizer, for ``generate()``, and for making the result."""
        if stop_sequence is not None:
            generating["eos_token_id"] = self.tokenizer.encode(stop_sequence, add_special_tokens=False)[0]
        written = {"return_tensors": return_tensors, "clean_up_tokenization_spaces": clean_up_tokenization_spaces}
        return given(truncation=truncation), generating, given(**written)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Read texts, and return what the model writes, in a list of dictionaries.

        Args:
            args: a text, or a list of texts.
            kwargs: of ``generate()``, and ``return_tensors``, ``clean_up_tokenization_spaces``, ``truncation``,
                ``stop_sequence``, of which the first token counts.
        """
        call: Any = super()
        written = call.__call__(*args, **kwargs)
        one_of_each = _are_texts(args[0]) and {len(texts) for texts in written} <= {1}
        return [text for (text,) in written] if one_of_each else written

    def preprocess(self: Any, texts: Any, truncation: Any = False) -> Any:
        """Tokens, of shape (batch, length)."""
        several = isinstance(texts, list)
        texts = [f"{self.prefix}{text}" for text in texts] if several else f"{self.prefix}{texts}"
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
        """The caller's settings, over those of the configuration for the task, over the defaults."""
        model, pad = self.model.generation_config, self.tokenizer.pad_token_id
        settings = {**self._of_task, **asked}
        if "max_new_tokens" in asked and "max_length" not in asked:
            settings.pop("max_length", None)
        defaults = dict(DEFAULTS)
        if settings.get("max_length", getattr(model, "max_length", None)) not in (None, 20):  # 20 is the default of 4.x
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
    """The base of the class that translates: some tokenizers take the languages."""

    return_name = "translation"

    def _sanitize_parameters(
        self: Any, src_lang: Optional[str] = None, tgt_lang: Optional[str] = None, **kwargs: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if src_lang is None and tgt_lang is None:
            src_lang, tgt_lang = languages(self.task) or (None, None)
        call: Any = super()
        reading, generating, writing = call._sanitize_parameters(**kwargs)
        return {**reading, **given(src_lang=src_lang, tgt_lang=tgt_lang)}, generating, writing

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


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
