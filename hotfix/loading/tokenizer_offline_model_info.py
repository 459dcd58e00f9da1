"""A large tokenizer that is in the cache cannot be loaded offline.

Symptom   ``OfflineModeIsEnabled`` (4.57.3), or ``FileNotFoundError`` with the name of the repository (4.57.2), from
          ``AutoTokenizer.from_pretrained("organization/model")`` with ``HF_HUB_OFFLINE=1`` or ``local_files_only=True``
          on a machine that has it in its cache. Fast tokenizers with more than 100,000 tokens.
Cause     The release asks the Hub whether the model descends from one of Mistral's, even in offline mode. 4.57.2 also
          lists the name of the repository as a folder.
Releases  4.57.2 and 4.57.3
Upstream  transformers#42528, transformers#43200 (fixed in 4.57.4)
Here      If the request fails in offline mode, the ``config.json`` in the cache decides, as for a local folder. Ids
          are those of 4.57.4. The same holds for ``local_files_only=True``, which upstream repaired after 4.57.6. If
          the request succeeds, nothing changes.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Large tokenizers in the cache do not load offline: they query the Hub",
    kind="loading",
    upstream=("transformers#42528", "transformers#43200"),
    errors=("OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/…: offline mode is enabled.",),
    everyone="only where the release's own question to the Hub, or its list of a folder, raises",
    fixed_in="4.57.4",
    order=1,  # after tokenizer-local-config-dict, which looks for another piece of the same function
)

_BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"

FIX.edits(
    (f"{_BASE}._from_pretrained", "==4.57.2"),
    (f"{_BASE}._patch_mistral_regex", "==4.57.3"),
    old="""
        if _is_local or is_base_mistral(pretrained_model_name_or_path):
            *__REST
        """,
    new="""
        try:
            _is_mistral = _is_local or is_base_mistral(pretrained_model_name_or_path)
        except Exception:
            if not (local_files_only or is_offline_mode()):
                raise
            _is_local = _is_mistral = True
        if _is_mistral:
            *__REST
        """,
)

FIX.edits(
    (f"{_BASE}.from_pretrained", "==4.57.2"),
    old="""
        if not is_local and not local_files_only:
            *__ASK
        else:
            remote_files = os.listdir(pretrained_model_name_or_path)
        """,
    new="""
        if not is_local and not local_files_only:
            *__ASK
        else:
            remote_files = os.listdir(pretrained_model_name_or_path) if is_local else []
        """,
)
