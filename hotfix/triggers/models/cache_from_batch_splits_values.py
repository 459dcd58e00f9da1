"""Caches of parts of a batch that are put together."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "cache-from-batch-splits-values",
    when="caches of parts of a batch are put together, as in beam search with low_memory=True",
    wrong="the values in the cache are its keys, and what is generated from it is wrong",
)


@TRIGGER.strikes()
def has_something_in_it(call: Call) -> bool:
    """A part has keys of some layer."""
    return any(len(keys) > 0 for part in call["splits"] for keys in part.key_cache)
