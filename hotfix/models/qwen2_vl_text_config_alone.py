"""Qwen2-VL and Qwen2.5-VL read sizes of the text model from the wrong configuration.

Symptom   ``AttributeError: 'Qwen2VLConfig' object has no attribute 'hidden_size'`` while the model is built from a
          configuration whose sizes are in ``text_config`` alone, as later releases write it; where it can be built,
          the same of ``vocab_size`` with ``labels``.
Cause     The head and the loss ask the configuration of the whole model, which has these sizes only if the file does.
Releases  4.52.1 to 4.52.3; the loss 4.52.1 to 4.55.4
Upstream  transformers#38331 (the head fixed in 4.52.4, the loss in 4.56.0)
Here      A configuration without these sizes is asked for its ``text_config``, as in 4.56.0. One that has them is read
          as before, and a program that handles the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Qwen2VLConfig' object has no attribute 'hidden_size', with a text_config",
    kind="crash",
    upstream=("transformers#38331",),
    fixed_in="4.56.0",
    errors=(
        "AttributeError: 'Qwen2VLConfig' object has no attribute 'hidden_size'",
        "AttributeError: 'Qwen2VLConfig' object has no attribute 'vocab_size'",
        "AttributeError: 'Qwen2_5_VLConfig' object has no attribute 'hidden_size'",
        "AttributeError: 'Qwen2_5_VLConfig' object has no attribute 'vocab_size'",
    ),
    prefilter=".vocab_size",
)

_MODELS = {
    "transformers.models.qwen2_vl.modeling_qwen2_vl": "Qwen2VL",
    "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl": "Qwen2_5_VL",
}

for _module, _name in _MODELS.items():
    FIX.edits(
        (f"{_module}:{_name}ForConditionalGeneration.__init__", ">=4.52.1,<=4.52.3"),
        old="self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)",
        new="self.lm_head = nn.Linear(config.text_config.hidden_size, config.text_config.vocab_size, bias=False)",
        beside=f"self.model = {_name}Model(config)",
        unless="self.visual",
        when="""
        import hotfix.patching.scope as _scope
        (
            not (hasattr(config, "hidden_size") and hasattr(config, "vocab_size"))
            and hasattr(getattr(config, "text_config", None), "hidden_size")
            and not _scope.is_handled_around("qwen2-vl-text-config-alone", AttributeError)
        )
        """,
    )

FIX.edits(
    *(
        (f"{_module}:{_name}ForConditionalGeneration.forward", ">=4.52.1,<=4.55.4")
        for _module, _name in _MODELS.items()
    ),
    old="loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size)",
    new="loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.text_config.vocab_size)",
    beside="outputs.rope_deltas",
    when="""
    import hotfix.patching.scope as _scope
    (
        labels is not None
        and not hasattr(self.config, "vocab_size")
        and hasattr(getattr(self.config, "text_config", None), "vocab_size")
        and not _scope.is_handled_around("qwen2-vl-text-config-alone", AttributeError)
    )
    """,
)
