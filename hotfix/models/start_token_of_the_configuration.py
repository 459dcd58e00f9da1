"""``generate()`` does not find the start token that a program has set in the configuration.

Symptom   A ValueError: decoder_start_token_id or bos_token_id has to be defined. From an EncoderDecoderModel or a
          VisionEncoderDecoderModel behind ``from_pretrained``, whose program has set the tokens, the length and the
          beams in ``model.config``, as the tutorials of BERT2BERT and TrOCR do.
Cause     The settings of ``generate()`` are made with the model, before the program sets the tokens. A length in the
          configuration has them made anew; since 4.45.0 ``save_pretrained`` moves it to the settings.
Releases  4.45.0 to 4.57.6 (later ones are not repaired here)
Upstream  not repaired
Here      Where the settings are those made with the model, the start, end, padding and first token that they lack are
          those of the configuration. The text is that of 4.44.2.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: decoder_start_token_id has to be defined, though the configuration has it",
    kind="crash",
    errors=(
        "ValueError: `decoder_start_token_id` or `bos_token_id` has to be defined for encoder-decoder generation.",
    ),
)

_MIXIN = "transformers.generation.utils:GenerationMixin"
_TOKENS = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id")


@FIX.wraps(
    (f"{_MIXIN}._prepare_special_tokens", ">=4.45.0,<=4.57.6"),
    fingerprint_of=(f"{_MIXIN}._prepare_special_tokens", f"{_MIXIN}._prepare_generation_config"),
    on_error=True,
)
def with_those_of_the_configuration(original: Callable[..., Any]) -> Callable[..., Any]:
    """Prepare the tokens once more, with the settings that the configuration has."""

    def _prepare_special_tokens(self: Any, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(generation_config, "_from_model_config", False):
            for name in _TOKENS:
                if getattr(generation_config, name, None) is None:
                    setattr(generation_config, name, getattr(self.config, name, None))
        return original(self, generation_config, *args, **kwargs)

    return _prepare_special_tokens


@FIX.recognises
def is_broken(*definitions: ast.AST) -> bool:
    """The tokens are taken from the settings alone, which are not made anew because of a token."""
    tokens, settings = ast.unparse(definitions[0]), ast.unparse(definitions[-1])
    refuses = "has to be defined for encoder-decoder generation" in tokens
    return len(definitions) > 1 and refuses and "_get_non_default_generation_parameters" in settings
