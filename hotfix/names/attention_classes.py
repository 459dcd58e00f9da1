"""Classes of attention that are gone: nothing in the release is an instance of one."""

from __future__ import annotations

from typing import Any

from hotfix.names.refusing import Gone

_OF_THE_CLASS = ("__module__", "__qualname__", "__doc__")


def attention_class(name: str, module: str, base: type, instead: str) -> type:
    """A class that can be asked for and inherited from, and neither built nor changed.

    Projects exchange the ``forward`` of such a class for their own, for sequence parallelism or a smaller cache. With
    nothing in the release that is one, the model would go on as if they had not.

    Args:
        name: of the class.
        module: that it belongs to.
        base: what it inherits from, as the old class did.
        instead: what to do where one is wanted, as a sentence.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Gone(f"{name} is gone from this release of transformers, and hotfix gives its name only. {instead}")

    class Unpatched(type(base)):  # type: ignore[misc]  # the kind is known when it runs
        """The kind of such a class; a class that inherits from it may be changed."""

        def __setattr__(cls, attribute: str, value: Any) -> None:
            if cls is made and attribute not in _OF_THE_CLASS:
                raise Gone(
                    f"{name}.{attribute} cannot be set: {name} is gone from this release of transformers, and nothing "
                    f"in it is one, so nobody would notice. {instead}"
                )
            super().__setattr__(attribute, value)

    doc = f"The name of a class that is gone: it can be imported and asked for, not built. {instead}"
    made: type = Unpatched(name, (base,), {"__init__": refuse, "__module__": module, "__doc__": doc})
    return made
