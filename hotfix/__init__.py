"""hotfix: live patching for model code.

``import hotfix.auto`` as the first import of a program arms hotfix with what the environment says. This module is
the same for programs that want to decide themselves; every public name is resolved at first use (PEP 562), so that
importing it costs nothing and loads nothing: not even ``typing``.
"""

TYPE_CHECKING = False  # as in typing; type checkers know the name
if TYPE_CHECKING:
    from .api import Handle, apply, digest, report, revert
    from .errors import HotfixError, PolicyError
    from .ledger import Outcome, State, Verdict
    from .registry import Fix, Target, Trial
    from .reporting import Report
    from .uniform import assert_uniform

__version__ = "0.1.0"

__all__ = [
    "Fix",
    "Handle",
    "HotfixError",
    "Outcome",
    "PolicyError",
    "Report",
    "State",
    "Target",
    "Trial",
    "Verdict",
    "apply",
    "assert_uniform",
    "digest",
    "report",
    "revert",
]

_HOMES = {
    "Fix": "registry",
    "Handle": "api",
    "HotfixError": "errors",
    "Outcome": "ledger",
    "PolicyError": "errors",
    "Report": "reporting",
    "State": "ledger",
    "Target": "registry",
    "Trial": "registry",
    "Verdict": "ledger",
    "apply": "api",
    "assert_uniform": "uniform",
    "digest": "api",
    "report": "api",
    "revert": "api",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hotfix' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"hotfix.{home}"), name)


def __dir__() -> "list[str]":
    return sorted(set(globals()) | set(__all__))
