"""Attention classes that were removed: nothing in the release is an instance of one."""

from __future__ import annotations

from typing import Any

from hotfix.names.refusing import Gone

_OF_THE_CLASS = ("__module__", "__qualname__", "__doc__")


def attention_class(name: str, module: str, base: type, instead: str) -> type:
    """A class to name and inherit from, which can be neither built nor changed.

    Projects replace the ``forward`` of such a class, for sequence parallelism or a smaller cache. No layer of the
    release has the class, so the model would silently ignore the replacement.

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

    class Unpatched(type(base)):  # type: ignore[misc]  # the metaclass is known at run time only
        """The metaclass; classes that inherit from the made class may be changed."""

        def __setattr__(cls, attribute: str, value: Any) -> None:
            if cls is made and attribute not in _OF_THE_CLASS:
                raise Gone(
                    f"{name}.{attribute} cannot be set: this release of transformers no longer has {name}, and nothing "
                    f"in it is an instance of it, so setting it would have no effect. {instead}"
                )
            super().__setattr__(attribute, value)

    doc = f"The name of a class that is gone: it can be imported and asked for, not built. {instead}"
    made: type = Unpatched(name, (base,), {"__init__": refuse, "__module__": module, "__doc__": doc})
    return made
