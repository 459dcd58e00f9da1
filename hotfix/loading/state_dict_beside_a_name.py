"""``from_pretrained`` refuses a ``state_dict`` beside the name of a model.

Symptom   ``ValueError: `state_dict` cannot be passed together with a model name or a `gguf_file`. Use one of the two
          loading strategies.`` from ``AutoModel.from_pretrained(name, state_dict=weights)``, as old programs load
          the weights that they have saved with ``torch.save``.
Cause     The arguments were declared to exclude each other.
Releases  4.50.0 and later
Upstream  stable-diffusion-webui#16950 (not put back)
Here      The configuration is that of the name, and the weights are those of ``state_dict``, as in 4.49.0. The files
          with weights are not read, and may be missing. With a ``gguf_file``, and where the program handles the error,
          it stays.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="ValueError: `state_dict` cannot be passed together with a model name or a `gguf_file`",
    kind="removed-api",
    upstream=("stable-diffusion-webui#16950",),
    group="removed-names",
    errors=("ValueError: `state_dict` cannot be passed together with a model name or a `gguf_file`…",),
    everyone="only where the release would raise: the new code tests it",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", ">=4.50.0"),
    old=(
        """
        if state_dict is not None and (pretrained_model_name_or_path is not None or gguf_file is not None):
            raise ValueError(__WORDS)
        """,
        "_get_resolved_checkpoint_files(**__GIVEN)",
    ),
    new=(
        f"""
        if state_dict is not None and (pretrained_model_name_or_path is not None or gguf_file is not None):
            from {__name__} import is_taken
            if gguf_file is not None or not is_taken():
                raise ValueError(__WORDS)
        """,
        "(([''], None) if state_dict is not None else _get_resolved_checkpoint_files(**__GIVEN))",
    ),
)


def is_taken() -> bool:
    """Whether a ``state_dict`` is taken beside a name: not where the program handles the error."""
    return not scope.is_handled_around(FIX.id, ValueError)
