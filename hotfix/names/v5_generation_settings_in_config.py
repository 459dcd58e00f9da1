"""``generate()`` refuses settings that the program has written into the model's configuration.

Symptom   ``ValueError: You have modified the pretrained model configuration to control generation`` in ``generate()``
          after ``model.config.max_length = 64`` and ``model.config.num_beams = 4``, the lines of the tutorials of
          TrOCR, encoder-decoders and summarization.
Cause     The settings belong into ``model.generation_config``. A warning became an error.
Releases  5.0.0 and later
Upstream  transformers#41695 (not put back)
Here      After the error, the settings have the effect that they had in 4.57.6: they apply to this model if
          ``model.generation_config`` was made from the model's configuration, is as it was made, and has no other
          settings than those that the program has set. If it was changed or is from a file, they have no effect (until
          the model is saved: v5-generation-settings-stop-saving), and a warning says so. If 5.x no longer has what
          4.57.6 went by, the error stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.names.v5_config_generation_defaults_removed import OF_GENERATION
from hotfix.patching import scope

FIX = Fix(
    title="generate() raises: You have modified the pretrained model configuration to control generation",
    kind="removed-api",
    upstream=("transformers#41695",),
    group="removed-names",
    errors=("ValueError: You have modified the pretrained model configuration to control generation…",),
    everyone="only in a call that is repeated after this error: the new code tests it",
)

_repeated: ContextVar[Any] = ContextVar("the model whose call is repeated", default=None)
_MIXIN = "transformers.generation.utils:GenerationMixin"
_WHISPER = "transformers.models.whisper.generation_whisper:WhisperGenerationMixin"
_REFUSAL = """
if len(self.config._get_generation_parameters()) > 0:
    raise ValueError(__WORDS)
"""

FIX.edits(
    (f"{_MIXIN}._prepare_generation_config", ">=5.0.0"),
    old=_REFUSAL,
    new=f"""
    from {__name__} import is_repeated
    if len(self.config._get_generation_parameters()) > 0 and not is_repeated(self):
        raise ValueError(__WORDS)
    """,
)
FIX.edits(
    (f"{_WHISPER}.generate", ">=5.0.0"),
    old="generation_config, kwargs = self._prepare_generation_config(generation_config, **kwargs)",
    new=f"""
    try:
        generation_config, kwargs = self._prepare_generation_config(generation_config, **kwargs)
    except ValueError as _hotfix_error:
        from {__name__} import prepared
        generation_config, kwargs = prepared(self, generation_config, kwargs, _hotfix_error)
    """,
    beside=_REFUSAL,
    fingerprint_of=(f"{_WHISPER}.generate", f"{_MIXIN}._prepare_generation_config"),
)


@FIX.accompanies(f"{_MIXIN}.generate")
def by_the_configuration(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate once more as 4.57.6 did; the whole call, since it asks for the length first."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except ValueError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            if not scope.is_declared(_hotfix_error, FIX.id, FIX.errors) or (applies := do_apply(self)) is None:
                raise
        if applies and "max_length" in self.config._get_generation_parameters() and "custom_generate" not in kwargs:
            # 5.0.0 to 5.2.0 add the prompt to a length that is no argument.
            kwargs.setdefault("max_length", self.generation_config.max_length)
        with _repeats(self):
            return original(self, *args, **kwargs)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


def prepared(model: Any, generation_config: Any, given: dict[str, Any], error: ValueError) -> Any:
    """What Whisper generates by after an error; it asks before it calls the ``generate`` of all models."""
    if not scope.is_declared(error, FIX.id, FIX.errors) or do_apply(model) is None:
        raise error
    with _repeats(model):
        return model._prepare_generation_config(generation_config, **given)


@contextmanager
def _repeats(model: Any) -> Iterator[None]:
    before = _repeated.set(model)
    try:
        yield
    finally:
        _repeated.reset(before)


def is_repeated(model: Any) -> bool:
    """Whether a model generates now although its configuration has settings."""
    return model is not None and _repeated.get() is model


def do_apply(model: Any) -> Optional[bool]:
    """Give the settings in a model's configuration the effect that they had in 4.57.6.

    Args:
        model: the model; it gets another ``generation_config`` if they applied.

    Returns:
        Whether they applied; None if that is not known.
    """
    before = model.generation_config
    given = model.config._get_generation_parameters()
    made = getattr(before, "_original_object_hash", None)
    if not getattr(before, "_from_model_config", None) or made != hash(before):
        names = ", ".join(given)
        warnings.warn(
            f"{names} of model.config has no effect here, because model.generation_config was loaded from a file or "
            "changed: set it there",
            stacklevel=4,
        )
        return False
    if all(name not in OF_GENERATION or value == OF_GENERATION[name] for name, value in given.items()):
        return False  # 4.57.6 did not look at the configuration then
    now = type(before).from_model_config(model.config)
    defaults = before._get_default_generation_params()
    for name in OF_GENERATION:  # those of the file are no longer in the configuration, only in what was made from it
        value = getattr(before, name, None)
        if name not in given and value not in (None, getattr(now, name, None), defaults.get(name)):
            return None
    if now != before:
        model.generation_config = now
    return True
