"""Classes without content: for imports, `isinstance` and tables of classes."""

from __future__ import annotations

from typing import Any


class Gone(NotImplementedError, AttributeError):
    """The object behind a name no longer exists; the message names the alternative.

    It is an AttributeError, so ``hasattr`` and ``getattr`` with a default return what they return in the release.
    """


def hollow(name: str, module: str, base: type, instead: str) -> type:
    """A class to name and inherit from, which cannot be built. Nothing in the release is an instance of it.

    Args:
        name: the name of the class.
        module: its module.
        base: the class that it inherits from, as the old class did.
        instead: a sentence that names the alternative.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Gone(
            f"This release of transformers no longer has {name}; hotfix restores only the name, so it cannot be "
            f"instantiated. {instead}"
        )

    doc = f"The name of a class that is gone: it can be imported and asked for, not built. {instead}"
    namespace = {"__init__": refuse, "__module__": module, "__doc__": doc}
    return type(base)(name, (base,), namespace)
