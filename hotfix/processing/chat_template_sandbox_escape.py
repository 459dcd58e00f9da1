"""A chat template, which comes with a model from elsewhere, reaches more than the text that it is to be made of.

Symptom   None. A template that means harm can call the methods of the images, arrays and other objects that are in the
          messages, some of which write files, and get at the insides of what the sandbox hands it.
Cause     The sandbox knows the dangers of Python's own objects only; messages are handed to it as they are, and so are
          the class ``dict`` and a namespace that takes any name.
Releases  4.36.0 to 5.22.1
Upstream  fixed in 5.22.2
Here      As there: what a template is given is rebuilt of plain dictionaries, lists, texts and numbers; anything else
          is replaced by the name of its type, which templates that ask whether there is an image do not notice.
          ``dict`` makes dictionaries and no more, and a namespace takes no name that begins with an underscore.
          Ordinary templates give the text that they gave. A jinja2 before 3.1.6 has holes of its own, which 5.22.2
          refuses to work with; this does not look at jinja2, which is to be upgraded besides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    id="chat-template-sandbox-escape",
    title="The chat template of a downloaded model can call the methods of objects in the messages, and write files",
    kind="security",
    fixed_in="5.22.2",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._compile_jinja_template", ">=4.36.0,<=4.44.2"),
    ("transformers.utils.chat_template_utils:_compile_jinja_template", ">=4.45.0,<=5.2.0"),
    ("transformers.utils.chat_template_utils:_cached_compile_jinja_template", ">=5.3.0,<=5.22.1"),
    old="jinja_env = ImmutableSandboxedEnvironment(**__REST)",
    new=f"""
        jinja_env = ImmutableSandboxedEnvironment(**__REST)
        from {__name__} import guard
        guard(jinja_env)
    """,
)


@FIX.recognises
def is_broken(compiles: Any) -> bool:
    """It makes a sandbox, and does not take the class ``dict`` out of it."""
    import ast

    names = {node.id for node in ast.walk(compiles) if isinstance(node, ast.Name)}
    keys = {node.value for node in ast.walk(compiles) if isinstance(node, ast.Constant)}
    return "ImmutableSandboxedEnvironment" in names and "jinja_env" in names and "namespace" not in keys


def guard(environment: Any) -> None:
    """Keep the templates of an environment to plain data.

    Args:
        environment: a `jinja2.sandbox.ImmutableSandboxedEnvironment` that has no templates yet.
    """
    import jinja2

    class Namespace(jinja2.utils.Namespace):  # type: ignore[misc]
        def __init__(*given: Any, **named: Any) -> None:  # a template may call something ``self``
            attributes = dict(*given[1:], **named)
            for name in attributes:
                _allow(name)
            jinja2.utils.Namespace.__init__(given[0], attributes)

        def __setitem__(self, name: str, value: Any) -> None:
            _allow(name)
            super().__setitem__(name, value)

    class Template(environment.template_class):  # type: ignore[misc]
        def render(self, *given: Any, **named: Any) -> Any:
            return super().render(plain(dict(*given, **named)))

        def generate(self, *given: Any, **named: Any) -> Any:
            return super().generate(plain(dict(*given, **named)))

    def _allow(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a chat template may not call an attribute of a namespace {name!r}")

    environment.globals.update(dict=_Dictionaries(), namespace=Namespace)
    environment.template_class = Template


class _Dictionaries:
    """What a template may do with ``dict``."""

    def __call__(self, *given: Any, **named: Any) -> dict[Any, Any]:
        return dict(*given, **named)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def plain(value: Any) -> Any:
    """The same, of dictionaries, lists, tuples, texts and numbers; the name of its type for anything else."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):  # a subclass may have methods of its own
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return int.__int__(value) if isinstance(value, int) else float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value] if isinstance(value, list) else tuple(plain(one) for one in value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(type(value), "item"):
        return plain(value.item())
    if type(value).__name__ == "AddedToken":
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return plain(value.model_dump())
    return f"<{type(value).__name__}>"
