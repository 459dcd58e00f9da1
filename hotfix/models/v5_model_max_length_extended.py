"""``generate()`` writes more tokens than the model's own ``max_length`` allows.

Symptom   Texts are longer than ``max_length`` in ``generation_config.json``: by the prompt in a language model (Llama 3
          with 4096 writes 4096 tokens behind it), by one token in BART, T5 or NLLB.
Cause     Unless the caller passes the length, it counts as the library's default, to which the prompt is added, even if
          the model's generation_config has it.
Releases  5.0.0 to 5.2.0
Upstream  fixed in 5.3.0
Here      Only the library's default is extended by the prompt, as in 5.3.0. With ``max_new_tokens`` nothing changes. A
          length that the program itself has set is extended, as in the release: it may have been made shorter by the
          prompt. If the first length that it sets is the file's, and not above 256, it cannot be distinguished from the
          file's. A prompt that is already as long as ``max_length`` is continued as in the release; 5.3.0 refuses it.
          A ``max_length`` beyond the positions that the model has ends there, as in the release, and one that is
          too short for ``min_new_tokens`` or ``min_length`` is extended.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="generate() adds the length of the prompt to the max_length of the model's generation_config",
    kind="silent",
    fixed_in="5.3.0",
    everyone="only for a length that the model's own file gives, a shorter prompt, and enough positions: the new code "
    "tests it",
)

_PREPARED = """
generation_config = self._prepare_generated_length(
    generation_config=generation_config, has_default_max_length={}, **__REST
)
"""

FIX.edits(
    ("transformers.generation.utils:GenerationMixin.generate", ">=5.0.0,<=5.2.0"),
    old=_PREPARED.format("has_default_max_length"),
    new=f"""
import {__name__} as ours
has_default_max_length = has_default_max_length and not (
    self.generation_config.max_length is not None
    and ours.is_of_the_file(self.generation_config)
    and generation_config.max_new_tokens is None
    and input_ids_length
    < generation_config.max_length
    <= (getattr(self.config, "max_position_embeddings", None) or generation_config.max_length)
    and input_ids_length + (generation_config.min_new_tokens or 0) <= generation_config.max_length
    and (generation_config.min_length or 0) <= generation_config.max_length
)
{_PREPARED.format("has_default_max_length")}
""",
    beside="""
        has_default_max_length = kwargs.get("max_length") is None and (
            generation_config is None or generation_config.max_length is None
        )
    """,
)


class _Loaded(int):
    """The hash of a configuration as it was loaded, with its ``max_length``. A pickle has the number alone."""

    max_length: Any

    def __copy__(self) -> _Loaded:
        return self

    def __deepcopy__(self, memo: Any) -> _Loaded:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


_CONFIGURATION = "transformers.generation.configuration_utils:GenerationConfig"


@FIX.accompanies(f"{_CONFIGURATION}.from_pretrained", f"{_CONFIGURATION}.from_model_config")
def with_its_length(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the methods that make a configuration from a file: a length of the caller's is none of the file."""

    def load(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(cls, *args, **kwargs)
        config = result[0] if isinstance(result, tuple) else result
        mark = getattr(config, "_original_object_hash", None)
        if type(mark) is int:
            config._original_object_hash = loaded = _Loaded(mark)
            loaded.max_length = None if "max_length" in kwargs else config.max_length
        return result

    return load


def is_of_the_file(config: Any) -> bool:
    """Whether the ``max_length`` of a generation configuration is that of the file that it was loaded from."""
    mark = getattr(config, "_original_object_hash", None)
    if isinstance(mark, _Loaded):
        # The very object: a program may set an equal number. After another number the length is the program's for good.
        if mark.max_length is not config.max_length:
            mark.max_length = None
        return mark.max_length is not None
    return mark is not None and mark == hash(config)
