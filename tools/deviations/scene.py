"""The process in which a deviation's program runs, and the changes that the deviation can make there.

The process is a fork that ends with the program, so nothing is ever restored.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from inspect import getattr_static
from typing import Any

Change = Callable[[Any], Any]
HOME = "own_code"  # the module of all code that a user would have written


class NotHere(Exception):
    """The deviation does not apply to the program; the message is a short reason."""


class Scene:
    """One program: a case, its target, and the deviation's changes.

    Args:
        testbed: of the case.
        target: of the case, with `module` and `qualname`.
        case: the function of the proof, or another input for the same fix.
        places: every ``module:qualname`` that the fix repairs in this release.
        keys: names that the fix uses: the quoted words in its source.
        folder: for files that another process reads; empty for most deviations.

    Attributes:
        touched: how often the deviation has changed something.
        ended: the error with which the case has ended, if the deviation goes on without it.
    """

    def __init__(
        self, testbed: Any, target: Any, case: Any, places: Sequence[str], keys: Sequence[str], folder: str = ""
    ) -> None:
        self.testbed, self.target, self.case = testbed, target, case
        self.places, self.keys, self.folder = list(places), list(keys), folder
        self.touched = 0
        self.ended = ""
        self.home = types.ModuleType(HOME)
        sys.modules[HOME] = self.home
        self._changes: list[Change] = []
        self._is_building = False

    def run(self) -> dict[str, Any]:
        """Run the case."""
        results: dict[str, Any] = self.case(self.testbed, self.target)
        return results

    def touch(self) -> None:
        """Note that the deviation has changed something."""
        self.touched += 1

    # -- the target --------------------------------------------------------------------------------------------------

    def module(self) -> types.ModuleType:
        """The module of the target.

        Raises:
            NotHere: this release has no such module, or only the case loads it.
        """
        try:
            return import_module(self.target.module)
        except (ImportError, ValueError) as error:
            raise NotHere("the module is not there before the case runs") from error

    def owner(self) -> type[Any]:
        """The class of the target.

        Raises:
            NotHere: the target does not belong to a class.
        """
        holder, _, name = self.target.qualname.rpartition(".")
        owner: Any = self.module()
        for part in holder.split("."):
            owner = getattr(owner, part, None)
        if not holder or not isinstance(owner, type) or getattr_static(owner, name, None) is None:
            raise NotHere("the target is not a method of a class")
        return owner

    def method(self) -> str:
        """The name of the target without its class."""
        name: str = self.target.qualname.rpartition(".")[2]
        return name

    def functions(self) -> Iterator[tuple[Any, str, Any]]:
        """Holder, name and raw value of each function or method that the fix repairs here and that can be reached."""
        for place in self.places:
            module, _, qualname = place.partition(":")
            holder, _, name = qualname.rpartition(".")
            try:
                owner: Any = import_module(module)
                for part in holder.split(".") if holder else ():
                    owner = getattr(owner, part)
                value = getattr_static(owner, name)
            except (ImportError, AttributeError, ValueError):
                continue
            inner = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(inner, types.FunctionType):
                yield owner, name, value

    def own_class(self, base: type[Any], members: dict[str, Any], mixin: type[Any] | None = None) -> type[Any]:
        """A subclass in the user's module.

        Args:
            base: its base.
            members: what it defines.
            mixin: a base that comes first.
        """
        bases = (mixin, base) if mixin else (base,)
        name = f"My{base.__name__}"
        own = types.new_class(name, bases, {}, lambda held: held.update({"__module__": HOME, **members}))
        setattr(self.home, name, own)
        return own

    def put_class(self, cls: type[Any], own: type[Any]) -> None:
        """Replace a class by the user's in every module of the library that has it."""
        for module in _modules_of(cls):
            held = vars(module)
            for name, value in list(held.items()):
                if value is cls:
                    held[name] = own
                elif type(value) is dict and any(member is cls for member in value.values()):
                    value.update({key: own for key, member in value.items() if member is cls})
        self.touch()

    def put_function(self, function: Any, own: Any) -> None:
        """Replace a function by the user's in every module that has it."""
        for module in _modules_of(function):
            for name, value in list(vars(module).items()):
                if value is function:
                    vars(module)[name] = own
        self.touch()

    # -- models and trainers -----------------------------------------------------------------------------------------

    def on_models(self, change: Change) -> None:
        """Change each model when it is built: `change` returns what the case gets, None for the model itself."""
        from hotfix.proofs.testbed import Testbed

        if not self._changes:
            for name in ("model", "fill"):
                setattr(Testbed, name, self._building(getattr(Testbed, name)))
            for module in [value for name, value in list(sys.modules.items()) if name.startswith("hotfix.proofs")]:
                if original := vars(module).get("without_weights"):
                    vars(module)["without_weights"] = self._building(original)
        self._changes.append(change)

    def _building(self, build: Callable[..., Any]) -> Callable[..., Any]:
        def built(*arguments: Any, **options: Any) -> Any:
            if self._is_building:
                return build(*arguments, **options)
            self._is_building = True
            try:
                model = build(*arguments, **options)
            finally:
                self._is_building = False
            for change in self._changes:
                changed = change(model)
                model = model if changed is None else changed
            return model

        return built

    def parts(self, model: Any) -> list[Any]:
        """The modules of the target's class in a model; the model itself if it has none."""
        import torch

        try:
            owner = self.owner()
        except NotHere:
            return [model]
        is_module = issubclass(owner, torch.nn.Module)
        return [part for part in model.modules() if is_module and isinstance(part, owner)] or [model]

    def on_trainers(self, make: Callable[[type[Any]], type[Any]]) -> None:
        """Let the case use a subclass of the Trainer."""
        import transformers

        try:
            original = transformers.Trainer
            own = make(original)
        except (ImportError, RuntimeError) as error:
            raise NotHere("there is no Trainer here") from error
        trained = own.__init__

        def initialise(trainer: Any, *arguments: Any, **options: Any) -> None:
            self.touch()
            trained(trainer, *arguments, **options)

        own.__init__ = initialise
        setattr(self.home, own.__name__, own)
        vars(transformers)["Trainer"] = own


def _modules_of(value: Any) -> list[types.ModuleType]:
    package = (getattr(value, "__module__", None) or "transformers").partition(".")[0]
    own = [item for name, item in list(sys.modules.items()) if name.partition(".")[0] == package]
    return [item for item in own if isinstance(item, types.ModuleType)]
