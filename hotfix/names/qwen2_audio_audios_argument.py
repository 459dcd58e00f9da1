"""The processor of Qwen2-Audio ignores ``audios``, and the model answers without having heard anything.

Symptom   ``Keyword argument `audios` is not a valid argument for this processor and will be ignored.`` in the log, no
          ``input_features`` in the batch, and answers that have nothing to do with the sound. The model card passes
          ``audios=``.
Cause     The argument is called ``audio``. The decorator that translated the old name was removed.
Releases  4.55.0 to 5.15.1; later, the method is that of all processors
Upstream  Qwen2-Audio#149 (not put back)
Here      ``audios`` is taken for ``audio``, as to 4.54, unless the call has both. If the text has another number of
          places for a sound, which the argument would be refused for, it is ignored as in the release.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="The processor of Qwen2-Audio ignores the argument audios",
    kind="removed-api",
    group="removed-names",
    upstream=("Qwen2-Audio#149",),
    errors=("UserWarning: Keyword argument `audios` is not a valid argument for this processor and will be ignored.",),
    everyone="only a call that has `audios`, no `audio`, and a place in the text for each dropped sound",
)


@FIX.wraps(("transformers.models.qwen2_audio.processing_qwen2_audio:Qwen2AudioProcessor.__call__", ">=4.55.0,<=5.15.1"))
def by_its_old_name(original: Any) -> Any:
    """Take ``audios`` for ``audio``, if each sound has its place in the text."""

    def __call__(self: Any, text: Any = None, audio: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        sounds = kwargs.get("audios") if audio is None else None
        number = len(sounds) if isinstance(sounds, (list, tuple)) else int(sounds is not None)
        texts = [text] if isinstance(text, str) else text if isinstance(text, (list, tuple)) else []
        places = sum(part.count(self.audio_token) for part in texts if isinstance(part, str))
        if number and number == places:
            audio = kwargs.pop("audios")
        return original(self, text, audio, *args, **kwargs)

    return __call__


@FIX.recognises
def has_one_name_only(function: ast.FunctionDef) -> bool:
    """Whether it takes ``audio``, and nothing translates ``audios``."""
    names = [argument.arg for argument in function.args.args]
    translates = any("deprecate_kwarg" in ast.dump(decorator) for decorator in function.decorator_list)
    return (
        function.name == "__call__"
        and names == ["self", "text", "audio"]
        and occurs("self.audio_token", function)
        and not translates
    )
