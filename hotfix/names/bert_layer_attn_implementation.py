"""Layers of BERT cannot be built with a configuration of one's own.

Symptom   ``AttributeError: '_Pseudo_Bert_Config' object has no attribute '_attn_implementation'`` from code that
          builds ``BertLayer`` or ``BertEncoder`` itself: alphapeptdeep; ``AttributeError: type object 'obj' has no
          attribute '_attn_implementation'`` from MONAI, ``AttributeError: 'ConfigDict' object has no attribute
          '_attn_implementation'`` from modelscope.
Cause     The layer asks the configuration what attention it is to have, and only those of the library know.
Releases  4.41.0 to 4.57.6. From 5.0.0 on a layer asks when it is called, and what it takes and returns is another
          thing, too.
Upstream  alphapeptdeep#172, MONAI#7781, modelscope#1010 (not repaired)
Here      Where a configuration does not say, it is the attention that 4.40.2 had.
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
