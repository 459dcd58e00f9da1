"""BERT layers cannot be built with a configuration class of your own.

Symptom   ``AttributeError: '_Pseudo_Bert_Config' object has no attribute '_attn_implementation'`` from code that
          builds ``BertLayer`` or ``BertEncoder`` itself: alphapeptdeep; ``AttributeError: type object 'obj' has no
          attribute '_attn_implementation'`` from MONAI, ``AttributeError: 'ConfigDict' object has no attribute
          '_attn_implementation'`` from modelscope.
Cause     The layer reads the attention implementation from the configuration, and only the library's have one.
Releases  4.41.0 to 4.57.6. From 5.0.0 on a layer reads it when it is called, and has another signature.
Upstream  alphapeptdeep#172, MONAI#7781, modelscope#1010 (not repaired)
Here      A configuration without the attribute gets the attention of 4.40.2.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: '_Pseudo_Bert_Config' object has no attribute '_attn_implementation'",
    kind="removed-api",
    upstream=("alphapeptdeep#172", "MONAI#7781", "modelscope#1010"),
    group="removed-names",
    errors=(
        "AttributeError: '…' object has no attribute '_attn_implementation'",
        "AttributeError: type object '…' has no attribute '_attn_implementation'",
    ),
    on_error=("AttributeError: …has no attribute '_attn_implementation'",),
)

FIX.edits(
    ("transformers.models.bert.modeling_bert:BertAttention.__init__", ">=4.41.0,<5.0.0"),
    old="BERT_SELF_ATTENTION_CLASSES[config._attn_implementation]",
    new="BERT_SELF_ATTENTION_CLASSES[getattr(config, '_attn_implementation', 'eager')]",
)
