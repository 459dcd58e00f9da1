"""The function that `hotfix_autoload.pth` and `hotfix_autoload.start` call in every Python process of this environment.

Nothing is imported at the top of this file, and `start` loads nothing that a bare interpreter has not loaded, other
than ``hotfix/watch.py``: by its place beside this file, and under no name. So a project that has a module ``hotfix`` of
its own has it as ever; hotfix then does nothing, and says so when transformers is imported. `start` may run any number
of times: a ``.pth`` file is read twice in every venv on Python 3.9 to 3.13.

Limits. Start-up files are read from the site-packages of the interpreter that starts. ``python -S`` reads none, and a
venv that was made from this environment reads its own.
"""


def start() -> None:
    """Arm hotfix, unless ``HOTFIX=0``. On any error the interpreter still starts, and stdout stays untouched."""
    import sys

    try:
        import os

        if os.environ.get("HOTFIX") == "0" or any(getattr(finder, "is_hotfix", False) for finder in sys.meta_path):
            return
        from _frozen_importlib_external import SourceFileLoader

        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hotfix", "watch.py")
        if not os.path.isfile(path):
            # An editable installation keeps its files elsewhere.
            import hotfix.watch as watch
        else:
            watch = type(sys)("hotfix.watch")
            watch.__file__, watch.__package__ = path, "hotfix"
            SourceFileLoader("hotfix.watch", path).exec_module(watch)
        watch.arm()
    except BaseException as error:  # of a start-up file even SystemExit and KeyboardInterrupt end the interpreter
        if isinstance(error, ModuleNotFoundError) and error.name in ("hotfix", "hotfix.watch"):
            return  # the core was uninstalled, or its folder is an empty shell: there is nothing to arm
        if sys.stderr is not None:
            sys.stderr.write(f"hotfix: not armed in this process ({type(error).__name__}: {error})\n")
