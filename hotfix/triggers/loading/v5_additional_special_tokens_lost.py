"""A tokenizer that lists special tokens, and has the newer key with nothing in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "v5-additional-special-tokens-lost",
    when="tokenizer_config.json lists additional_special_tokens next to an empty extra_special_tokens, as since 4.47",
    wrong="the listed tokens are no special tokens",
)


@TRIGGER.strikes()
def has_both_keys(call: Call) -> bool:
    """The file has the list, and the other key with nothing in it; 5.18.0 drops the list for any other value, too."""
    name = (call.get("resolved_vocab_files") or {}).get("tokenizer_config_file")
    if not name:
        return False
    return _are_lost(json.loads(Path(name).read_text(encoding="utf-8")))


@TRIGGER.in_files
def is_saved(run: Files) -> Optional[bool]:
    """Every reading of the file loses them; an earlier version of the file is unknown."""
    return True if _are_lost(run.tokenizer) else None


def _are_lost(settings: Any) -> bool:
    listed, others = settings.get("additional_special_tokens"), settings.get("extra_special_tokens")
    return bool(listed) and "extra_special_tokens" in settings and not others
