"""hotfix: live patching for model code.

``import hotfix.auto`` as the first import of a program arms hotfix with the switches from the environment. This module
is the API for programs that decide for themselves. It resolves every public name at first use (PEP 562), so importing
it costs nothing and loads nothing, not even ``typing``.
"""

TYPE_CHECKING = False  # as in typing; type checkers recognize the name
if TYPE_CHECKING:
    from .api import Handle, apply, assert_uniform, digest, report, revert
    from .engine.ledger import Outcome, State
    from .errors import HotfixError, PolicyError
    from .fix import CaseSpec, Fix, Target
    from .reports.report import Report
    from .versions.judgement import Verdict

__version__ = "0.1.0"

__all__ = [
    "CaseSpec",
    "Fix",
    "Handle",
    "HotfixError",
    "Outcome",
    "PolicyError",
    "Report",
    "State",
    "Target",
    "Verdict",
    "__version__",
    "apply",
    "assert_uniform",
    "digest",
    "report",
    "revert",
]

_MODULES = {
    "CaseSpec": "fix",
    "Fix": "fix",
    "Handle": "api",
    "HotfixError": "errors",
    "Outcome": "engine.ledger",
    "PolicyError": "errors",
    "Report": "reports.report",
    "State": "engine.ledger",
    "Target": "fix",
    "Verdict": "versions.judgement",
    "apply": "api",
    "assert_uniform": "api",
    "digest": "api",
    "report": "api",
    "revert": "api",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'hotfix' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"hotfix.{module}"), name)


def __dir__() -> "list[str]":
    return sorted(set(globals()) | set(__all__))
