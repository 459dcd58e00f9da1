"""What `hotfix run` lets every Python process import at its start. It arms hotfix and then runs the user's own one.

Python imports only the first ``sitecustomize`` that it finds. This one stands first, so it owes the one that it hides
exactly what Python would have done: import it, and let its errors be reported as usual.

Nothing is imported here that a bare interpreter has not loaded. Limits: ``python -I``, ``-E`` and ``-S``, and children
whose environment was emptied, do not look at PYTHONPATH and never come here.
"""

import os
import sys


def _arm() -> None:
    if os.environ.get("HOTFIX") == "0":
        return
    try:
        import hotfix.auto  # noqa: F401
    except BaseException as error:  # the program starts, whatever is wrong with hotfix
        if sys.stderr is not None:
            sys.stderr.write(f"hotfix: not armed in this process ({type(error).__name__}: {error})\n")


def _chain() -> None:
    """Import the ``sitecustomize`` that Python would have found without this folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    sys.path_importer_cache.pop(here, None)
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import system wants to find what it has just executed.
        sys.modules.setdefault("sitecustomize", own)


_arm()
_chain()
