"""``apply_chat_template`` of a processor refuses messages whose content is a text.

Symptom   ``TypeError: string indices must be integers, not 'str'`` from ``processor.apply_chat_template(messages,
          tokenize=True)``, for messages such as ``{"role": "user", "content": "Hello"}``; ``KeyError: 'content'`` or
          ``TypeError: 'NoneType' object is not iterable`` for messages without content, as calls of tools have them.
Cause     The pictures of each message are looked for in its content as if that were always a list of parts.
Releases  4.49.0 to 5.6.2; without content to 5.5.4
Upstream  fixed in 5.6.0 (no content) and 5.7.0 (text)
Here      Such a message has no pictures, videos or sounds. The template gets it as it is, so it has to take texts. A
          program that handles the error gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="processor.apply_chat_template: TypeError: string indices must be integers, not 'str'",
    kind="crash",
    fixed_in="5.7.0",
    errors=(
        "TypeError: string indices must be integers…",
        "TypeError: 'NoneType' object is not iterable",
        "KeyError: 'content'",
    ),
    on_error=True,
    when=f"from {__name__} import has_plain_content; has_plain_content(conversation)",
)

FIX.edits(
    ("transformers.processing_utils:ProcessorMixin.apply_chat_template", ">=4.49.0,<=5.6.2"),
    alternatives=True,
    old=(
        """
        for message in conversation:
            visuals = [content for content in message["content"] if content["type"] in ["image", "video"]]
            *__REST
        """,
        'content = message.get("content") or []',
    ),
    new=(
        f"""
        from {__name__} import with_parts
        for message in with_parts(conversation):
            visuals = [content for content in message["content"] if content["type"] in ["image", "video"]]
            *__REST
        """,
        'content = [] if isinstance(message.get("content"), str) else message.get("content") or []',
    ),
    unless="isinstance(content, str)",
)


def has_plain_content(conversation: Any) -> bool:
    """Whether a message of a conversation, or of one of several, has a text or nothing for its content."""
    for message in conversation if isinstance(conversation, (list, tuple)) else ():
        if isinstance(message, (list, tuple)):
            if has_plain_content(message):
                return True
        elif _is_plain(message):
            return True
    return False


def with_parts(conversation: Iterable[Any]) -> Iterator[Any]:
    """The messages of a conversation; those with plain content have an empty list in its place."""
    return ({**message, "content": []} if _is_plain(message) else message for message in conversation)


def _is_plain(message: Any) -> bool:
    return isinstance(message, Mapping) and isinstance(message.get("content"), (str, type(None)))
