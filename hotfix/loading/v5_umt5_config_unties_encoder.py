"""The encoder of UMT5, LongT5 and Pop2Piano has a random embedding table.

Symptom   Silent, but for a line of the load report that calls ``encoder.embed_tokens.weight`` missing: text encoders of
          Wan 2.1 and 2.2 make noise of every prompt, LongT5 does not understand what it reads.
Cause     Files of these models say ``tie_word_embeddings: false``, which has always meant that the head is not the
          embedding table, and have one table for encoder and decoder. In 5.x it unties these as well.
Releases  UMT5 5.0.0 to 5.2.0, LongT5 and Pop2Piano 5.0.0 to 5.15.1
Upstream  transformers#43880 (fixed in 5.3.0 and 5.16.0)
Here      The tables are one, whatever the file says, and the head is that of the file. What the file says decides only
          whether the output of the decoder is scaled, as in 4.57.6 and, but for UMT5, in 5.16.0: UMT5 scales it wrongly
          from 5.3.0 on, which changes what is sampled and not what is likeliest. Equal to 4.57.6.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    id="v5-umt5-config-unties-encoder",
    title="UMT5 (Wan), LongT5, Pop2Piano: the encoder has a random embedding table after loading",
    kind="silent",
    upstream=("transformers#43880",),
    fixed_in="5.16.0",  # UMT5 in 5.3.0
    prefilter='getattr(self.config, "tie_word_embeddings", False)',
)

_ASKS = "transformers.modeling_utils:PreTrainedModel.get_expanded_tied_weights_keys"
_TIED = "self.tie_word_embeddings = True"
_BASE = "super().__post_init__(**kwargs)"
_NEVER_TIED = "self.scale_decoder_outputs = {said}\nself.tie_word_embeddings = True"

# Package, beginning of its classes, method of its configuration, releases, what stands there and what should.
_CONFIGURATIONS = (
    (
        "umt5",
        "UMT5",
        "__init__",
        ">=5.0.0,<=5.2.0",
        _TIED,
        _NEVER_TIED.format(said='kwargs.pop("tie_word_embeddings", True)'),
    ),
    *(
        place
        for package, name in (("longt5", "LongT5"), ("pop2piano", "Pop2Piano"))
        for place in (
            (
                package,
                name,
                "__init__",
                ">=5.0.0,<=5.3.0",
                "self.tie_word_embeddings = tie_word_embeddings",
                _NEVER_TIED.format(said="tie_word_embeddings"),
            ),
            (
                package,
                name,
                "__post_init__",
                ">=5.4.0,<=5.15.1",
                _BASE,
                f"{_NEVER_TIED.format(said='self.tie_word_embeddings')}\n{_BASE}",
            ),
        )
    ),
)
_MODELS = (
    ("umt5", "UMT5", ">=5.0.0,<=5.2.0"),
    ("longt5", "LongT5", ">=5.0.0,<=5.15.1"),
    ("pop2piano", "Pop2Piano", ">=5.0.0,<=5.15.1"),
)

for _package, _name, _method, _releases, _old, _new in _CONFIGURATIONS:
    _module = f"transformers.models.{_package}.configuration_{_package}"
    FIX.edits(
        (f"{_module}:{_name}Config.{_method}", _releases),
        old=_old,
        new=_new,
        fingerprint_of=(f"{_name}Config.{_method}", f"{_name}Config", _ASKS),
    )

for _package, _name, _releases in _MODELS:
    _module = f"transformers.models.{_package}"
    FIX.edits(
        (f"{_module}.modeling_{_package}:{_name}ForConditionalGeneration.forward", _releases),
        old="if self.config.tie_word_embeddings:\n    *__THEN",
        new='if getattr(self.config, "scale_decoder_outputs", self.config.tie_word_embeddings):\n    *__THEN',
        fingerprint_of=(
            f"{_name}ForConditionalGeneration.forward",
            f"{_module}.configuration_{_package}:{_name}Config",
            _ASKS,
        ),
    )


@FIX.recognises
def unties(*nodes: ast.AST) -> bool:
    """Whether what the file says of the head reaches the tables, since the configuration knows no difference."""
    classes = [one for one in nodes if isinstance(one, ast.ClassDef)]
    right = ("self.scale_decoder_outputs", 'kwargs.pop("tie_word_embeddings", None)')
    return bool(classes) and len(nodes) > 1 and not any(occurs(one, *classes) for one in right)
