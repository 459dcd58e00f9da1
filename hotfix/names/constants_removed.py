"""Constants of modules are gone: names and lists of configurations and checkpoints, docstring texts.

Symptom   ``ImportError: cannot import name '_CONFIG_FOR_DOC' from 'transformers.models.bert.modeling_bert'``,
          ``'BERT_START_DOCSTRING'``, ``'BERT_PRETRAINED_MODEL_ARCHIVE_LIST'``, ``'TF2_WEIGHTS_NAME'`` and others.
Cause     A decorator builds docstrings since 4.52; lists of checkpoints were removed in 4.41, constants of other
          frameworks in 5.0.
Upstream  not put back
Here      The literal of the last release that had it; docstring texts are empty strings. The rows are in
          ``removed.txt``, written by ``tools/names.py`` from the wheels; see `hotfix.patching.tabled`. The target is
          one of the rows, and its case runs like that of any fix.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name '_CONFIG_FOR_DOC' from 'transformers.models.bert.modeling_bert'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.models.bert.modeling_bert:_CONFIG_FOR_DOC", ">=4.52.1"), only_needed=True)
def config_for_doc(modeling_bert: Any) -> str:
    """The name of the configuration."""
    return "BertConfig"
