"""The exceptions that hotfix raises on purpose.

Everything else that goes wrong inside hotfix is caught at the boundary (`ledger.contained`) and entered in the ledger.
"""

from __future__ import annotations


class HotfixError(Exception):
    """Raised where the user asked to be stopped: strict mode, a required fix that is not in place, unknown source."""


class PolicyError(HotfixError, ValueError):
    """A switch or an argument has a value that cannot be read. The message has name, value and allowed values."""


class Refusal(Exception):
    """A function was not changed because it is not what the fix was written for. Nothing was touched."""
