"""A configuration refuses to ask for attentions as long as the model uses SDPA, which is the default.

Symptom   ``self.config.output_attentions = True`` raises a ``ValueError``: "not supported when using the
          attn_implementation set to sdpa. Please set it to 'eager' instead". MultiTalk, InfiniteTalk, FLOAT and other
          programs with their own forward of wav2vec 2.0 do this, and Chatterbox.
Cause     SDPA returns no attentions. Up to 4.52.4 each layer computed them without SDPA where they were asked for; now
          the program has to choose eager attention first.
Releases  4.53.0 and later
Upstream  MultiTalk#54, InfiniteTalk#86, ComfyUI-FLOAT#19, chatterbox#339 (not put back)
Here      After the error, the configuration chooses eager attention, and keeps it. So attentions are returned, as in
          4.52.4. Left alone: other attention implementations; a model that makes its parts from other configurations,
          such as LLaVA and T5, since the release reads those; assignments by the library, as in ``from_pretrained``;
          code that torch.compile traces; and a program that handles the error.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import compiling, scope

FIX = Fix(
    title="ValueError: The `output_attentions` attribute is not supported when using … sdpa",
    kind="removed-api",
    group="removed-names",
    upstream=("MultiTalk#54", "InfiniteTalk#86", "ComfyUI-FLOAT#19", "chatterbox#339"),
    errors=(
        "ValueError: The `output_attentions` attribute is not supported when using the `attn_implementation` set to "
        "sdpa. Please set it to 'eager' instead.",
    ),
    everyone="only an assignment that the release has refused with this error",
)
_NAMED = ("output_attentions",)
_COPIED = {"clipseg", "mt5", "pop2piano", "seamless_m4t", "seamless_m4t_v2", "t5", "udop", "umt5"}
"""Models that make copies of their configuration for their parts."""


@FIX.wraps(
    ("transformers.configuration_utils:PretrainedConfig.__setattr__", ">=4.53.0,<5.0.0"),
    fingerprint_of=("PretrainedConfig",),
)
@FIX.wraps(
    ("transformers.configuration_utils:PreTrainedConfig.__setattr__", ">=5.0.0"),
    fingerprint_of=("PreTrainedConfig",),
)
def with_eager_attention(original: Callable[..., Any]) -> Callable[..., Any]:
    """Choose eager attention where the setter of the release refuses SDPA."""

    def put(self: Any, *args: Any, **kwargs: Any) -> Any:  # a dataclass of 5.4.0 and later names them in another way
        if args[:1] != _NAMED:
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        except ValueError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            if compiling.is_compiling() or not is_all_there_is(self):
                raise
            if not scope.is_declared(_hotfix_error, FIX.id, FIX.errors) or not _is_assigned(sys._getframe(1)):
                raise
        self._attn_implementation = "eager"
        return original(self, *args, **kwargs)

    return put


def _is_assigned(frame: Optional[types.FrameType]) -> bool:
    """Whether the program itself assigns the attribute, and does not handle the error.

    The library assigns it while it loads a model, and goes on with the attention implementation that it was given.
    """
    while frame is not None and (_is_between(frame) or frame.f_code.co_name == "__setattr__"):
        frame = frame.f_back
    name = "" if frame is None else str(frame.f_globals.get("__name__"))
    return not name.startswith("transformers.") and not scope.is_handled(FIX.id, ValueError, frame)


def _is_between(frame: types.FrameType) -> bool:
    name = f"{frame.f_globals.get('__name__')}."
    return name.startswith(("hotfix.", "huggingface_hub.")) and not name.startswith("hotfix.proofs.")


def is_all_there_is(config: Any) -> bool:
    """Whether the model reads this configuration in each of its layers: no part of it, and no copy."""
    parts = (getattr(config, name, None) for name in type(config).sub_configs)
    return config.model_type not in _COPIED and all(part is None for part in parts)


@FIX.recognises
def refuses(configuration: ast.AST) -> bool:
    """A setter of the class raises an error for an attention implementation."""
    return "set it to 'eager' instead" in ast.unparse(configuration)
