"""A tokenizer that is in the cache cannot be loaded without a network.

Symptom   ``requests.exceptions.ConnectionError: … Max retries exceeded …/additional_chat_templates`` (4.52.1 to
          4.55.4), or ``OfflineModeIsEnabled`` (4.56.0), from ``AutoTokenizer.from_pretrained`` of a cached model.
Cause     The release lists chat templates on the Hub, or in the cache if the Hub cannot be reached. It catches the
          wrong errors: Python's own ``ConnectionError`` is not that of ``requests``; later releases forget the error of
          ``HF_HUB_OFFLINE``.
Releases  4.52.1 to 4.56.0
Upstream  transformers#39873 (4.56.0), transformers#40956 (4.56.1)
Here      After both errors the cache is used. The list is that of 4.56.1. If the Hub answers, nothing changes.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Cached tokenizer does not load offline: ConnectionError or OfflineModeIsEnabled, additional_chat_templates",
    kind="loading",
    upstream=("transformers#39030", "transformers#39873", "transformers#40956"),
    fixed_in="4.56.1",
    errors=(
        "ConnectionError: … Max retries exceeded with url: …/additional_chat_templates…",
        "OfflineModeIsEnabled: Cannot reach …/additional_chat_templates…: offline mode is enabled.",
    ),
    on_error=("requests.exceptions.ConnectionError: …", "OfflineModeIsEnabled: …"),
)

FIX.edits(
    ("transformers.utils.hub:list_repo_templates", ">=4.52.1,<=4.56.0"),
    old=("(ConnectionError, HTTPError)", "(HTTPError, requests.exceptions.ConnectionError)"),
    new=("(ConnectionError, HTTPError, OfflineModeIsEnabled, requests.exceptions.ConnectionError)",) * 2,
    alternatives=True,
)
