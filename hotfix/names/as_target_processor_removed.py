"""Processors of speech and of documents no longer have ``as_target_processor``.

Symptom   ``AttributeError: 'Wav2Vec2Processor' object has no attribute 'as_target_processor'`` where a script for
          fine-tuning encodes its labels: ``with processor.as_target_processor(): labels = processor(texts).input_ids``.
Cause     Since 4.17.0 a processor takes ``text=`` as well; the context manager was removed with 5.0.0.
Releases  5.0.0 and later
Upstream  transformers#38609; by design (not put back)
Here      Within the block, the processor hands calls and ``pad`` to its tokenizer. Afterwards it is as it was, also
          after an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Wav2Vec2Processor' object has no attribute 'as_target_processor'",
    kind="removed-api",
    upstream=("transformers#38609",),
    group="removed-names",
    errors=("AttributeError: '…Processor…' object has no attribute 'as_target_processor'",),
)

# The folder of each model, and its classes.
PROCESSORS = {
    "donut": "DonutProcessor",
    "speech_to_text": "Speech2TextProcessor",
    "trocr": "TrOCRProcessor",
    "wav2vec2": "Wav2Vec2Processor",
    "wav2vec2_with_lm": "Wav2Vec2ProcessorWithLM",
}


@FIX.adds(
    *(
        (f"transformers.models.{folder}.processing_{folder}:{kind}.as_target_processor", ">=5.0.0")
        for folder, kind in PROCESSORS.items()
    )
)
@contextmanager
def as_target_processor(self: Any) -> Iterator[None]:
    """Let calls and ``pad`` of a processor be those of its tokenizer."""
    kind = type(self)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - its name
        return self.tokenizer(*args, **kwargs)

    def pad(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.tokenizer.pad(*args, **kwargs)

    members = {"__call__": __call__, "pad": pad, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    self.__class__ = type(kind.__name__, (kind,), members)
    try:
        yield
    finally:
        self.__class__ = kind
