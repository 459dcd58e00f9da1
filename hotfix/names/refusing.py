"""Classes that have nothing but their name: for imports, `isinstance` and tables of classes."""

from __future__ import annotations

from typing import Any


class Gone(NotImplementedError, AttributeError):
    """What a name stands for is not there any more; the message says what to do instead.

    An AttributeError, too: who asks with ``hasattr`` or ``getattr`` and a default gets the answer of the release.
    """


def hollow(name: str, module: str, base: type, instead: str) -> type:
    """A class that can be asked for and inherited from, and not built.

    Nothing of the release is an instance of it, as nothing was of the class that had its name.

    Args:
        name: of the class.
        module: that it belongs to.
        base: what it inherits from, as the old class did.
        instead: what to do where one is wanted, as a sentence.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Gone(f"{name} is gone from this release of transformers, and hotfix gives its name only. {instead}")

    doc = f"The name of a class that is gone: it can be imported and asked for, not built. {instead}"
    namespace = {"__init__": refuse, "__module__": module, "__doc__": doc}
    return type(base)(name, (base,), namespace)
