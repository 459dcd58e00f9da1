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
        is_gone = isinstance(error, ModuleNotFoundError) and error.name in ("hotfix", "hotfix.watch")
        why = "it is not installed" if is_gone else f"{type(error).__name__}: {error}"
        if not is_gone and sys.stderr is not None:  # without the core, there is nothing to arm
            sys.stderr.write(f"hotfix: not armed in this process ({why})\n")
        if _has_guards():
            _refuse(why)


def _has_guards() -> bool:
    """Whether this process may not run without hotfix; a settings file that names a guard counts."""
    from os import environ, path

    strict, required = environ.get("HOTFIX_STRICT", "").strip(), environ.get("HOTFIX_REQUIRE", "").strip()
    if strict not in ("", "0") or required or "HOTFIX_PIN" in environ:
        return True
    settings = environ.get("HOTFIX_CONFIG", "").strip()
    if not path.isfile(settings):
        return False
    try:
        with open(settings, "rb") as file:
            text = file.read(1024 * 1024).replace(b"\0", b"")  # leaves the letters of UTF-16
    except OSError:
        return False
    return any(guard in text for guard in (b"strict", b"require", b"pin"))


def _refuse(why: str) -> None:
    """Stop each import of a package that hotfix watches."""
    import sys

    class Refusing:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name.partition(".")[0] == "transformers" or name.rpartition(".")[2] == "basic_var":
                # Not ImportError: programs catch it and go on without.
                raise RuntimeError(f"hotfix is not armed in this process ({why}); reinstall it, or unset the guard")

    sys.meta_path.insert(0, Refusing)  # type: ignore[arg-type]
