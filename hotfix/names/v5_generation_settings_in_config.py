"""``generate()`` refuses settings that the program has written into the model's configuration.

Symptom   ``ValueError: You have modified the pretrained model configuration to control generation`` in ``generate()``
          after ``model.config.max_length = 64`` and ``model.config.num_beams = 4``, the lines of the tutorials of
          TrOCR, encoder-decoders and summarization.
Cause     The settings belong into ``model.generation_config``. A warning became an error.
Releases  5.0.0 and later
Upstream  not put back
Here      After the error, the settings apply to this model, as in 4.57.6: if ``model.generation_config`` was made from
          the model's configuration, is as it was made, and has no other settings than those that the program has set.
          Otherwise 4.57.6 ignored them, or 5.x no longer has what 4.57.6 went by, and the error stays.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names.v5_config_generation_defaults_removed import OF_GENERATION
from hotfix.patching import scope

FIX = Fix(
    title="generate() raises: You have modified the pretrained model configuration to control generation",
    kind="removed-api",
    group="removed-names",
    errors=("ValueError: You have modified the pretrained model configuration to control generation…",),
    everyone="only in a call that is repeated after this error: the new code tests it",
)

_repeated: ContextVar[Any] = ContextVar("the model whose call is repeated", default=None)
_MIXIN = "transformers.generation.utils:GenerationMixin"

FIX.edits(
    (f"{_MIXIN}._prepare_generation_config", ">=5.0.0"),
    old="""
    if len(self.config._get_generation_parameters()) > 0:
        raise ValueError(__WORDS)
    """,
    new=f"""
    from {__name__} import is_repeated
    if len(self.config._get_generation_parameters()) > 0 and not is_repeated(self):
        raise ValueError(__WORDS)
    """,
)


@FIX.accompanies(f"{_MIXIN}.generate")
def by_the_configuration(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate once more by the settings of the configuration; the whole call, since it asks for the length first."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except ValueError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            if not scope.is_declared(_hotfix_error, FIX.id, FIX.errors) or not applies(self):
                raise
        if "max_length" in self.config._get_generation_parameters() and "custom_generate" not in kwargs:
            # 5.0.0 to 5.2.0 add the prompt to a length that is no argument.
            kwargs.setdefault("max_length", self.generation_config.max_length)
        before = _repeated.set(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            _repeated.reset(before)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


def is_repeated(model: Any) -> bool:
    """Whether a model generates by the settings of its configuration now."""
    return model is not None and _repeated.get() is model


def applies(model: Any) -> bool:
    """Make a model generate by the settings in its configuration, if 4.57.6 did.

    Args:
        model: the model; it gets another ``generation_config``.

    Returns:
        Whether it does.
    """
    before = model.generation_config
    made = getattr(before, "_original_object_hash", None)
    if not getattr(before, "_from_model_config", None) or made != hash(before):
        return False
    given = model.config._get_generation_parameters()
    if all(name not in OF_GENERATION or value == OF_GENERATION[name] for name, value in given.items()):
        return False  # 4.57.6 did not look at the configuration then
    now = type(before).from_model_config(model.config)
    defaults = before._get_default_generation_params()
    for name in OF_GENERATION:  # those of the file are no longer in the configuration, only in what was made from it
        value = getattr(before, name, None)
        if name not in given and value not in (None, getattr(now, name, None), defaults.get(name)):
            return False
    if now != before:
        model.generation_config = now
    return True
