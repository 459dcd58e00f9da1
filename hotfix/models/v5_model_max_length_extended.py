"""``generate()`` writes more tokens than the model's own ``max_length`` allows.

Symptom   Texts are longer than ``max_length`` in ``generation_config.json``: by the prompt in a language model (Llama 3
          with 4096 writes 4096 tokens behind it), by one token in BART, T5 or NLLB.
Cause     Unless the caller passes the length, it counts as the library's default, to which the prompt is added, even if
          the model's generation_config has it.
Releases  5.0.0 to 5.2.0
Upstream  fixed in 5.3.0
Here      Only the library's default is extended by the prompt, as in 5.3.0. With ``max_new_tokens`` nothing changes. A
          prompt that is already as long as ``max_length`` is continued as in the release; 5.3.0 refuses it. A
          ``max_length`` beyond the positions that the model has ends there, as in the release.
"""

from __future__ import annotations

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
has_default_max_length = has_default_max_length and not (
    self.generation_config.max_length is not None
    and generation_config.max_new_tokens is None
    and input_ids_length
    < generation_config.max_length
    <= (getattr(self.config, "max_position_embeddings", None) or generation_config.max_length)
)
{_PREPARED.format("has_default_max_length")}
""",
    beside="""
        has_default_max_length = kwargs.get("max_length") is None and (
            generation_config is None or generation_config.max_length is None
        )
    """,
)
