"""What `hotfix_autoload.pth` and `hotfix_autoload.start` call in every Python process of this environment.

Nothing is imported at the top of this file, and `start` imports nothing that a bare interpreter has not loaded, other
than ``hotfix.watch``. It does what ``import hotfix.auto`` does, less one module. It may run any number of times: a
``.pth`` file is read twice in every venv on Python 3.9 to 3.13.

Limits. Start-up files are read from the site-packages of the interpreter that starts. ``python -S`` reads none, and a
venv that was made from this environment reads its own.
"""


def start() -> None:
    """Arm hotfix, unless ``HOTFIX=0``. Whatever goes wrong, the interpreter starts, and stdout stays untouched."""
    import sys

    try:
        import os

        if os.environ.get("HOTFIX") == "0":
            return
        import hotfix.watch

        hotfix.watch.arm()
    except BaseException as error:  # of a start-up file even SystemExit and KeyboardInterrupt end the interpreter
        if isinstance(error, ModuleNotFoundError) and error.name in ("hotfix", "hotfix.watch"):
            return  # the core was uninstalled, or its folder is an empty shell: there is nothing to arm
        if sys.stderr is not None:
            sys.stderr.write(f"hotfix: not armed in this process ({type(error).__name__}: {error})\n")
