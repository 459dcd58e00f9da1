"""BERT layers cannot be built with a configuration class of your own.

Symptom   ``AttributeError: '_Pseudo_Bert_Config' object has no attribute '_attn_implementation'`` from code that
          builds ``BertLayer`` or ``BertEncoder`` itself: alphapeptdeep; ``AttributeError: type object 'obj' has no
          attribute '_attn_implementation'`` from MONAI, ``AttributeError: 'ConfigDict' object has no attribute
          '_attn_implementation'`` from modelscope. From 4.54.0 on ``KeyError: None`` with a configuration of the
          library that no model was made with, as ``BertEncoder(BertConfig())``: DeSTA 2.5.
Cause     The layer reads the attention implementation from the configuration. Only the library's have one, and since
          4.54.0 it is None until a model is made.
Releases  4.41.0 to 4.57.6. From 5.0.0 on a layer reads it when it is called, and has another signature.
Upstream  alphapeptdeep#172, MONAI#7781, modelscope#1010, DeSTA2.5-Audio#8 (not repaired)
Here      A configuration without the attribute, or with None, gets the attention of 4.40.2.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: '_Pseudo_Bert_Config' object has no attribute '_attn_implementation'",
    kind="removed-api",
    upstream=("alphapeptdeep#172", "MONAI#7781", "modelscope#1010", "DeSTA2.5-Audio#8"),
    group="removed-names",
    errors=(
        "AttributeError: '…' object has no attribute '_attn_implementation'",
        "AttributeError: type object '…' has no attribute '_attn_implementation'",
        "KeyError: None",
    ),
    on_error=("AttributeError: …has no attribute '_attn_implementation'", "KeyError: None"),
)

# The folder of each model, and the beginning of the names of its classes.
MODELS = {
    "bert": "Bert",
    "electra": "Electra",
    "roberta": "Roberta",
    "xlm_roberta": "XLMRoberta",
}

for _folder, _name in MODELS.items():
    _classes = f"{_folder.upper()}_SELF_ATTENTION_CLASSES"
    FIX.edits(
        (f"transformers.models.{_folder}.modeling_{_folder}:{_name}Attention.__init__", ">=4.41.0,<5.0.0"),
        old=f"{_classes}[config._attn_implementation]",
        new=f"{_classes}[getattr(config, '_attn_implementation', None) or 'eager']",
    )
